"""The explain stage within a real run: what it finds, and that all of it goes out by the API and by exports."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow.parquet as pq
import pytest
from sqlalchemy import Engine

from model import metrics
from model.data.rows import pair_uid
from service.config import Settings
from service.db import jobs
from service.db.states import StageName
from service.schemas import Pair
from service.storage import Storage
from tests.probe_run import work
from tests.worker.explained_run import ROWS, SHIFTED, Explained, explained_run
from worker import lease
from worker.stages import explain
from worker.stages.context import StageContext
from worker.stages.explain_files import EXPLANATIONS_FILE
from worker.stages.explain_inputs import TEXTS_FILE


@pytest.fixture(scope="module")
def quiet_settings(settings: Settings, quiet_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    url = quiet_engine.url.render_as_string(hide_password=False)
    return settings.model_copy(update={"database_url": url, "storage": tmp_path_factory.mktemp("explained")})


@pytest.fixture(scope="module")
def explained(
    quiet_engine: Engine, quiet_settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Explained]:
    with explained_run(quiet_engine, quiet_settings, tmp_path_factory.mktemp("embeddings")) as run:
        yield run


@pytest.fixture(scope="module")
def pairs(explained: Explained) -> list[Pair]:
    return list(explained.client.pairs(explained.run_id, elements=True))


class TestRun:
    def test_every_pair_has_elements_with_their_place_in_the_caption(self, pairs: list[Pair]) -> None:
        assert len(pairs) == ROWS
        for pair in pairs:
            assert pair.elements is not None
            assert [one.text for one in pair.elements.caption] == [
                pair.caption[one.start : one.end] for one in pair.elements.caption
            ]
            _, colour, thing, _, _, place = pair.caption.split()
            assert [one.lemma for one in pair.elements.caption] == [f"{colour} {thing}", place]

    def test_mismatches_have_a_lower_score(self, explained: Explained, pairs: list[Pair]) -> None:
        for scores in ([pair.eme for pair in pairs], [pair.eme_soft for pair in pairs]):
            assert metrics.auroc(np.array(scores, float), explained.is_mismatch) > 0.95

    def test_flagged_pairs_alone_have_suggestions_each_of_another_row(self, pairs: list[Pair]) -> None:
        for pair in pairs:
            assert (pair.repair is not None) == (pair.split == "noisy")
            if pair.repair is not None:
                assert 1 <= len(pair.repair.captions) <= 5
                assert pair.caption not in [one.caption for one in pair.repair.captions]
                assert pair.url not in [one.url for one in pair.repair.images]

    def test_report_names_the_shift_and_what_is_missing(self, explained: Explained, pairs: list[Pair]) -> None:
        report = explained.client.report(explained.run_id)
        (shift,) = report["repair"]["shifts"]
        assert shift["offset"] == 1
        assert abs(shift["first_row"] - (SHIFTED.start + 1)) <= 3
        assert abs(shift["last_row"] - SHIFTED.stop) <= 3
        elements = report["elements"]
        assert (elements["language"], elements["judged"]) == ("English", ROWS)
        assert elements["eme"]["flagged"] < 0.5 < elements["eme"]["clean"]
        missing = [one.lemma for pair in pairs if pair.elements for one in pair.elements.caption if not one.is_depicted]
        assert elements["missing"][0]["count"] == missing.count(elements["missing"][0]["lemma"])
        assert report["repair"]["flagged"] == sum(pair.split == "noisy" for pair in pairs)

    def test_a_stopped_stage_leaves_nothing_half_done(
        self, explained: Explained, quiet_engine: Engine, quiet_settings: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        storage = Storage(quiet_settings.required_storage)
        folder, run_id = storage.run(UUID(explained.run_id)), UUID(explained.run_id)
        before = (folder / EXPLANATIONS_FILE).read_bytes()
        claim = jobs.Claim(0, 0, StageName.EXPLAIN, UUID(explained.collection_id), run_id, None)
        held = lease.Lease(quiet_engine, claim, quiet_settings)
        monkeypatch.setattr(held, "_cause", lease.Stop.CANCELLED)
        with pytest.raises(lease.Stopped):
            explain.run(StageContext(held, storage))
        assert (folder / EXPLANATIONS_FILE).read_bytes() == before
        assert not (folder / TEXTS_FILE).exists()
        assert list(folder.glob("*.tmp")) == []


class TestExports:
    def test_files_hold_what_the_pages_do(
        self, explained: Explained, pairs: list[Pair], quiet_engine: Engine, quiet_settings: Settings, tmp_path: Path
    ) -> None:
        client = explained.client
        started = {format: client.start_export(explained.run_id, format).id for format in ("jsonl", "parquet")}
        work(quiet_engine, quiet_settings)
        for format, id in started.items():
            client.download(client.export(id), tmp_path / format)
        lines = [json.loads(line) for line in (tmp_path / "jsonl").read_text().splitlines()]
        listed = [pair.model_dump(mode="json") for pair in pairs]
        shared = listed[0].keys() & lines[0].keys()
        assert {"eme", "eme_soft", "elements", "repair"} <= shared
        for line, pair in zip(lines, listed, strict=True):
            assert {name: line[name] for name in shared} == {name: pair[name] for name in shared}
        table = pq.read_table(tmp_path / "parquet").to_pylist()
        for line, row in zip(lines, table, strict=True):
            assert row["eme"] == pytest.approx(line["eme"])
            assert _rounded(row["elements"]) == _rounded(line["elements"])
            assert _rounded(row["repair"]) == _rounded(line["repair"])

    def test_corrected_file_has_the_caption_of_the_image_in_every_shifted_row(
        self, explained: Explained, quiet_engine: Engine, quiet_settings: Settings, tmp_path: Path
    ) -> None:
        client = explained.client
        (shift,) = client.report(explained.run_id)["repair"]["shifts"]
        id = client.start_export(explained.run_id, "jsonl", corrected=True).id
        work(quiet_engine, quiet_settings)
        export = client.export(id)
        client.download(export, tmp_path / "file")
        records = [json.loads(line) for line in (tmp_path / "file").read_text().splitlines()]
        counts = export.filter["correction"]
        assert len(records) == export.rows == ROWS - counts["images_left_out"]
        changed = [record for record in records if record["corrected_from"] is not None]
        assert len(changed) == counts["changed"] > len(SHIFTED) - 8
        for record in changed:
            assert record["corrected_from"] == record["row"] - 1
            assert record["caption"] == explained.captions[record["row"] - 2]
            assert record["uid"] == pair_uid(record["url"], record["caption"])
            assert (record["clean_confidence"], record["elements"], record["split"]) == (None, None, "unscored")
        inside = range(shift["first_row"], shift["last_row"] + 2)
        same = [record for record in records if record["row"] not in inside]
        assert [record["caption"] for record in same] == [explained.captions[record["row"] - 1] for record in same]
        assert all(record["clean_confidence"] is not None for record in same)


def _rounded(value: Any) -> Any:
    """Parquet holds single floats."""
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_rounded(part) for part in value]
    return round(value, 3) if isinstance(value, float) else value
