from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx2 as httpx
import pytest
from sqlalchemy import Engine, func, select, update

from model.config import MIN_PAIRS
from service.db import jobs, submissions
from service.db.session import transaction
from service.db.states import CollectionState, JobState, Scope, StageName
from service.db.tables import Collection, Stage
from tests.factories import lines, make_collection, make_run, publish_run, workspace_of
from tests.service.serving import caller, problem_of

STAGES = ("fetch", "encode", "train", "score", "explain", "publish")


@pytest.fixture
def collection(idle_http: httpx.Client, idle_engine: Engine) -> Collection:
    with transaction(idle_engine) as session:
        return make_collection(session, MIN_PAIRS, workspace_id=workspace_of(session, idle_http))


@pytest.fixture
def path(collection: Collection) -> str:
    return f"/v1/collections/{collection.id}/runs"


def start(http: httpx.Client, path: str) -> dict[str, Any]:
    response = http.post(path, json={})
    assert response.status_code == 202
    return dict(response.json())


def claim_next(engine: Engine, run_id: str) -> jobs.Claim:
    with transaction(engine) as session:
        queued = select(Stage.id).where(Stage.run_id == run_id, Stage.state == JobState.QUEUED)
        taken = jobs.claim(session, session.scalars(queued).one(), "test", 60)
    assert taken is not None
    return taken


