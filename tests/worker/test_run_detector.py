"""The detector of a run is looked at in its first stage, before any image is fetched; the files are real ones."""

from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import Engine, func, select

from service.config import Settings
from service.db.session import transaction
from service.db.tables import Image, Run
from service.storage import Storage
from tests.factories import Line, make_collection, make_run
from tests.model.elements.detectors import LABELS, make_detector, write_labels
from tests.service.machine import claimed, first_stage
from tests.worker.fetch_server import jpeg
from worker.lease import Lease
from worker.stages import fetch
from worker.stages.context import StageContext, StageFailed
from worker.stages.run_detector import open_detector


@pytest.fixture
def allowed(tmp_path: Path) -> Path:
    """A folder that users may name files of; everything beside it they may not."""
    folder = tmp_path / "allowed"
    folder.mkdir()
    (folder / "image.jpg").write_bytes(jpeg())
    return folder


@pytest.fixture
def begin(quiet_engine: Engine, allowed: Path) -> Callable[[Path], StageContext]:
    """The first stage of a run with this detector."""

    def context_of(detector: Path) -> StageContext:
        with transaction(quiet_engine) as session:
            collection = make_collection(session, [Line((allowed / "image.jpg").as_uri(), "a dog")])
            run_id = make_run(session, collection, {"detector": str(detector)}).id
        claim = claimed(quiet_engine, first_stage(quiet_engine, run_id))
        return StageContext(
            Lease(quiet_engine, claim, Settings(image_roots=(allowed,), threads=1)), Storage(allowed.parent / "storage")
        )

    return context_of


def fetched(engine: Engine, run_id: UUID) -> int:
    with transaction(engine) as session:
        mine = Image.collection_id == session.get_one(Run, run_id).collection_id
        return session.scalar(select(func.count()).select_from(Image).where(mine)) or 0


def good(path: Path) -> Path:
    write_labels(path, "\n".join(LABELS))
    return make_detector(path)


def absent(allowed: Path) -> Path:
    return allowed / "absent.onnx"


def folder(allowed: Path) -> Path:
    (allowed / "folder.onnx").mkdir()
    return allowed / "folder.onnx"


def outside(allowed: Path) -> Path:
    return good(allowed.parent / "outside.onnx")


def linked_to_outside(allowed: Path) -> Path:
    link = allowed / "link.onnx"
    link.symlink_to(good(allowed.parent / "outside.onnx"))
    write_labels(link, "\n".join(LABELS))
    return link


def without_labels(allowed: Path) -> Path:
    return make_detector(allowed / "bare.onnx")


def with_labels_outside(allowed: Path) -> Path:
    network = make_detector(allowed / "street.onnx")
    write_labels(allowed.parent / "street.onnx", "secret")
    (allowed / "street.labels.txt").symlink_to(allowed.parent / "street.labels.txt")
    return network


def with_empty_labels(allowed: Path) -> Path:
    network = make_detector(allowed / "empty.onnx")
    write_labels(network, "\n\n")
    return network


def no_network(allowed: Path) -> Path:
    network = good(allowed / "text.onnx")
    network.write_text("not a network")
    return network


def no_detector(allowed: Path) -> Path:
    """Two labels for three scores."""
    return make_detector(good(allowed / "odd.onnx"), found=(1, 2))


class TestFetch:
    @pytest.mark.parametrize(
        ("make", "code", "words"),
        [
            (absent, "no_such_path", "finds no file"),
            (folder, "no_such_path", "finds no file"),
            (outside, "blocked_path", "PAIRSIFT_IMAGE_ROOTS"),
            (linked_to_outside, "blocked_path", "PAIRSIFT_IMAGE_ROOTS"),
            (without_labels, "no_such_path", "bare.labels.txt; there should be the names of its labels"),
            (with_labels_outside, "blocked_path", "street.labels.txt"),
            (with_empty_labels, "detector_unusable", "empty.labels.txt is empty"),
            (no_network, "detector_unusable", "no ONNX network"),
            (no_detector, "detector_unusable", "2 labels and 3 scores"),
        ],
    )
    def test_unusable_detector_fails_the_run_before_an_image_is_fetched(
        self,
        quiet_engine: Engine,
        allowed: Path,
        begin: Callable[[Path], StageContext],
        make: Callable[[Path], Path],
        code: str,
        words: str,
    ) -> None:
        context = begin(make(allowed))
        with pytest.raises(StageFailed) as caught:
            fetch.run(context)
        problem = caught.value.problem
        assert problem["code"] == code
        assert problem["detail"].startswith("detector: ")
        assert words in problem["detail"]
        assert fetched(quiet_engine, context.run_id) == 0

    def test_links_in_a_circle_fail_the_run_too(self, allowed: Path, begin: Callable[[Path], StageContext]) -> None:
        (allowed / "circle.onnx").symlink_to(allowed / "circle.onnx")
        with pytest.raises(StageFailed, match=r"detector: .*circle\.onnx"):
            fetch.run(begin(allowed / "circle.onnx"))

    def test_images_are_fetched_for_a_good_one(
        self, quiet_engine: Engine, allowed: Path, begin: Callable[[Path], StageContext]
    ) -> None:
        context = begin(good(allowed / "street.onnx"))
        fetch.run(context)
        assert fetched(quiet_engine, context.run_id) == 1


class TestOpenDetector:
    def test_labels_lie_beside_the_network(self, allowed: Path, begin: Callable[[Path], StageContext]) -> None:
        detector = open_detector(begin(good(allowed / "street.onnx")))
        assert detector is not None
        assert detector.labels == LABELS
