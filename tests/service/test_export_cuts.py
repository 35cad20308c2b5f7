"""Exports by a cut of one's own, made by the stage itself: exact counts, and the pages put together."""

import json
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, update

from service.config import Settings
from service.db.session import transaction
from service.db.states import StageName
from service.db.tables import Export, Run, Score, Stage
from service.storage import Storage
from tests.factories import Line, calibrated, make_collection, publish_run, workspace_of
from tests.service.machine import claimed, stages
from tests.service.report_samples import WHY_NO_PROBES
from tests.service.serving import problem_of
from tests.service.test_pairs_api import all_pages
from worker.lease import Lease
from worker.stages import export
from worker.stages.context import StageContext

CONFIDENCES = {1: 0.9, 2: 0.9, 3: 0.2, 4: 0.9, 6: 0.1}


def published(engine: Engine, http: httpx.Client, confidences: dict[int, float]) -> Run:
    """Every third line repeats the first, so that uids are tied as well; the last has no score."""
    content = [Line(f"http://127.0.0.1/{row % 3 and row}.png", "a caption") for row in range(1, len(confidences) + 3)]
    with transaction(engine) as session:
        collection = make_collection(session, content, workspace_id=workspace_of(session, http))
        return publish_run(session, collection, confidences, report=calibrated(confidences) if confidences else None)


def exported(engine: Engine, http: httpx.Client, folder: Path, run: Run, **body: Any) -> tuple[Export, str]:
    """What became of the export, and its file."""
    made = http.post(f"/v1/runs/{run.id}/exports", json=body)
    assert made.status_code == 202, made.text
    [stage] = stages(engine, Stage.export_id == made.json()["id"])
    assert stage.name == StageName.EXPORT
    export.run(StageContext(Lease(engine, claimed(engine, stage.id), Settings()), Storage(folder)))
    with transaction(engine) as session:
        stored = session.get_one(Export, made.json()["id"])
    return stored, Storage(folder).export(stored.id).read_text()


class TestExactCounts:
    @settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(data=st.data())
    def test_export_has_just_so_many_rows_and_is_the_pages_put_together(
        self, idle_engine: Engine, idle_http: httpx.Client, tmp_path: Path, data: st.DataObject
    ) -> None:
        values = data.draw(st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.7, 1.0]), min_size=1, max_size=9))
        count = data.draw(st.integers(0, len(values)))
        run = published(idle_engine, idle_http, dict(enumerate(values, start=1)))
        limit = data.draw(st.integers(1, 4))
        scored = [item for item in all_pages(idle_http, run, 100) if item["clean_confidence"] is not None]
        scored.sort(key=lambda item: (-item["clean_confidence"], item["uid"], item["row"]))
        for split, part in (("clean", scored[:count]), ("noisy", scored[count:])):
            expected = sorted(item["row"] for item in part)
            asked = {"keep": count, "split": split}
            made, text = exported(idle_engine, idle_http, tmp_path, run, format="jsonl", **asked)
            records = [json.loads(line) for line in text.splitlines()]
            assert (made.rows, [item["row"] for item in records]) == (len(expected), expected)
            pages = all_pages(idle_http, run, limit, **asked) if expected else []
            assert [{**item, "run_id": str(run.id)} for item in pages] == records


class TestManifest:
    def test_filter_tells_what_the_wish_came_to(
        self, idle_engine: Engine, idle_http: httpx.Client, tmp_path: Path
    ) -> None:
        run = published(idle_engine, idle_http, CONFIDENCES)
        made, text = exported(idle_engine, idle_http, tmp_path, run, format="jsonl", split="clean", min_precision=0.8)
        assert (made.filter["split"], made.filter["min_precision"]) == ("clean", 0.8)
        assert made.filter["cut"] == idle_http.get(f"/v1/runs/{run.id}/cut", params={"min_precision": 0.8}).json()
        assert made.filter["cut"]["kept"] == made.rows == 3
        assert [json.loads(line)["row"] for line in text.splitlines()] == [1, 2, 4]

    def test_wish_that_cannot_be_met_makes_no_export(self, idle_engine: Engine, idle_http: httpx.Client) -> None:
        path = f"/v1/runs/{published(idle_engine, idle_http, CONFIDENCES).id}/exports"
        problem_of(idle_http.post(path, json={"min_precision": 0.99}), 422, "precision_out_of_reach")
        detail = problem_of(idle_http.post(path, json={"keep": 1, "cost_ratio": 1}), 422, "invalid_request")
        assert "keep, cost_ratio were given together" in detail


class TestWeights:
    def test_every_scored_pair_has_a_line(self, idle_engine: Engine, idle_http: httpx.Client, tmp_path: Path) -> None:
        run = published(idle_engine, idle_http, CONFIDENCES)
        made, text = exported(idle_engine, idle_http, tmp_path, run, format="weights")
        header, *lines = text.splitlines()
        assert header == "uid\trow\tweight"
        pairs = idle_http.get(f"/v1/runs/{run.id}/pairs").json()["items"]
        scored = [item for item in pairs if item["split"] != "unscored"]
        assert made.rows == len(lines) == len(CONFIDENCES)
        for line, item in zip(lines, scored, strict=True):
            uid, row, weight = line.split("\t")
            assert (uid, int(row), float(weight)) == (item["uid"], item["row"], item["weight"])

    def test_run_without_weights_is_a_conflict(self, idle_engine: Engine, idle_http: httpx.Client) -> None:
        run = published(idle_engine, idle_http, CONFIDENCES)
        with transaction(idle_engine) as session:
            session.execute(update(Score).where(Score.run_id == run.id).values(weight=None))
        response = idle_http.post(f"/v1/runs/{run.id}/exports", json={"format": "weights"})
        assert "new run" in problem_of(response, 409, "no_weights")

    @pytest.mark.parametrize(("probe_share", "advice"), WHY_NO_PROBES)
    def test_run_without_probes_says_what_would_give_weights(
        self, idle_engine: Engine, idle_http: httpx.Client, probe_share: float, advice: str
    ) -> None:
        id = published(idle_engine, idle_http, CONFIDENCES).id
        with transaction(idle_engine) as session:
            session.execute(update(Score).where(Score.run_id == id).values(weight=None))
            run = session.get_one(Run, id)
            run.report, run.config = {"calibration": None}, run.config | {"probe_share": probe_share}
        response = idle_http.post(f"/v1/runs/{id}/exports", json={"format": "weights"})
        assert advice in problem_of(response, 409, "no_weights")