class TestStartRun:
    def test_accepted_run_has_an_address_and_all_its_stages(self, idle_http: httpx.Client, path: str) -> None:
        response = idle_http.post(path, json={"method": "ncr", "seed": 7})
        body = response.json()
        assert response.status_code == 202
        assert response.headers["Location"] == f"/v1/runs/{body['id']}"
        assert int(response.headers["Retry-After"]) >= 1
        assert (body["state"], body["stage"], body["progress"], body["eta_seconds"]) == ("queued", "fetch", 0, None)
        assert [stage["name"] for stage in body["stages"]] == list(STAGES)
        assert idle_http.get(response.headers["Location"]).json() == body

    def test_config_shows_defaults_too(self, idle_http: httpx.Client, path: str) -> None:
        config = idle_http.post(path, json={"method": "ncr", "seed": 7}).json()["config"]
        assert (config["method"], config["seed"], config["encoder"]) == ("ncr", 7, "auto")
        assert config["method_options"]["warmup_epochs"] > 0

    def test_same_idempotency_key_and_body_give_the_same_run(self, idle_http: httpx.Client, path: str) -> None:
        headers = {"Idempotency-Key": uuid4().hex}
        first = idle_http.post(path, json={"seed": 1, "method": "crcl"}, headers=headers)
        again = idle_http.post(path, json={"method": "crcl", "seed": 1}, headers=headers)
        assert again.json() == first.json()
        assert again.headers["Location"] == first.headers["Location"]
        assert len(idle_http.get(path).json()["items"]) == 1

    def test_same_idempotency_key_with_another_body_is_a_conflict(self, idle_http: httpx.Client, path: str) -> None:
        headers = {"Idempotency-Key": uuid4().hex}
        idle_http.post(path, json={"seed": 1}, headers=headers)
        problem_of(idle_http.post(path, json={"seed": 2}, headers=headers), 409, "idempotency_key_reused")

    def test_idempotency_key_of_a_refused_request_can_be_used_again(self, idle_http: httpx.Client, path: str) -> None:
        headers = {"Idempotency-Key": uuid4().hex}
        problem_of(idle_http.post(path, json={"seed": -1}, headers=headers), 422, "invalid_option")
        assert idle_http.post(path, json={"seed": 1}, headers=headers).status_code == 202

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({"method": "magic"}, "method"),
            ({"backbone": "resnet"}, "backbone"),
            ({"encoder": "huge"}, "encoder"),
            ({"epochz": 3}, "epochz"),
            ({"batch_size": 0}, "batch_size"),
            ({"learning_rate": "fast"}, "learning_rate"),
            ({"method_options": {"loudness": 1}}, "method_options.loudness"),
            ({"method": "crcl", "method_options": {"temperature": -1}}, "method_options.temperature"),
            ({"backbone_options": {"dropout": 2}}, "backbone_options.dropout"),
        ],
    )
    def test_unusable_option_is_named(
        self, idle_http: httpx.Client, path: str, body: dict[str, object], field: str
    ) -> None:
        response = idle_http.post(path, json=body)
        assert problem_of(response, 422, "invalid_option").startswith(f"{field}: ")
        assert response.json()["errors"][0]["field"] == field
        assert idle_http.get(path).json()["items"] == []

    @pytest.mark.parametrize("body", [{"seed": "x"}, {"seed": 1.5}, {"method_options": [1]}])
    def test_wrong_type_is_named(self, idle_http: httpx.Client, path: str, body: dict[str, object]) -> None:
        assert next(iter(body)) in problem_of(idle_http.post(path, json=body), 422, "invalid_request")

    def test_option_name_that_no_encoding_can_carry_is_refused(self, idle_http: httpx.Client, path: str) -> None:
        headers = {"Content-Type": "application/json", "Idempotency-Key": uuid4().hex}
        response = idle_http.post(path, content=b'{"\\ud800": 1}', headers=headers)
        problem_of(response, 422, "invalid_request")

    def test_too_few_pairs_states_the_minimum(self, idle_http: httpx.Client, idle_engine: Engine) -> None:
        with transaction(idle_engine) as session:
            small = make_collection(session, MIN_PAIRS - 1, workspace_id=workspace_of(session, idle_http))
        response = idle_http.post(f"/v1/collections/{small.id}/runs", json={})
        assert f"at least {MIN_PAIRS}" in problem_of(response, 422, "too_few_pairs")
        assert response.json()["minimum"] == MIN_PAIRS

    def test_method_that_needs_labels_is_refused_without(self, idle_http: httpx.Client, path: str) -> None:
        response = idle_http.post(path, json={"method": "mrl"})
        detail = problem_of(response, 422, "labels_missing")
        assert "no label column" in detail
        assert "method_options.clusters" in detail
        assert idle_http.get(path).json()["items"] == []

    def test_pairs_without_a_label_are_counted(self, idle_http: httpx.Client, idle_engine: Engine) -> None:
        given = [replace(line, label="dog") for line in lines(MIN_PAIRS)]
        given[3:5] = [replace(line, label=None) for line in given[3:5]]
        with transaction(idle_engine) as session:
            made = make_collection(session, given, workspace_id=workspace_of(session, idle_http))
        response = idle_http.post(f"/v1/collections/{made.id}/runs", json={"method": "mrl"})
        assert f"2 of its {MIN_PAIRS} pairs have no label" in problem_of(response, 422, "labels_missing")

    def test_method_that_needs_labels_is_accepted_with_them_or_with_clusters(
        self, idle_http: httpx.Client, idle_engine: Engine, path: str
    ) -> None:
        clustered = idle_http.post(path, json={"method": "mrl", "method_options": {"clusters": 8}})
        assert clustered.status_code == 202
        with transaction(idle_engine) as session:
            given = [replace(line, label=f"kind {number % 3}") for number, line in enumerate(lines(MIN_PAIRS))]
            made = make_collection(session, given, workspace_id=workspace_of(session, idle_http))
        assert idle_http.post(f"/v1/collections/{made.id}/runs", json={"method": "mrl"}).status_code == 202
        assert idle_http.get(f"/v1/collections/{made.id}").json()["labelled"] == MIN_PAIRS

    @pytest.mark.parametrize("state", [CollectionState.EMPTY, CollectionState.FAILED])
    def test_collection_without_pairs_is_a_conflict(
        self, idle_http: httpx.Client, idle_engine: Engine, state: CollectionState
    ) -> None:
        with transaction(idle_engine) as session:
            made = make_collection(session, workspace_id=workspace_of(session, idle_http), state=state)
        response = idle_http.post(f"/v1/collections/{made.id}/runs", json={})
        assert "upload a file first" in problem_of(response, 409, "collection_not_ready")

    def test_run_accepted_while_ingesting_starts_when_the_file_is_read(
        self, idle_http: httpx.Client, idle_engine: Engine
    ) -> None:
        with transaction(idle_engine) as session:
            workspace_id = workspace_of(session, idle_http)
            made = make_collection(session, workspace_id=workspace_id, state=CollectionState.INGESTING)
            submissions.submit_ingest(session, made)
        run = start(idle_http, f"/v1/collections/{made.id}/runs")
        assert {stage["state"] for stage in run["stages"]} == {"waiting"}
        with transaction(idle_engine) as session:
            ingest = session.scalars(select(Stage.id).where(Stage.collection_id == made.id, Stage.run_id.is_(None)))
            taken = jobs.claim(session, ingest.one(), "test", 60)
            assert taken is not None
            jobs.finish(session, taken)
        assert idle_http.get(f"/v1/runs/{run['id']}").json()["stages"][0]["state"] == "queued"

    def test_read_key_may_not_start(self, idle_http: httpx.Client, idle_url: str, idle_engine: Engine) -> None:
        with caller(idle_url, idle_engine, Scope.READ) as reader:
            problem_of(reader.post(f"/v1/collections/{uuid4()}/runs", json={}), 403, "forbidden")


