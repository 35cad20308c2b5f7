from typing import Any
from uuid import UUID

import httpx2 as httpx
import pytest
from sqlalchemy import Engine

from service.db.session import transaction
from service.db.states import JobState, Scope
from service.db.tables import Collection, Review, Run, Workspace
from service.limits import MAX_BODY_BYTES
from tests.factories import Line, lines, make_collection, make_run, publish_run, workspace_of
from tests.service.serving import caller, problem_of

# Row 6 repeats row 2; row 5 has no score. In order of confidence: 4, 1, 2 (6) | 3, 7, 8.
LINES = [*lines(5), lines(2)[1], Line("http://127.0.0.1/7.png", "seven"), Line("http://127.0.0.1/8.png", "eight")]
CONFIDENCES = {1: 0.8, 2: 0.55, 3: 0.45, 4: 0.9, 6: 0.55, 7: 0.3, 8: 0.1}


@pytest.fixture
def run(idle_http: httpx.Client, idle_engine: Engine) -> Run:
    with transaction(idle_engine) as session:
        collection = make_collection(session, LINES, workspace_id=workspace_of(session, idle_http))
        return publish_run(session, collection, CONFIDENCES)


@pytest.fixture
def uids(idle_http: httpx.Client, run: Run) -> list[str]:
    """By row; the first stands for nothing."""
    return ["", *(item["uid"] for item in idle_http.get(f"/v1/runs/{run.id}/pairs").json()["items"])]


def put(http: httpx.Client, run: Run, uid: str, **body: Any) -> httpx.Response:
    return http.put(f"/v1/runs/{run.id}/pairs/{uid}/review", json={"verdict": "match", **body})


def put_many(http: httpx.Client, run: Run, *reviews: dict[str, Any], **options: Any) -> httpx.Response:
    return http.post(f"/v1/runs/{run.id}/reviews", json={"reviews": reviews, **options})


def listed(http: httpx.Client, run: Run, **query: Any) -> dict[str, Any]:
    response = http.get(f"/v1/collections/{run.collection_id}/reviews", params=query)
    assert response.status_code == 200, response.text
    return dict(response.json())


def not_published(http: httpx.Client, engine: Engine) -> Run:
    with transaction(engine) as session:
        return make_run(session, make_collection(session, 3, workspace_id=workspace_of(session, http)))


def run_again(engine: Engine, run: Run) -> Run:
    with transaction(engine) as session:
        later = make_run(session, session.get_one(Collection, run.collection_id))
        later.state = JobState.SUCCEEDED
    return later


