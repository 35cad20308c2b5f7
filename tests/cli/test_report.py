"""`pairsift report` as a user meets it, against a published run with a made-up report."""

import json
import subprocess
import sys
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import Engine

from service.config import Settings, child_environment
from service.db.session import transaction
from service.db.states import Scope
from service.db.tables import Run, Workspace
from tests.conftest import ROOT, make_key
from tests.factories import make_collection, publish_run
from tests.service.report_samples import made_drift, made_report


@pytest.fixture(scope="module")
def run(engine: Engine) -> Run:
    with transaction(engine) as session:
        run = publish_run(session, make_collection(session, 1), {1: 0.9})
        report = made_report()
        report["slices"]["host"][12]["name"] = "evil[red]\x1b[31m.example"
        session.get_one(Run, run.id).report = report
        return run


@pytest.fixture(scope="module")
def environment(settings: Settings, service_url: str, engine: Engine, run: Run) -> dict[str, str]:
    with transaction(engine) as session:
        workspace = session.get_one(Workspace, run.workspace_id).name
    key = make_key(engine, Scope.READ, workspace)
    return child_environment(settings.model_copy(update={"url": service_url, "key": key}))


def pairsift(environment: dict[str, str], *arguments: object, code: int = 0) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "cli.main", "report", *map(str, arguments)]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == code, done.stderr
    return done


class TestReport:
    def test_says_the_result_and_writes_the_page(self, environment: dict[str, str], run: Run, tmp_path: Path) -> None:
        out = tmp_path / "new" / "report.html"
        done = pairsift(environment, run.id, "-o", out)
        assert done.stdout.startswith("About 39 % of the pairs do not match")
        assert "99 % precision" in done.stderr
        assert "of 200 known mismatches are flagged" in done.stderr
        assert out.read_text().startswith("<!doctype html>")

    def test_names_what_is_flagged_more_often_without_control_characters(
        self, environment: dict[str, str], run: Run
    ) -> None:
        said = pairsift(environment, run.id).stderr
        assert "evil[red]\ufffd[31m.example" in said
        assert "\x1b" not in said

    def test_says_what_is_missing_shifted_and_repeated(self, environment: dict[str, str], run: Run) -> None:
        said = " ".join(pairsift(environment, run.id).stderr.split())
        assert "mean score 0.81 of kept pairs, 0.20 of flagged ones" in said
        assert "red ball (40)" in said
        assert "rows 1,200-1,380 look shifted" in said

    @pytest.mark.parametrize(
        ("looks_different", "first", "told"),
        [
            (True, "Do not rely on these scores", "The images no longer look like those of the run: 30.0%"),
            (False, "About 39 %", "The new pairs look like those of the run: 1.0%"),
        ],
    )
    def test_says_whether_new_pairs_look_like_those_that_were_learned(
        self, engine: Engine, environment: dict[str, str], run: Run, looks_different: bool, first: str, told: str
    ) -> None:
        with transaction(engine) as session:
            scored = publish_run(session, make_collection(session, workspace_id=run.workspace_id), {})
            scored.report = made_report() | {"drift": made_drift(looks_different=looks_different)}
        done = pairsift(environment, scored.id)
        assert done.stdout.startswith(first)
        assert told in done.stderr

    def test_json_is_the_whole_report(self, environment: dict[str, str], run: Run) -> None:
        found = json.loads(pairsift(environment, run.id, "--json").stdout)
        assert found["calibration"]["threshold"] == 0.5
        assert len(found["extremes"]["least_trusted"]) == 20

    def test_an_unknown_run_fails_with_the_reason(self, environment: dict[str, str]) -> None:
        assert "no such run" in pairsift(environment, UUID(int=0), code=1).stderr
