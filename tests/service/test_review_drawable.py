"""How many pairs an audit draws from: it decides which pairs an audit has gone past, so whether they count."""

from collections.abc import Sequence

import httpx2 as httpx
import pytest
from sqlalchemy import Engine

from service.db import reviews
from service.db.session import transaction
from service.db.tables import Run
from tests.factories import Line, lines, make_collection, publish_run, workspace_of
from tests.service.test_review_estimate import audit, estimate, listed
from tests.service.test_review_plan_api import plan, publish_again

# What an audit never draws, beside the 20 pairs that it does: more rows of a pair, and pairs judged on an earlier run.
REPEATED, EARLIER = lines(20) * 2, [Line(f"http://127.0.0.1/{n}.png", "said") for n in range(40)]


def judged_before(http: httpx.Client, engine: Engine, content: Sequence[Line]) -> Run:
    """A run over the pairs, of which those in EARLIER were judged on the run before it."""
    rows = range(1, len(content) + 1)
    with transaction(engine) as session:
        collection = make_collection(session, content, workspace_id=workspace_of(session, http))
        first = publish_run(session, collection, dict.fromkeys(rows, 0.5))
        run = publish_again(session, collection, rows)
    said = [{"uid": item["uid"], "verdict": "match"} for item in listed(http, first) if item["caption"] == "said"]
    if said:
        assert http.post(f"/v1/runs/{first.id}/reviews", json={"reviews": said}).status_code == 200
    return run


@pytest.mark.parametrize("others", [[], REPEATED, EARLIER, [*REPEATED, *EARLIER]])
class TestDrawable:
    def test_pairs_that_no_audit_could_draw_are_not_counted(
        self, idle_http: httpx.Client, idle_engine: Engine, others: Sequence[Line]
    ) -> None:
        run = judged_before(idle_http, idle_engine, [*lines(20), *others])
        audit(idle_http, run, dict.fromkeys(range(1, 6), "match") | {7: "unsure"})
        with transaction(idle_engine) as session:
            assert reviews.drawable(session, run) == 20

    def test_passed_pair_counts_whatever_else_is_in_the_collection(
        self, idle_http: httpx.Client, idle_engine: Engine, others: Sequence[Line]
    ) -> None:
        """All are judged, the last but one for another reason; so the audit has gone past it."""
        run = judged_before(idle_http, idle_engine, [*lines(20), *others])
        order = [item["row"] for item in plan(idle_http, run, reason="audit", limit=100)]
        assert sorted(order) == list(range(1, 21))
        passed = order.pop(-2)
        audit(idle_http, run, {passed: "mismatch"}, reason="near_cut")
        audit(idle_http, run, dict.fromkeys(order, "match"))
        noise = estimate(idle_http, run)["noise_rate"]
        assert (noise["hits"], noise["of"]) == (1, 20)