class TestListRuns:
    @pytest.mark.parametrize("limit", [1, 2, 100])
    def test_pages_have_all_newest_first(self, idle_http: httpx.Client, path: str, limit: int) -> None:
        made = [start(idle_http, path)["id"] for _ in range(3)]
        found, query = [], {"limit": str(limit)}
        while True:
            page = idle_http.get(path, params=query).json()
            found += [run["id"] for run in page["items"]]
            if page["next"] is None:
                break
            query["cursor"] = page["next"]
        assert found == made[::-1]

    def test_cursor_of_another_collection_is_refused(
        self, idle_http: httpx.Client, idle_engine: Engine, path: str
    ) -> None:
        start(idle_http, path)
        start(idle_http, path)
        cursor = idle_http.get(path, params={"limit": 1}).json()["next"]
        with transaction(idle_engine) as session:
            other = make_collection(session, workspace_id=workspace_of(session, idle_http))
        response = idle_http.get(f"/v1/collections/{other.id}/runs", params={"cursor": cursor})
        problem_of(response, 422, "invalid_cursor")


class TestGetRun:
    def test_running_stage_shows_progress_and_time_left(
        self, idle_http: httpx.Client, idle_engine: Engine, path: str
    ) -> None:
        id = start(idle_http, path)["id"]
        with transaction(idle_engine) as session:
            jobs.finish(session, claim_next(idle_engine, id))
        taken = claim_next(idle_engine, id)
        with transaction(idle_engine) as session:
            jobs.heartbeat(session, taken, 60, 25, 100, "25 of 100")
            begun = func.now() - timedelta(seconds=10)
            session.execute(update(Stage).where(Stage.id == taken.stage_id).values(started_at=begun))
        response = idle_http.get(f"/v1/runs/{id}")
        run = response.json()
        fetch, encode, train = run["stages"][:3]
        assert int(response.headers["Retry-After"]) >= 1
        assert (run["state"], run["stage"]) == ("running", "encode")
        assert 0 < fetch["seconds"] + 1 < encode["seconds"] + 1
        assert (fetch["progress"], encode["progress"], train["progress"]) == (1, 0.25, 0)
        assert (encode["message"], encode["attempt"]) == ("25 of 100", 1)
        assert encode["eta_seconds"] == pytest.approx(30, abs=10)
        assert train["seconds"] is None
        # Fetch took no time at all and is no part of the whole.
        assert run["progress"] == pytest.approx(0.25 * 0.5 / 0.95)
        # As the stage, and .45 of the whole after it where it is .5: 30 + 40 * .9.
        assert run["eta_seconds"] == pytest.approx(66, abs=22)

    def test_published_run_is_complete(
        self, idle_http: httpx.Client, idle_engine: Engine, collection: Collection
    ) -> None:
        with transaction(idle_engine) as session:
            run = publish_run(session, session.get_one(Collection, collection.id), {1: 0.5})
        body = idle_http.get(f"/v1/runs/{run.id}").json()
        assert (body["state"], body["progress"], body["stage"], body["eta_seconds"]) == ("succeeded", 1, None, None)

    def test_failed_run_tells_why(self, idle_http: httpx.Client, idle_engine: Engine, path: str) -> None:
        id = start(idle_http, path)["id"]
        error = jobs.problem("no_images", "No image could be read", "Not one.")
        with transaction(idle_engine) as session:
            jobs.fail(session, claim_next(idle_engine, id), error)
        response = idle_http.get(f"/v1/runs/{id}")
        assert response.json()["error"] == error
        assert response.json()["finished_at"] is not None
        assert "Retry-After" not in response.headers


