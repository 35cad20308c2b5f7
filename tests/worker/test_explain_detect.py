"""A real run with a detector: every image is looked at once, and what was seen goes out by the API and by exports."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image
from sqlalchemy import Engine

from cli.flagged import described
from model.features.store import FeatureStore
from service.client import Client
from service.config import Settings
from service.db import jobs
from service.db.session import transaction
from service.db.states import Scope, StageName
from service.db.tables import Run
from service.schemas import Pair
from service.storage import Storage
from tests.conftest import make_key, serving
from tests.model.elements.detectors import make_detector, write_labels
from tests.probe_run import work
from tests.test_formats import QUICK
from tests.worker.explained_run import COLOURS, PLACES, THINGS
from worker.lease import Lease, Stopped
from worker.stages import explain, explain_detect
from worker.stages.context import StageContext, StageFailed
from worker.stages.explain_detect import detections
from worker.stages.explain_files import EXPLANATIONS_FILE
from worker.stages.explain_inputs import opened
from worker.stages.run_detector import open_detector

IMAGES, CAPTIONS = 48, 2
ROWS = IMAGES * CAPTIONS
SPOKEN_OF = 3  # the row whose caption names what the detector sees


@dataclass(frozen=True)
class Detected:
    client: Client
    folder: Path  # of the images and the detector
    collection_id: UUID
    run_id: UUID


def is_bright(row: int) -> bool:
    """The detector sees its thing in bright images only: every other one."""
    return (row - 1) % IMAGES % 2 == 0


def write_pairs(folder: Path) -> Path:
    """Pairs that share an image are far from each other."""
    rng = np.random.default_rng(0)
    for number in range(IMAGES):
        level = (220, 40)[number % 2] + number // 4
        Image.new("RGB", (32, 24), (level, level, level - number % 30)).save(folder / f"{number}.png")
    captions = [f"a {rng.choice(COLOURS)} {rng.choice(THINGS)} on the {rng.choice(PLACES)}" for _ in range(ROWS)]
    captions[SPOKEN_OF - 1] = "a zeppelin on the beach"
    lines = [f"{text}\t{(folder / f'{row % IMAGES}.png').as_uri()}\n" for row, text in enumerate(captions)]
    (folder / "pairs.tsv").write_text("".join(lines))
    return folder / "pairs.tsv"


def make_zeppelin_detector(path: Path, **changes: tuple[int, int]) -> Path:
    """Sees a zeppelin in bright pictures; the light that it sees in all of them has no name."""
    write_labels(path, "nothing\nzeppelin\n")
    return make_detector(path, **changes)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def quiet_settings(settings: Settings, quiet_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    url = quiet_engine.url.render_as_string(hide_password=False)
    return settings.model_copy(update={"database_url": url, "storage": tmp_path_factory.mktemp("detected")})


@pytest.fixture(scope="module")
def detected(
    quiet_engine: Engine, quiet_settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Detected]:
    folder = tmp_path_factory.mktemp("images")
    pairs, detector = write_pairs(folder), make_zeppelin_detector(folder / "sky.onnx")
    with serving(quiet_settings) as url:
        client = Client(url, make_key(quiet_engine, Scope.WRITE, "detected"))
        collection = client.create_collection("grey")
        client.upload(collection.id, pairs)
        work(quiet_engine, quiet_settings)
        run = client.start_run(collection.id, QUICK | {"score_draws": 1, "detector": str(detector)})
        work(quiet_engine, quiet_settings)
        yield Detected(client, folder, collection.id, run.id)
        client.close()


@pytest.fixture(scope="module")
def pairs(detected: Detected) -> list[Pair]:
    return list(detected.client.pairs(detected.run_id, elements=True))


@pytest.fixture
def context(detected: Detected, quiet_engine: Engine, quiet_settings: Settings) -> StageContext:
    """The stage taken up again, as after its worker was killed."""
    claim = jobs.Claim(0, 0, StageName.EXPLAIN, detected.collection_id, detected.run_id, None)
    return StageContext(Lease(quiet_engine, claim, quiet_settings), Storage(quiet_settings.required_storage))


@pytest.fixture
def other(detected: Detected, quiet_engine: Engine) -> Iterator[Path]:
    """The run with a detector that has looked at nothing yet."""
    other = make_zeppelin_detector(detected.folder / "other.onnx", size=(48, 64))
    with transaction(quiet_engine) as session:
        run = session.get_one(Run, detected.run_id)
        before, run.config = run.config, run.config | {"detector": str(other)}
    yield other
    with transaction(quiet_engine) as session:
        session.get_one(Run, detected.run_id).config = before


def seen_in(pair: Pair) -> list[tuple[str, bool]]:
    assert pair.elements is not None
    return [(one.lemma, one.is_mentioned) for one in pair.elements.image if one.source == "detector"]


def store_of(context: StageContext) -> Path:
    """Where the scores of the run's detector are."""
    detector = open_detector(context)
    assert detector is not None
    return context.storage.features(detector.identity, "images")


