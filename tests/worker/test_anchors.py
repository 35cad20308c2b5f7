"""What people said of pairs goes along with them when training starts, and stays as it was then."""

from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from sqlalchemy import Engine

from model.data.rows import pair_uid
from model.features.store import content_key, stack_keys
from service.config import Settings
from service.db.session import transaction
from service.db.states import ImageStatus, ReviewReason, Verdict
from service.db.tables import Image, Review
from service.storage import Storage
from tests.factories import Line, make_collection, make_run
from tests.service.machine import claimed, first_stage
from worker.lease import Lease
from worker.stages.context import StageContext
from worker.stages.frozen import PAIRS_FILE, freeze_pairs, load_frozen
from worker.stages.run_features import RunFeatures, SideFeatures, open_store
from worker.stages.train import load_pairs

# The third line repeats the first; the image of the fifth cannot be read.
LINES = [Line(f"http://127.0.0.1/{name}.png", f"caption {name}") for name in "abacdef"]
UNREADABLE = 5
SIDE = SideFeatures("lite-0123", (3,))


@pytest.fixture
def context(quiet_engine: Engine, tmp_path: Path) -> StageContext:
    with transaction(quiet_engine) as session:
        collection = make_collection(session, LINES)
        for row, line in enumerate(LINES, start=1):
            image = Image(collection_id=collection.id, row=row, status=ImageStatus.FAILED)
            if row != UNREADABLE:
                image.status, image.sha256 = ImageStatus.SUCCESS, content_key(line.url.encode())
            session.add(image)
        run_id = make_run(session, collection).id
    lease = Lease(quiet_engine, claimed(quiet_engine, first_stage(quiet_engine, run_id)), Settings())
    return StageContext(lease, Storage(tmp_path))


def say(context: StageContext, verdicts: dict[str, Verdict]) -> None:
    with transaction(context.engine) as session:
        for name, verdict in verdicts.items():
            session.add(
                Review(
                    collection_id=context.collection_id,
                    uid=UUID(pair_uid(f"http://127.0.0.1/{name}.png", f"caption {name}")),
                    verdict=verdict,
                    reason=ReviewReason.CHOSEN,
                    reviewer="me",
                )
            )


class TestFreezePairs:
    def test_repeated_pairs_share_what_was_said(self, context: StageContext, tmp_path: Path) -> None:
        said = {"a": Verdict.MISMATCH, "b": Verdict.UNSURE, "c": Verdict.MATCH, "d": Verdict.MATCH}
        say(context, said)
        freeze_pairs(context, tmp_path)
        frozen = load_frozen(tmp_path)
        assert frozen.anchors is not None
        assert frozen.anchors.dtype == np.int8
        assert dict(zip(frozen.rows.tolist(), frozen.anchors.tolist(), strict=True)) == {
            1: -1, 2: 0, 3: -1, 4: 1, 6: 0, 7: 0,
        }  # fmt: skip

    @pytest.mark.parametrize("said", [{}, {"b": Verdict.UNSURE}, {"d": Verdict.MATCH}])
    def test_nothing_is_written_where_nothing_helps(
        self, context: StageContext, tmp_path: Path, said: dict[str, Verdict]
    ) -> None:
        """No review, one that says nothing, and one of a pair without an image."""
        say(context, said)
        freeze_pairs(context, tmp_path)
        with np.load(tmp_path / PAIRS_FILE, allow_pickle=False) as arrays:
            assert "anchor" not in arrays
        assert load_frozen(tmp_path).anchors is None

    def test_reviews_of_another_collection_do_not_count(
        self, context: StageContext, quiet_engine: Engine, tmp_path: Path
    ) -> None:
        with transaction(quiet_engine) as session:
            other = make_collection(session, LINES)
            uid = UUID(pair_uid(LINES[0].url, LINES[0].caption))
            said = {"verdict": Verdict.MATCH, "reason": ReviewReason.AUDIT, "reviewer": "me"}
            session.add(Review(collection_id=other.id, uid=uid, **said))
        freeze_pairs(context, tmp_path)
        assert load_frozen(tmp_path).anchors is None


class TestLoadPairs:
    def test_training_is_given_the_anchors_of_its_start(self, context: StageContext) -> None:
        say(context, {"a": Verdict.MATCH, "f": Verdict.MISMATCH})
        folder = context.storage.run(context.run_id)
        folder.mkdir(parents=True)
        freeze_pairs(context, folder)
        say(context, {"e": Verdict.MISMATCH})
        frozen = load_frozen(folder)
        for side, keys in (("images", frozen.image_keys), ("captions", frozen.caption_keys)):
            known = stack_keys(sorted({key.tobytes() for key in keys}))
            open_store(context, side, SIDE).add(known, np.ones((len(known), 3), np.float32))
        RunFeatures(SIDE, SIDE).save(folder)
        rows, pairs = load_pairs(context)
        assert pairs.anchors is not None
        assert dict(zip(rows.tolist(), pairs.anchors.tolist(), strict=True)) == {1: 1, 2: 0, 3: 1, 4: 0, 6: 0, 7: -1}
