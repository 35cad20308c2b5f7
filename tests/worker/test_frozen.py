"""What training starts from: rows of the database as arrays in the run's folder."""

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine

from model.backbones.registry import BACKBONES
from model.config import BACKBONE_CONFIGS
from model.features.store import content_key
from service.config import Settings
from service.db.session import transaction
from service.db.states import ImageStatus
from service.db.tables import Image
from service.storage import Storage
from tests.factories import Line, make_collection, make_run
from tests.service.machine import claimed, first_stage
from worker.lease import Lease
from worker.stages import fetch
from worker.stages.context import StageContext, StageFailed
from worker.stages.frozen import freeze_pairs, load_frozen, load_label_names

LABELS = ["dog", "cat", None, "dog", "Zebra", "éclair"]
CAPTIONS = ["one", "two 🐕", "three", "four", "five", "six"]
WORDS = [
    name for name, kind in BACKBONE_CONFIGS.items() if kind.reads_words and kind.gives_vectors and name in BACKBONES
]


def context_of(engine: Engine, folder: Path, options: dict[str, Any]) -> StageContext:
    """A run over six pairs, of which the fourth has no image."""
    given = [
        Line(f"http://127.0.0.1/{row}.png", caption, label=label)
        for row, (caption, label) in enumerate(zip(CAPTIONS, LABELS, strict=True), start=1)
    ]
    with transaction(engine) as session:
        collection = make_collection(session, given)
        for row in range(1, 7):
            status = ImageStatus.FAILED if row == 4 else ImageStatus.SUCCESS
            key = None if row == 4 else content_key(b"%d" % row)
            session.add(Image(collection_id=collection.id, row=row, status=status, sha256=key))
        run_id: UUID = make_run(session, collection, options).id
    lease = Lease(engine, claimed(engine, first_stage(engine, run_id)), Settings())
    return StageContext(lease, Storage(folder))


class TestFreezePairs:
    def test_pairs_without_an_image_are_left_out(self, quiet_engine: Engine, tmp_path: Path) -> None:
        freeze_pairs(context_of(quiet_engine, tmp_path, {}), tmp_path)
        frozen = load_frozen(tmp_path)
        assert frozen.rows.tolist() == [1, 2, 3, 5, 6]
        assert frozen.image_keys[1].tobytes() == content_key(b"2")
        assert frozen.caption_keys[1].tobytes() == content_key("two 🐕".encode())
        assert (frozen.texts, frozen.labels, load_label_names(tmp_path)) == (None, None, None)

    def test_categories_are_numbered_by_their_text(self, quiet_engine: Engine, tmp_path: Path) -> None:
        freeze_pairs(context_of(quiet_engine, tmp_path, {"method": "mrl"}), tmp_path)
        labels = load_frozen(tmp_path).labels
        assert labels is not None
        assert load_label_names(tmp_path) == ["Zebra", "cat", "dog", "éclair"]
        assert labels.tolist() == [2, 1, -1, 0, 3]

    @pytest.mark.skipif(not WORDS, reason="no backbone reads words yet")
    def test_captions_come_along_for_backbones_that_read_words(self, quiet_engine: Engine, tmp_path: Path) -> None:
        freeze_pairs(context_of(quiet_engine, tmp_path, {"backbone": WORDS[0]}), tmp_path)
        texts = load_frozen(tmp_path).texts
        assert texts is not None
        assert list(texts) == ["one", "two 🐕", "three", "five", "six"]

    def test_clusters_need_no_labels(self, quiet_engine: Engine, tmp_path: Path) -> None:
        options = {"method": "mrl", "method_options": {"clusters": 2}}
        freeze_pairs(context_of(quiet_engine, tmp_path, options), tmp_path)
        assert load_frozen(tmp_path).labels is None


class TestFetch:
    def test_run_that_lacks_labels_ends_before_anything_is_fetched(self, quiet_engine: Engine, tmp_path: Path) -> None:
        """It was started while the file was still being read, when nobody could know."""
        with pytest.raises(StageFailed, match="1 of its 6 pairs have no label") as caught:
            fetch.run(context_of(quiet_engine, tmp_path, {"method": "mrl"}))
        assert caught.value.problem["code"] == "labels_missing"
        assert list(tmp_path.iterdir()) == []
