"""The fetch stage over a real host on loopback, on a database that no worker looks at."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from uuid import UUID

import pytest
from PIL import Image as Picture
from sqlalchemy import Engine, select

from service.config import Settings
from service.db.images import forget_failures
from service.db.session import transaction
from service.db.tables import Collection, Image, Stage
from service.storage import Storage
from tests.factories import Line, make_collection, make_run
from tests.service.machine import claimed, first_stage
from tests.worker.fetch_server import FetchServer, fetch_server, jpeg
from worker.lease import Lease, Stopped
from worker.stages import fetch
from worker.stages.context import StageContext, StageFailed

SETTINGS = Settings(fetch_private_addresses=True, fetch_host_delay_seconds=0, fetch_retries=0, fetch_host_failures=100)


@pytest.fixture
def host() -> Iterator[FetchServer]:
    with fetch_server() as server:
        yield server


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return Storage(tmp_path / "storage")


def new_collection(engine: Engine, urls: Sequence[str]) -> UUID:
    lines = [Line(url=url, caption=f"caption {number}") for number, url in enumerate(urls)]
    with transaction(engine) as session:
        return make_collection(session, lines).id


def claim_fetch(engine: Engine, collection_id: UUID, settings: Settings = SETTINGS) -> Lease:
    with transaction(engine) as session:
        run_id = make_run(session, session.get_one(Collection, collection_id)).id
    return Lease(engine, claimed(engine, first_stage(engine, run_id)), settings)


def run_fetch(engine: Engine, collection_id: UUID, storage: Storage, settings: Settings = SETTINGS) -> str:
    """The message at its end."""
    lease = claim_fetch(engine, collection_id, settings)
    fetch.run(StageContext(lease, storage))
    with transaction(engine) as session:
        return str(session.scalar(select(Stage.message).where(Stage.id == lease.claim.stage_id)))


def classes(engine: Engine, collection_id: UUID) -> list[str | None]:
    with transaction(engine) as session:
        chosen = select(Image.error_class).where(Image.collection_id == collection_id).order_by(Image.row)
        return list(session.scalars(chosen))


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


class TestRun:
    def test_what_arrives_is_kept_by_content_with_its_size(
        self, quiet_engine: Engine, host: FetchServer, storage: Storage
    ) -> None:
        collection_id = new_collection(quiet_engine, [f"{host.url}/image/{number}.jpg" for number in range(3)])
        assert run_fetch(quiet_engine, collection_id, storage) == "3 of 3 images (100.0 %)"
        digests = [hashlib.sha256(jpeg(number)) for number in range(3)]
        with transaction(quiet_engine) as session:
            found = session.scalars(select(Image).where(Image.collection_id == collection_id).order_by(Image.row)).all()
        assert [image.sha256 for image in found] == [digest.digest() for digest in digests]
        assert {(image.width, image.height, image.status) for image in found} == {(40, 30, "success")}
        assert files(storage.root / "images") == files(storage.root / "thumbnails")
        assert files(storage.root / "images") == sorted(digest.hexdigest() for digest in digests)
        assert storage.image(digests[1].digest()).read_bytes() == jpeg(1)
        with Picture.open(storage.thumbnail(digests[1].digest())) as thumbnail:
            assert thumbnail.size == (40, 30)

    def test_the_others_go_on_and_the_share_is_said(
        self, quiet_engine: Engine, host: FetchServer, storage: Storage
    ) -> None:
        paths = ["image/1.jpg", "status/404", "text", "cut", "tagged?tag=noai", "status/500", "image/2.jpg"]
        collection_id = new_collection(quiet_engine, [f"{host.url}/{path}" for path in paths])
        assert run_fetch(quiet_engine, collection_id, storage) == "2 of 7 images (28.6 %)"
        expected = [None, "404", "not_an_image", "truncated", "robots", "http_status", None]
        assert classes(quiet_engine, collection_id) == expected

    def test_an_address_is_asked_for_once_however_many_pairs_name_it(
        self, quiet_engine: Engine, host: FetchServer, storage: Storage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Pages of two: the same address lies many pages apart."""
        monkeypatch.setattr(fetch, "PAGE", 2)
        urls = [f"{host.url}/image/{number}.jpg" for number in range(5)] + [f"{host.url}/status/404"]
        collection_id = new_collection(quiet_engine, urls * 4)
        assert run_fetch(quiet_engine, collection_id, storage) == "20 of 24 images (83.3 %)"
        assert set(host.hits.values()) == {1}
        assert classes(quiet_engine, collection_id) == [None, None, None, None, None, "404"] * 4

    def test_a_second_run_asks_for_nothing(self, quiet_engine: Engine, host: FetchServer, storage: Storage) -> None:
        collection_id = new_collection(quiet_engine, [f"{host.url}/image/1.jpg", f"{host.url}/status/404"])
        first = run_fetch(quiet_engine, collection_id, storage)
        asked = host.asked
        assert run_fetch(quiet_engine, collection_id, storage) == first
        assert host.asked == asked

    def test_pairs_that_lost_their_outcome_share_that_of_the_same_address(
        self, quiet_engine: Engine, host: FetchServer, storage: Storage
    ) -> None:
        """As after a worker was killed between the first pair with an address and the others."""
        collection_id = new_collection(quiet_engine, [f"{host.url}/image/1.jpg"] * 3)
        run_fetch(quiet_engine, collection_id, storage)
        with transaction(quiet_engine) as session:
            for row in (1, 3):
                session.delete(session.get_one(Image, (collection_id, row)))
        run_fetch(quiet_engine, collection_id, storage)
        assert host.asked == 1
        assert classes(quiet_engine, collection_id) == [None] * 3

    def test_only_what_failed_is_asked_for_again(
        self, quiet_engine: Engine, host: FetchServer, storage: Storage
    ) -> None:
        urls = [f"{host.url}/image/1.jpg", f"{host.url}/busy/500/1", f"{host.url}/status/404"]
        collection_id = new_collection(quiet_engine, urls)
        run_fetch(quiet_engine, collection_id, storage)
        assert classes(quiet_engine, collection_id) == [None, "http_status", "404"]
        with transaction(quiet_engine) as session:
            assert forget_failures(session, collection_id, ["http_status"]) == 1
        run_fetch(quiet_engine, collection_id, storage)
        assert classes(quiet_engine, collection_id) == [None, None, "404"]
        assert host.hits["/image/1.jpg"] == host.hits["/status/404"] == 1

    def test_files_are_decoded_where_they_lie(self, quiet_engine: Engine, storage: Storage, tmp_path: Path) -> None:
        (tmp_path / "a.jpg").write_bytes(jpeg(7))
        (tmp_path / "b.jpg").write_text("no image")
        urls = [(tmp_path / name).as_uri() for name in ("a.jpg", "b.jpg", "c.jpg")]
        collection_id = new_collection(quiet_engine, urls)
        settings = SETTINGS.model_copy(update={"image_roots": (tmp_path,)})
        run_fetch(quiet_engine, collection_id, storage, settings)
        assert classes(quiet_engine, collection_id) == [None, "not_an_image", "404"]
        assert files(storage.root / "images") == []
        assert files(storage.root / "thumbnails") == [hashlib.sha256(jpeg(7)).hexdigest()]

    def test_not_one_image_is_a_failure_with_the_reasons(
        self, quiet_engine: Engine, host: FetchServer, storage: Storage
    ) -> None:
        collection_id = new_collection(quiet_engine, [f"{host.url}/status/404", f"{host.url}/text"])
        with pytest.raises(StageFailed, match=r"Not one image could be read \((404: 1, not_an_image: 1|not.*)\)"):
            run_fetch(quiet_engine, collection_id, storage)

    def test_progress_counts_the_classes(self, quiet_engine: Engine, host: FetchServer, storage: Storage) -> None:
        urls = [f"{host.url}/image/1.jpg", *[f"{host.url}/status/404?n={n % 2}" for n in range(3)], f"{host.url}/text"]
        collection_id = new_collection(quiet_engine, urls)
        lease = claim_fetch(quiet_engine, collection_id)
        fetch.run(StageContext(lease, storage))
        assert lease._progress == (5, 5, "5 of 5, 4 failed: 404 3, not_an_image 1")


class TestStop:
    def test_a_stop_is_heeded_and_what_arrived_is_not_lost(
        self, quiet_engine: Engine, host: FetchServer, storage: Storage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        urls = [f"{host.url}/image/{number}.jpg" for number in range(300)]
        collection_id = new_collection(quiet_engine, urls)
        slow = SETTINGS.model_copy(update={"fetch_host_delay_seconds": 0.2})
        lease = claim_fetch(quiet_engine, collection_id, slow)
        monkeypatch.setattr(lease, "should_stop", lambda: host.asked > 0)
        with pytest.raises(Stopped):
            fetch.run(StageContext(lease, storage))
        assert 1 <= host.asked <= 2 * SETTINGS.fetch_host_concurrency
        assert len(classes(quiet_engine, collection_id)) <= host.asked
        run_fetch(quiet_engine, collection_id, storage)
        assert len(classes(quiet_engine, collection_id)) == 300