class TestPut:
    def test_stored_review_is_returned_with_defaults(self, idle_http: httpx.Client, run: Run, uids: list[str]) -> None:
        said = put(idle_http, run, uids[1], verdict="unsure")
        assert said.status_code == 200
        review = said.json()
        assert review.pop("reviewed_at")
        assert review == {
            "uid": uids[1], "verdict": "unsure", "reason": "chosen", "reviewer": "test", "note": None,
            "run_id": str(run.id),
        }  # fmt: skip
        assert idle_http.get(f"/v1/runs/{run.id}/pairs/{uids[1]}/review").json() == said.json()

    def test_last_word_counts(self, idle_http: httpx.Client, run: Run, uids: list[str]) -> None:
        put(idle_http, run, uids[1], note="blurred", reviewer="Ada")
        put(idle_http, run, uids[1].upper(), verdict="mismatch", reviewer="Bob", reason="near_cut")
        [review] = listed(idle_http, run)["items"]
        assert (review["verdict"], review["reviewer"], review["note"]) == ("mismatch", "Bob", None)
        assert review["reason"] == "near_cut"

    def test_audit_stays_one_when_it_is_corrected(self, idle_http: httpx.Client, run: Run, uids: list[str]) -> None:
        put(idle_http, run, uids[1], reason="audit")
        corrected = put(idle_http, run, uids[1], verdict="mismatch").json()
        assert (corrected["verdict"], corrected["reason"]) == ("mismatch", "audit")

    @pytest.mark.parametrize(("first", "then"), [("audit", "chosen"), ("near_cut", "audit")])
    def test_audit_of_another_run_is_none_of_this_one(
        self, idle_http: httpx.Client, idle_engine: Engine, run: Run, uids: list[str], first: str, then: str
    ) -> None:
        """It may have been an anchor of this one, and it has its place in the sample of the other."""
        later = run_again(idle_engine, run)
        put(idle_http, run, uids[1], reason=first, note="sharp")
        said = put(idle_http, later, uids[1], verdict="mismatch", reason=then, reviewer="Bob").json()
        assert (said["verdict"], said["note"], said["reviewer"]) == ("mismatch", None, "Bob")
        assert (said["run_id"], said["reason"]) == (str(run.id), first)

    def test_review_of_a_run_that_is_gone_is_none_of_a_later_one(
        self, idle_http: httpx.Client, idle_engine: Engine, run: Run, uids: list[str]
    ) -> None:
        later = run_again(idle_engine, run)
        put(idle_http, run, uids[1], reason="near_cut")
        with transaction(idle_engine) as session:
            session.get_one(Review, (run.collection_id, UUID(uids[1]))).run_id = None
        said = put(idle_http, later, uids[1], verdict="mismatch", reason="audit").json()
        assert (said["verdict"], said["run_id"], said["reason"]) == ("mismatch", None, "near_cut")

    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"verdict": "perhaps"}, "verdict"),
            ({"reason": "boredom"}, "reason"),
            ({"note": "x" * 2001}, "note"),
            ({"note": "a\0b"}, "note"),
            ({"reviewer": ""}, "reviewer"),
            ({"colour": "red"}, "colour"),
        ],
    )
    def test_wrong_field_is_named(
        self, idle_http: httpx.Client, run: Run, uids: list[str], change: dict[str, str], field: str
    ) -> None:
        detail = problem_of(put(idle_http, run, uids[1], **change), 422, "invalid_request")
        assert detail.startswith(f"{field}: ")
        assert listed(idle_http, run)["items"] == []

    def test_unknown_pair_and_run_are_not_found(self, idle_http: httpx.Client, run: Run, uids: list[str]) -> None:
        assert "pair" in problem_of(put(idle_http, run, "0" * 32), 404, "not_found")
        unknown = idle_http.put(f"/v1/runs/{UUID(int=0)}/pairs/{uids[1]}/review", json={"verdict": "match"})
        assert "run" in problem_of(unknown, 404, "not_found")
        assert "uid" in problem_of(put(idle_http, run, "xyz"), 422, "invalid_request")

    def test_run_without_scores_is_a_conflict(self, idle_http: httpx.Client, idle_engine: Engine) -> None:
        run = not_published(idle_http, idle_engine)
        assert "'queued'" in problem_of(put(idle_http, run, "0" * 32), 409, "run_not_published")

    def test_reader_may_not_write(self, idle_url: str, idle_engine: Engine, run: Run, uids: list[str]) -> None:
        with transaction(idle_engine) as session:
            name = session.get_one(Workspace, run.workspace_id).name
        with caller(idle_url, idle_engine, Scope.READ, name) as reader:
            problem_of(put(reader, run, uids[1]), 403, "forbidden")
            problem_of(put_many(reader, run, {"uid": uids[1], "verdict": "match"}), 403, "forbidden")
            problem_of(reader.delete(f"/v1/runs/{run.id}/pairs/{uids[1]}/review"), 403, "forbidden")
            assert listed(reader, run)["items"] == []

    def test_huge_body_is_refused(self, idle_http: httpx.Client, run: Run, uids: list[str]) -> None:
        problem_of(put(idle_http, run, uids[1], note="x" * MAX_BODY_BYTES), 413, "request_entity_too_large")


class TestDelete:
    def test_review_is_gone_and_the_pair_is_proposed_again(
        self, idle_http: httpx.Client, run: Run, uids: list[str]
    ) -> None:
        put(idle_http, run, uids[1])
        path = f"/v1/runs/{run.id}/pairs/{uids[1]}/review"
        assert idle_http.delete(path).status_code == 204
        assert "review" in problem_of(idle_http.get(path), 404, "not_found")
        problem_of(idle_http.delete(path), 404, "not_found")
        plan = idle_http.get(f"/v1/runs/{run.id}/review-plan").json()["items"]
        assert uids[1] in {item["uid"] for item in plan}


