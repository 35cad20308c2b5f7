from typing import Any
from uuid import UUID

import httpx2 as httpx
import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from service.db import reviews
from service.db.session import transaction
from service.db.states import JobState
from service.db.tables import Collection, Run, Score
from tests.factories import Line, lines, make_collection, make_run, publish_run, workspace_of
from tests.service.serving import problem_of

# Row 6 repeats row 2; row 5 has no score. From the most trusted on: 4, 1, 2 and 6, then below the cut 3, 7, 8.
LINES = [*lines(5), lines(2)[1], Line("http://127.0.0.1/7.png", "seven"), Line("http://127.0.0.1/8.png", "eight")]
CONFIDENCES = {1: 0.8, 2: 0.55, 3: 0.45, 4: 0.9, 6: 0.55, 7: 0.3, 8: 0.1}
GAPS = {1: 0.4, 2: 0.2, 3: 0.0, 4: 0.4, 6: 0.8, 7: 0.6, 8: 0.1}


@pytest.fixture
def run(idle_http: httpx.Client, idle_engine: Engine) -> Run:
    with transaction(idle_engine) as session:
        collection = make_collection(session, LINES, workspace_id=workspace_of(session, idle_http))
        run = publish_run(session, collection, CONFIDENCES)
        for row, gap in GAPS.items():
            score = session.get_one(Score, (run.id, row))
            score.confidence_a, score.confidence_b = (gap, 0.0) if row % 2 else (0.0, gap)
    return run


def plan(http: httpx.Client, run: Run, **query: Any) -> list[dict[str, Any]]:
    response = http.get(f"/v1/runs/{run.id}/review-plan", params=query)
    assert response.status_code == 200, response.text
    return list(response.json()["items"])


def rows(items: list[dict[str, Any]], reason: str | None = None) -> list[int]:
    return [item["row"] for item in items if reason in (None, item["reason"])]


def say(http: httpx.Client, run: Run, item: dict[str, Any]) -> None:
    body = {"verdict": "match", "reason": item["reason"]}
    assert http.put(f"/v1/runs/{run.id}/pairs/{item['uid']}/review", json=body).status_code == 200


class TestPlan:
    def test_run_without_scores_is_a_conflict(self, idle_http: httpx.Client, idle_engine: Engine) -> None:
        with transaction(idle_engine) as session:
            run = make_run(session, make_collection(session, 3, workspace_id=workspace_of(session, idle_http)))
        problem_of(idle_http.get(f"/v1/runs/{run.id}/review-plan"), 409, "run_not_published")

    def test_every_scored_pair_is_proposed_once(self, idle_http: httpx.Client, run: Run) -> None:
        assert sorted(rows(plan(idle_http, run))) == [1, 2, 3, 4, 7, 8]

    def test_half_is_audit_and_the_rest_is_shared(self, idle_http: httpx.Client, run: Run) -> None:
        reasons = [item["reason"] for item in plan(idle_http, run, limit=4)]
        assert reasons == ["audit", "audit", "disagreement", "near_cut"]

    def test_disagreement_is_largest_first_and_never_none(self, idle_http: httpx.Client, run: Run) -> None:
        items = plan(idle_http, run, reason="disagreement")
        assert rows(items, "disagreement") == [7, 1, 4, 2, 8]
        assert items[0]["why"] == "The two networks disagree: 0.60 and 0.00."

    def test_near_cut_alternates_between_the_sides(self, idle_http: httpx.Client, run: Run) -> None:
        items = plan(idle_http, run, reason="near_cut")
        assert rows(items, "near_cut") == [2, 3, 1, 7, 4, 8]
        assert items[0]["why"] == "Its confidence of 0.550 is close to the cut at 0.500."
        assert rows(plan(idle_http, run, reason="near_cut", limit=3)) == [2, 3, 1]

    def test_near_cut_takes_from_one_side_where_the_other_is_empty(
        self, idle_http: httpx.Client, run: Run, idle_engine: Engine
    ) -> None:
        with transaction(idle_engine) as session:
            session.get_one(Run, run.id).summary = {"threshold": 0.95}
        assert rows(plan(idle_http, run, reason="near_cut", limit=3)) == [4, 1, 2]

    def test_audit_is_fixed_for_the_run_and_reviewed_pairs_leave_it(self, idle_http: httpx.Client, run: Run) -> None:
        drawn = plan(idle_http, run, reason="audit")
        assert sorted(rows(drawn, "audit")) == [1, 2, 3, 4, 7, 8]
        assert plan(idle_http, run, reason="audit", limit=2) == drawn[:2]
        say(idle_http, run, drawn[0])
        assert plan(idle_http, run, reason="audit") == drawn[1:]

    def test_every_run_draws_from_its_own_place_on(self, idle_http: httpx.Client, idle_engine: Engine) -> None:
        with transaction(idle_engine) as session:
            collection = make_collection(session, 60, workspace_id=workspace_of(session, idle_http))
            runs = [publish_again(session, collection, range(1, 61)) for _ in range(3)]
        for run in runs:
            drawn = [UUID(item["uid"]) for item in plan(idle_http, run, reason="audit", limit=60)]
            assert len(set(drawn)) == 60
            assert drawn == sorted(drawn, key=lambda uid: reviews.place(run, uid))

    def test_nothing_is_left_when_all_is_reviewed(self, idle_http: httpx.Client, run: Run) -> None:
        for item in plan(idle_http, run):
            say(idle_http, run, item)
        assert plan(idle_http, run) == []

    def test_item_has_what_a_reviewer_needs(self, idle_http: httpx.Client, run: Run) -> None:
        [item] = [item for item in plan(idle_http, run, reason="near_cut") if item["row"] == 7]
        assert item.pop("why")
        assert item == {
            "uid": item["uid"], "row": 7, "url": "http://127.0.0.1/7.png", "caption": "seven",
            "clean_confidence": pytest.approx(0.3), "confidence_a": pytest.approx(0.6), "confidence_b": 0.0,
            "is_clean": False, "reason": "near_cut",
        }  # fmt: skip

    @pytest.mark.parametrize("query", [{"limit": 0}, {"limit": 501}, {"reason": "chosen"}])
    def test_wrong_parameter_is_named(self, idle_http: httpx.Client, run: Run, query: dict[str, Any]) -> None:
        response = idle_http.get(f"/v1/runs/{run.id}/review-plan", params=query)
        assert problem_of(response, 422, "invalid_request").startswith(f"{next(iter(query))}: ")


def publish_again(session: Session, collection: Collection, rows: range) -> Run:
    """A further run over the same pairs, whose images are there already."""
    run = make_run(session, collection)
    run.state, run.summary = JobState.SUCCEEDED, {"threshold": 0.5}
    scored = dict.fromkeys(("confidence_a", "confidence_b", "rectified_correspondence", "similarity"), 0.5)
    session.add_all(Score(run_id=run.id, row=row, clean_confidence=0.5, is_clean=True, **scored) for row in rows)
    return run
