from typing import Any
from uuid import uuid4

import httpx2 as httpx
import pytest
from sqlalchemy import Engine

from model.config import parse_run_config, run_config_to_dict
from service.db.session import transaction
from service.db.states import CollectionState, JobState, Scope
from service.db.tables import Collection, Run, Stage, Workspace
from tests.factories import make_collection, make_run, publish_run, workspace_of
from tests.service.serving import caller, problem_of

FEATURES = {"format": "clip-retrieval", "images": "features"}


def shaped(images: list[int], captions: list[int]) -> dict[str, Any]:
    return FEATURES | {"features": {"images": {"shape": images}, "captions": {"shape": captions}}}


class Rows:
    """Makes rows in the caller's workspace."""

    def __init__(self, http: httpx.Client, engine: Engine) -> None:
        self._http, self._engine = http, engine

    def collection(
        self, state: CollectionState = CollectionState.READY, format: dict[str, Any] | None = None
    ) -> Collection:
        with transaction(self._engine) as session:
            made = make_collection(session, 3, workspace_id=workspace_of(session, self._http), state=state)
            made.format = format or made.format
            return made

    def published(self, format: dict[str, Any] | None = None, **config: Any) -> Run:
        learned = self.collection(format=format)
        with transaction(self._engine) as session:
            run = publish_run(session, session.get_one(Collection, learned.id), {1: 0.9, 2: 0.1})
            run.config = run.config | config
            return run

    def waiting(self) -> Run:
        with transaction(self._engine) as session:
            return make_run(session, make_collection(session, 3, workspace_id=workspace_of(session, self._http)))

    def set_state(self, run_id: str, state: JobState) -> None:
        with transaction(self._engine) as session:
            session.get_one(Run, run_id).state = state


@pytest.fixture
def rows(idle_http: httpx.Client, idle_engine: Engine) -> Rows:
    return Rows(idle_http, idle_engine)


def post(http: httpx.Client, run: Run, collection: Collection, **headers: str) -> httpx.Response:
    return http.post(f"/v1/runs/{run.id}/score", json={"collection": str(collection.id)}, headers=headers)


