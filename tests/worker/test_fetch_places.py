"""Pairs whose image, or the features of it, lie in the upload itself; the sources are real ones."""

import hashlib
import io
import tarfile
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from sqlalchemy import Engine, select

from model.data.rows import Pair as Read
from model.data.source import ReadOptions
from model.data.sources import open_source
from service.config import Settings
from service.db.session import transaction
from service.db.tables import Image, Pair
from service.storage import Storage
from tests.factories import make_collection, make_run
from tests.service.machine import claimed, first_stage
from tests.worker.fetch_server import jpeg
from worker.lease import Lease
from worker.stages import fetch
from worker.stages.context import StageContext


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return Storage(tmp_path / "storage")


def fetch_from(engine: Engine, storage: Storage, folder: Path, **settings: int) -> list[Image]:
    """Ingest by hand what the source says, run the stage, and give the outcomes in order."""
    source = open_source(folder, ReadOptions())
    with transaction(engine) as session:
        collection = make_collection(session)
        collection.format = source.describe()
        collection.read_options = {"folder": str(folder)}
        for read in source.rows():
            assert isinstance(read, Read)
            session.add(
                Pair(
                    collection_id=collection.id,
                    row=read.row,
                    uid=UUID(read.uid),
                    url=read.url,
                    caption=read.caption,
                    place=read.place,
                )
            )
            collection.lines_read = collection.accepted = read.row
        run_id, collection_id = make_run(session, collection).id, collection.id
    lease = Lease(
        engine, claimed(engine, first_stage(engine, run_id)), Settings(image_roots=(folder.parent,), **settings)
    )
    fetch.run(StageContext(lease, storage))
    with transaction(engine) as session:
        return list(session.scalars(select(Image).where(Image.collection_id == collection_id).order_by(Image.row)))


class TestMembers:
    @pytest.fixture
    def shard(self, tmp_path: Path) -> Path:
        members = {
            "0.jpg": jpeg(1), "0.txt": b"first", "1.jpg": b"no image", "1.txt": b"second",
            "2.jpg": jpeg(2, (900, 600)), "2.txt": b"third",
        }  # fmt: skip
        folder = tmp_path / "shards"
        folder.mkdir()
        with tarfile.open(folder / "00000.tar", "w") as tar:
            for name, data in members.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        return folder

    def test_members_are_decoded_and_stay_where_they_are(
        self, quiet_engine: Engine, storage: Storage, shard: Path
    ) -> None:
        outcomes = fetch_from(quiet_engine, storage, shard)
        assert [outcome.error_class for outcome in outcomes] == [None, "not_an_image", None]
        assert outcomes[2].sha256 == hashlib.sha256(jpeg(2, (900, 600))).digest()
        assert (outcomes[2].width, outcomes[2].height) == (900, 600)
        assert storage.thumbnail(outcomes[2].sha256).exists()
        assert not storage.image(outcomes[2].sha256).exists()

    def test_members_that_are_too_large_are_not_read(self, quiet_engine: Engine, storage: Storage, shard: Path) -> None:
        outcomes = fetch_from(quiet_engine, storage, shard, max_image_bytes=len(jpeg(1)))
        assert [outcome.error_class for outcome in outcomes] == [None, "not_an_image", "too_large"]


class TestFeatures:
    def test_features_are_the_content_and_must_be_numbers(
        self, quiet_engine: Engine, storage: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("worker.fetch.features.AT_ONCE", 2)
        features = np.random.default_rng(0).normal(size=(5, 8)).astype(np.float16)
        features[3, 2] = np.nan
        features[4] = features[0]
        folder = tmp_path / "videos"
        folder.mkdir()
        np.save(folder / "features.npy", features)
        (folder / "captions.tsv").write_text("".join(f"a caption number {number}\n" for number in range(5)))
        outcomes = fetch_from(quiet_engine, storage, folder)
        assert [outcome.error_class for outcome in outcomes] == [None, None, None, "not_finite", None]
        assert outcomes[1].sha256 == hashlib.sha256(features[1].astype(np.float32).tobytes()).digest()
        assert outcomes[0].sha256 == outcomes[4].sha256
        assert (outcomes[0].width, outcomes[0].height) == (None, None)
        assert outcomes[3].error_message == "row 3 of the features holds values that are not numbers"