class TestList:
    @pytest.mark.parametrize("limit", [1, 2, 100])
    def test_pages_put_together_are_all_reviews_by_uid(
        self, idle_http: httpx.Client, run: Run, uids: list[str], limit: int
    ) -> None:
        chosen = [uids[row] for row in (1, 3, 5, 8)]
        for uid in chosen:
            put(idle_http, run, uid)
        found: list[str] = []
        page = listed(idle_http, run, limit=limit)
        while True:
            found += [item["uid"] for item in page["items"]]
            if not page["next"]:
                break
            page = listed(idle_http, run, limit=limit, cursor=page["next"])
        assert found == sorted(chosen)

    def test_cursor_of_another_list_is_refused(self, idle_http: httpx.Client, run: Run) -> None:
        path = f"/v1/collections/{run.collection_id}/reviews"
        problem_of(idle_http.get(path, params={"cursor": "bm90aGluZw"}), 422, "invalid_cursor")


class TestPutMany:
    def test_all_are_stored(self, idle_http: httpx.Client, run: Run, uids: list[str]) -> None:
        put(idle_http, run, uids[3], note="before")
        verdicts = {uids[1]: "match", uids[3]: "mismatch", uids[5]: "unsure"}
        given = [{"uid": uid, "verdict": verdict} for uid, verdict in verdicts.items()]
        for _ in range(2):
            assert put_many(idle_http, run, *given).json() == {"stored": 3}
            assert {item["uid"]: item["verdict"] for item in listed(idle_http, run)["items"]} == verdicts

    def test_one_unknown_pair_refuses_all(self, idle_http: httpx.Client, run: Run, uids: list[str]) -> None:
        given = [{"uid": uid, "verdict": "match"} for uid in (uids[1], "0" * 32, uids[1])]
        response = put_many(idle_http, run, *given)
        detail = problem_of(response, 422, "invalid_reviews")
        assert [error["field"] for error in response.json()["errors"]] == ["reviews.1.uid", "reviews.2.uid"]
        assert "reviews.1.uid: is no pair of this collection" in detail
        assert "reviews.2.uid: is also the pair of reviews.0" in detail
        assert listed(idle_http, run)["items"] == []

    def test_one_wrong_verdict_is_named_by_index_and_field(
        self, idle_http: httpx.Client, run: Run, uids: list[str]
    ) -> None:
        given = {"uid": uids[1], "verdict": "match"}, {"uid": uids[3], "verdict": "yes"}
        assert "reviews.1.verdict: " in problem_of(put_many(idle_http, run, *given), 422, "invalid_request")
        assert listed(idle_http, run)["items"] == []

    def test_dry_run_only_checks(self, idle_http: httpx.Client, run: Run, uids: list[str]) -> None:
        assert put_many(idle_http, run, {"uid": uids[1], "verdict": "match"}, dry_run=True).json() == {"stored": 0}
        assert listed(idle_http, run)["items"] == []
        problem_of(
            put_many(idle_http, run, {"uid": "0" * 32, "verdict": "match"}, dry_run=True), 422, "invalid_reviews"
        )

    @pytest.mark.parametrize("count", [0, 1001])
    def test_number_of_reviews_is_limited(self, idle_http: httpx.Client, run: Run, uids: list[str], count: int) -> None:
        given = [{"uid": uids[1], "verdict": "match"}] * count
        assert "reviews: " in problem_of(put_many(idle_http, run, *given), 422, "invalid_request")


class TestCollection:
    def test_reviews_go_with_their_collection(
        self, idle_http: httpx.Client, idle_engine: Engine, run: Run, uids: list[str]
    ) -> None:
        put(idle_http, run, uids[1])
        assert idle_http.delete(f"/v1/collections/{run.collection_id}").status_code == 204
        with transaction(idle_engine) as session:
            assert session.get(Review, (run.collection_id, UUID(uids[1]))) is None