def stored(context: StageContext) -> int:
    """How many images the run's detector has looked at."""
    return FeatureStore(store_of(context), 2).verify()


def look(context: StageContext) -> tuple[Sequence[object], dict[str, Any]]:
    """What was seen for each pair, and what a report says of it."""
    with opened(context) as given, detections(context, given) as seen:
        assert seen is not None
        return seen.of(np.arange(ROWS)), seen.report()


class TestRun:
    def test_what_was_seen_is_told_of_every_pair_of_the_image(self, pairs: list[Pair]) -> None:
        assert len(pairs) == ROWS
        for pair in pairs:
            expected = [("zeppelin", pair.row == SPOKEN_OF)] if is_bright(pair.row) else []
            assert seen_in(pair) == expected, pair.row

    def test_report_names_the_detector_and_counts_its_images(self, detected: Detected) -> None:
        found = detected.client.report(detected.run_id)["elements"]["detector"]
        assert len(found.pop("sha256")) == 64
        file = str(detected.folder / "sky.onnx")
        assert found == {"file": file, "labels": 2, "images": IMAGES, "unread": 0, "seen_in": IMAGES // 2}
        assert f"saw some in {IMAGES // 2} of {IMAGES} images" in detected.client.report_html(detected.run_id)

    def test_every_image_is_looked_at_once(self, context: StageContext) -> None:
        assert stored(context) == IMAGES

    def test_flagged_pairs_are_listed_with_what_it_saw(self, pairs: list[Pair]) -> None:
        shown = described(next(pair for pair in pairs if is_bright(pair.row)), is_plain=True).plain
        assert "zeppelin" in shown.partition("the image shows: ")[2]

    def test_files_hold_what_the_pages_do(
        self, detected: Detected, pairs: list[Pair], quiet_engine: Engine, quiet_settings: Settings, tmp_path: Path
    ) -> None:
        client = detected.client
        started = {format: client.start_export(detected.run_id, format).id for format in ("jsonl", "parquet")}
        work(quiet_engine, quiet_settings)
        for format, id in started.items():
            client.download(client.export(id), tmp_path / format)
        lines = [json.loads(line) for line in (tmp_path / "jsonl").read_text().splitlines()]
        table = pq.read_table(tmp_path / "parquet").to_pylist()
        for pair, line, row in zip(pairs, lines, table, strict=True):
            assert pair.elements is not None
            assert line["elements"] == pair.elements.model_dump(mode="json")
            sources = [one["source"] for one in row["elements"]["image"]]
            assert sources == [one.source for one in pair.elements.image]


class StoppedSoon(Lease):
    """Told to stop after some images."""

    looks = 0

    def should_stop(self) -> bool:
        self.looks += 1
        return self.looks > 3


class TestDetections:
    def test_what_was_seen_before_is_not_looked_for_again(self, detected: Detected, context: StageContext) -> None:
        before = sorted(store_of(context).glob("*.shard"))
        _, report = look(context)
        assert sorted(store_of(context).glob("*.shard")) == before
        assert report == detected.client.report(detected.run_id)["elements"]["detector"]

    def test_a_stopped_stage_goes_on_where_it_was(
        self,
        context: StageContext,
        other: Path,
        quiet_engine: Engine,
        quiet_settings: Settings,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(explain_detect, "CHUNK", 8)
        monkeypatch.setattr(explain_detect, "BATCH", 4)
        soon = StageContext(StoppedSoon(quiet_engine, context.lease.claim, quiet_settings), context.storage)
        with pytest.raises(Stopped):
            look(soon)
        assert stored(context) == 8  # the second part was left at its second batch
        found, report = look(context)
        assert report["seen_in"] == IMAGES // 2
        assert [bool(things) for things in found] == [is_bright(row) for row in range(1, ROWS + 1)]
        assert stored(context) == IMAGES

    def test_nothing_is_seen_in_images_that_are_gone(
        self, detected: Detected, context: StageContext, other: Path
    ) -> None:
        make_zeppelin_detector(other, size=(32, 32))
        first = detected.folder / "0.png"
        kept = first.read_bytes()
        first.unlink()
        try:
            found, report = look(context)
        finally:
            first.write_bytes(kept)
        assert found[0] == found[IMAGES] == []
        assert (report["images"], report["unread"], report["seen_in"]) == (IMAGES, 1, IMAGES // 2 - 1)

    def test_detector_that_broke_meanwhile_fails_the_run_and_leaves_all_as_it_was(
        self, detected: Detected, context: StageContext, other: Path
    ) -> None:
        explanations = context.storage.run(detected.run_id) / EXPLANATIONS_FILE
        before = explanations.read_bytes()
        other.write_bytes(b"not a network")
        with pytest.raises(StageFailed) as caught:
            explain.run(context)
        assert caught.value.problem["code"] == "detector_unusable"
        assert caught.value.problem["detail"].startswith("detector: ")
        assert explanations.read_bytes() == before