class TestCancelRun:
    def test_run_that_has_not_started_is_cancelled_at_once(self, idle_http: httpx.Client, path: str) -> None:
        id = start(idle_http, path)["id"]
        response = idle_http.post(f"/v1/runs/{id}/cancel")
        assert response.status_code == 202
        assert response.json()["state"] == "cancelled"
        assert {stage["state"] for stage in response.json()["stages"]} == {"cancelled"}

    def test_run_that_has_ended_is_a_conflict(self, idle_http: httpx.Client, path: str) -> None:
        id = start(idle_http, path)["id"]
        idle_http.post(f"/v1/runs/{id}/cancel")
        problem_of(idle_http.post(f"/v1/runs/{id}/cancel"), 409, "run_ended")

    def test_running_stage_is_told(self, idle_http: httpx.Client, idle_engine: Engine, path: str) -> None:
        id = start(idle_http, path)["id"]
        taken = claim_next(idle_engine, id)
        assert idle_http.post(f"/v1/runs/{id}/cancel").json()["state"] == "running"
        with transaction(idle_engine) as session:
            assert jobs.heartbeat(session, taken, 60, 0, 0, None)


class TestResumeRun:
    def test_cancelled_run_goes_on(self, idle_http: httpx.Client, path: str) -> None:
        id = start(idle_http, path)["id"]
        idle_http.post(f"/v1/runs/{id}/cancel")
        response = idle_http.post(f"/v1/runs/{id}/resume")
        assert response.status_code == 202
        assert (response.json()["state"], response.json()["stage"]) == ("queued", "fetch")

    def test_run_that_has_not_ended_is_a_conflict(self, idle_http: httpx.Client, path: str) -> None:
        id = start(idle_http, path)["id"]
        problem_of(idle_http.post(f"/v1/runs/{id}/resume"), 409, "run_not_ended")

    def test_published_run_is_a_conflict(
        self, idle_http: httpx.Client, idle_engine: Engine, collection: Collection
    ) -> None:
        with transaction(idle_engine) as session:
            run = publish_run(session, session.get_one(Collection, collection.id), {1: 0.5})
        problem_of(idle_http.post(f"/v1/runs/{run.id}/resume"), 409, "run_not_ended")

    def test_run_of_a_failed_collection_is_a_conflict(self, idle_http: httpx.Client, idle_engine: Engine) -> None:
        with transaction(idle_engine) as session:
            workspace_id = workspace_of(session, idle_http)
            failed = make_collection(session, workspace_id=workspace_id, state=CollectionState.FAILED)
            run = make_run(session, failed)
            run.state = JobState.FAILED
        problem_of(idle_http.post(f"/v1/runs/{run.id}/resume"), 409, "collection_not_ready")


class TestMethods:
    def test_every_option_has_help_and_default(self, idle_http: httpx.Client) -> None:
        body = idle_http.get("/v1/methods").json()
        assert {"crcl", "ncr", "mrl"} <= body["methods"].keys()
        assert body["methods"]["mrl"]["needs_labels"]
        assert not body["methods"]["crcl"]["needs_labels"]
        assert body["encoders"] == ["auto", "lite", "precomputed", "open_clip:<architecture>:<tag or file>"]
        del body["methods"]["auto"]
        for group in (body["options"], *(kind["options"] for kind in body["methods"].values())):
            assert group
            assert all(option["help"] and option["default"] is not None for option in group.values())

    def test_auto_offers_no_options_as_it_refuses_them(self, idle_http: httpx.Client, path: str) -> None:
        methods = idle_http.get("/v1/methods").json()["methods"]
        assert methods["auto"]["options"] == {}
        assert methods["auto"]["description"]
        body = {"method": "auto", "method_options": {"learning_rate": 0.1}}
        assert "chosen by auto" in problem_of(idle_http.post(path, json=body), 422, "invalid_option")


class TestStages:
    def test_every_stage_of_a_run_has_a_share_of_its_progress(
        self, idle_http: httpx.Client, idle_engine: Engine, path: str
    ) -> None:
        """The progress of the whole grows with every stage and ends at one."""
        id = start(idle_http, path)["id"]
        seen = [0.0]
        for name in STAGES:
            taken = claim_next(idle_engine, id)
            assert taken.name == StageName(name)
            with transaction(idle_engine) as session:
                begun = func.now() - timedelta(seconds=5)
                session.execute(update(Stage).where(Stage.id == taken.stage_id).values(started_at=begun))
                jobs.finish(session, taken)
            seen.append(idle_http.get(f"/v1/runs/{id}").json()["progress"])
        assert seen == sorted(set(seen))
        assert seen[-1] == pytest.approx(1)
