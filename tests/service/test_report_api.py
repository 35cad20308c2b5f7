from collections.abc import Iterator
from uuid import UUID, uuid4

import httpx2 as httpx
import pytest
from sqlalchemy import Engine

from service.client import ApiProblem, Client
from service.db.session import transaction
from service.db.states import JobState
from service.db.tables import Run
from tests.factories import make_collection, make_run, publish_run, workspace_of
from tests.service.report_samples import PAIRS, made_drift, made_report
from tests.service.serving import problem_of


@pytest.fixture
def run_id(idle_http: httpx.Client, idle_engine: Engine) -> UUID:
    """A published run with a report."""
    with transaction(idle_engine) as session:
        run = publish_run(session, make_collection(session, 2, workspace_id=workspace_of(session, idle_http)), {1: 0.9})
        session.get_one(Run, run.id).report = made_report()
        return run.id


@pytest.fixture
def client(idle_url: str, idle_http: httpx.Client) -> Iterator[Client]:
    client = Client(idle_url, idle_http.headers["Authorization"].removeprefix("Bearer "))
    yield client
    client.close()


class TestGetReport:
    def test_is_what_was_stored_with_a_headline(self, idle_http: httpx.Client, run_id: UUID) -> None:
        answer = idle_http.get(f"/v1/runs/{run_id}/report")
        assert answer.status_code == 200, answer.text
        found = answer.json()
        assert found["run_id"] == str(run_id)
        assert found["headline"].startswith("About 39 % of the pairs do not match")
        stored = made_report()
        assert found["calibration"] == stored["calibration"]
        assert found["agreement"] == stored["agreement"]
        assert found["slices"] == stored["slices"]
        assert found["extremes"] == stored["extremes"]
        assert sum(found["histograms"]["confidence"]["pairs"]) == PAIRS

    def test_a_run_without_probes_has_no_calibration(
        self, idle_http: httpx.Client, idle_engine: Engine, run_id: UUID
    ) -> None:
        with transaction(idle_engine) as session:
            session.get_one(Run, run_id).report = made_report(has_probes=False, has_loss=False)
        found = idle_http.get(f"/v1/runs/{run_id}/report").json()
        assert (found["calibration"], found["histograms"]["loss"]) == (None, None)
        assert "no probes" in found["headline"]

    def test_pairs_that_look_different_are_said_in_the_headline(
        self, idle_http: httpx.Client, idle_engine: Engine, run_id: UUID
    ) -> None:
        drift = made_drift(looks_different=True)
        with transaction(idle_engine) as session:
            session.get_one(Run, run_id).report = made_report() | {"drift": drift}
        found = idle_http.get(f"/v1/runs/{run_id}/report").json()
        assert found["drift"] == drift
        assert found["headline"].startswith("Do not rely on these scores")

    def test_drift_is_described(self, idle_http: httpx.Client) -> None:
        drift = idle_http.get("/openapi.json").json()["components"]["schemas"]["Drift"]["properties"]
        assert drift.keys() == made_drift(looks_different=True).keys()

    @pytest.mark.parametrize("name", ["report", "report.html"])
    def test_an_unfinished_run_has_none_yet(self, idle_http: httpx.Client, idle_engine: Engine, name: str) -> None:
        with transaction(idle_engine) as session:
            run = make_run(session, make_collection(session, 2, workspace_id=workspace_of(session, idle_http)))
        detail = problem_of(idle_http.get(f"/v1/runs/{run.id}/{name}"), 409, "run_not_published")
        assert f"'{JobState.QUEUED}'" in detail

    @pytest.mark.parametrize("name", ["report", "report.html"])
    def test_a_run_from_before_reports_says_so(
        self, idle_http: httpx.Client, idle_engine: Engine, run_id: UUID, name: str
    ) -> None:
        with transaction(idle_engine) as session:
            session.get_one(Run, run_id).report = None
        assert "start a new run" in problem_of(idle_http.get(f"/v1/runs/{run_id}/{name}"), 409, "no_report")

    @pytest.mark.parametrize("name", ["report", "report.html"])
    def test_other_workspaces_find_nothing(self, idle_http: httpx.Client, idle_engine: Engine, name: str) -> None:
        with transaction(idle_engine) as session:
            other = publish_run(session, make_collection(session, 1), {1: 0.9})
        for id in (other.id, uuid4()):
            problem_of(idle_http.get(f"/v1/runs/{id}/{name}"), 404, "not_found")


class TestGetReportPage:
    def test_is_one_file_that_loads_nothing(self, idle_http: httpx.Client, run_id: UUID) -> None:
        answer = idle_http.get(f"/v1/runs/{run_id}/report.html")
        assert answer.status_code == 200
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "About 39 % of the pairs do not match" in answer.text
        assert "1 more without a readable image" in answer.text


class TestClient:
    def test_gets_both_forms(self, client: Client, run_id: UUID) -> None:
        assert client.report(run_id)["run_id"] == str(run_id)
        assert client.report_html(run_id).startswith("<!doctype html>")

    def test_refusal_is_told_in_the_services_words(self, client: Client) -> None:
        for ask in (client.report, client.report_html):
            with pytest.raises(ApiProblem, match="no such run"):
                ask(uuid4())