class TestScoreWithRun:
    def test_new_run_trains_nothing_and_says_whose_networks_judge(self, idle_http: httpx.Client, rows: Rows) -> None:
        model, new = rows.published(seed=7), rows.collection()
        response = post(idle_http, model, new)
        body = response.json()
        assert response.status_code == 202, response.text
        assert response.headers["Location"] == f"/v1/runs/{body['id']}"
        assert int(response.headers["Retry-After"]) >= 1
        assert (body["collection_id"], body["model_run_id"]) == (str(new.id), str(model.id))
        assert [stage["name"] for stage in body["stages"]] == ["fetch", "encode", "score", "explain", "publish"]
        assert [stage["state"] for stage in body["stages"]] == ["queued"] + ["waiting"] * 4
        assert body["config"]["seed"] == 7
        assert idle_http.get(response.headers["Location"]).json() == body

    def test_encoder_is_the_one_that_auto_stood_for(self, idle_http: httpx.Client, rows: Rows) -> None:
        model = rows.published()
        assert model.config["encoder"] == "auto"
        assert post(idle_http, model, rows.collection()).json()["config"]["encoder"] == "lite"

    def test_waits_for_a_file_that_is_being_read(self, idle_http: httpx.Client, rows: Rows) -> None:
        body = post(idle_http, rows.published(), rows.collection(CollectionState.INGESTING)).json()
        assert {stage["state"] for stage in body["stages"]} == {"waiting"}

    def test_same_idempotency_key_makes_one_run(self, idle_http: httpx.Client, rows: Rows) -> None:
        model, new = rows.published(), rows.collection()
        first, second = (post(idle_http, model, new, **{"Idempotency-Key": "once"}).json()["id"] for _ in range(2))
        assert first == second
        other = post(idle_http, model, rows.collection(), **{"Idempotency-Key": "once"})
        problem_of(other, 409, "idempotency_key_reused")

    def test_unpublished_run_is_refused(self, idle_http: httpx.Client, rows: Rows) -> None:
        assert "'queued'" in problem_of(post(idle_http, rows.waiting(), rows.collection()), 409, "run_not_published")

    def test_run_that_borrowed_is_refused_and_its_lender_named(self, idle_http: httpx.Client, rows: Rows) -> None:
        model, new = rows.published(), rows.collection()
        borrowed = post(idle_http, model, new).json()["id"]
        rows.set_state(borrowed, JobState.SUCCEEDED)
        response = idle_http.post(f"/v1/runs/{borrowed}/score", json={"collection": str(new.id)})
        assert str(model.id) in problem_of(response, 409, "run_not_trained")

    def test_run_that_cannot_judge_is_refused_with_the_reason(
        self, idle_http: httpx.Client, idle_engine: Engine, rows: Rows
    ) -> None:
        model = rows.published()
        with transaction(idle_engine) as session:
            run = session.get_one(Run, model.id)
            run.summary = (run.summary or {}) | {"cannot_judge": "the captions are too much alike"}
        detail = problem_of(post(idle_http, model, rows.collection()), 409, "run_cannot_judge")
        assert "the captions are too much alike" in detail

    @pytest.mark.parametrize("state", [CollectionState.EMPTY, CollectionState.FAILED])
    def test_collection_without_a_file_is_refused(
        self, idle_http: httpx.Client, rows: Rows, state: CollectionState
    ) -> None:
        detail = problem_of(post(idle_http, rows.published(), rows.collection(state)), 409, "collection_not_ready")
        assert "/file" in detail

    def test_features_for_networks_that_learned_from_images_are_refused(
        self, idle_http: httpx.Client, rows: Rows
    ) -> None:
        new = rows.collection(format=shaped([3, 512], [3, 512]))
        problem_of(post(idle_http, rows.published(), new), 422, "encoder_does_not_fit")

    def test_images_for_networks_that_learned_from_features_are_refused(
        self, idle_http: httpx.Client, rows: Rows
    ) -> None:
        model = rows.published(format=shaped([9, 512], [9, 512]))
        problem_of(post(idle_http, model, rows.collection()), 422, "encoder_does_not_fit")

    def test_networks_that_learned_from_labels_need_none_to_judge(self, idle_http: httpx.Client, rows: Rows) -> None:
        model = rows.published(**run_config_to_dict(parse_run_config({"method": "mrl"})))
        assert post(idle_http, model, rows.collection()).status_code == 202

    def test_features_of_another_width_are_refused_with_both(self, idle_http: httpx.Client, rows: Rows) -> None:
        model = rows.published(format=shaped([9, 512], [9, 512]))
        new = rows.collection(format=shaped([3, 768], [3, 512]))
        detail = problem_of(post(idle_http, model, new), 422, "features_do_not_fit")
        assert "captions 512 and images 512" in detail
        assert "captions 512 and images 768" in detail

    def test_features_of_the_same_width_are_accepted(self, idle_http: httpx.Client, rows: Rows) -> None:
        model = rows.published(format=shaped([9, 512], [9, 512]))
        assert post(idle_http, model, rows.collection(format=shaped([3, 512], [3, 512]))).status_code == 202

    def test_collection_of_another_workspace_is_not_found(
        self, idle_http: httpx.Client, idle_engine: Engine, rows: Rows
    ) -> None:
        with transaction(idle_engine) as session:
            foreign = make_collection(session, 3)
        problem_of(post(idle_http, rows.published(), foreign), 404, "not_found")

    def test_unknown_field_is_refused(self, idle_http: httpx.Client, rows: Rows) -> None:
        body = {"collection": str(uuid4()), "method": "ncr"}
        problem_of(idle_http.post(f"/v1/runs/{rows.published().id}/score", json=body), 422, "invalid_request")

    def test_key_that_may_only_read_is_refused(self, idle_url: str, idle_engine: Engine, rows: Rows) -> None:
        model, new = rows.published(), rows.collection()
        with transaction(idle_engine) as session:
            name = session.get_one(Workspace, model.workspace_id).name
        with caller(idle_url, idle_engine, Scope.READ, name) as reader:
            problem_of(post(reader, model, new), 403, "forbidden")


class TestProgress:
    def test_a_run_without_training_is_done_when_its_stages_are(
        self, idle_http: httpx.Client, idle_engine: Engine, rows: Rows
    ) -> None:
        id = post(idle_http, rows.published(), rows.collection()).json()["id"]
        with transaction(idle_engine) as session:
            stages = session.query(Stage).where(Stage.run_id == id).order_by(Stage.position).all()
            for stage in stages[:4]:
                stage.state = JobState.SUCCEEDED
        # .05 + .5 + .12 + .11 of .8, the shares of the five stages
        assert idle_http.get(f"/v1/runs/{id}").json()["progress"] == pytest.approx(0.78 / 0.8)
