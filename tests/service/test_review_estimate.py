"""What audits say of a run: counted by hand on few pairs, and how often it is right over many simulated audits."""

import random
from typing import Any, NamedTuple
from uuid import UUID

import httpx2 as httpx
import pytest
from sqlalchemy import Engine

from service.db import reviews
from service.db.session import transaction
from service.db.tables import Collection, Run
from service.exact_intervals import clopper_pearson
from service.review_estimate import by_chance
from tests.factories import calibrated, make_collection, publish_run, workspace_of
from tests.service.serving import problem_of
from tests.service.test_review_plan_api import publish_again

# Ten pairs above the cut and ten below.
CONFIDENCES = {row: 0.95 - 0.045 * row for row in range(1, 21)}


@pytest.fixture
def run(idle_http: httpx.Client, idle_engine: Engine) -> Run:
    with transaction(idle_engine) as session:
        collection = make_collection(session, 20, workspace_id=workspace_of(session, idle_http))
        return publish_run(session, collection, CONFIDENCES, report=calibrated(CONFIDENCES))


def listed(http: httpx.Client, run: Run) -> list[dict[str, Any]]:
    return list(http.get(f"/v1/runs/{run.id}/pairs", params={"limit": 100}).json()["items"])


def audit(http: httpx.Client, run: Run, verdicts: dict[int, str], reason: str = "audit") -> None:
    uids = {item["row"]: item["uid"] for item in listed(http, run)}
    given = [{"uid": uids[row], "verdict": verdict, "reason": reason} for row, verdict in verdicts.items()]
    response = http.post(f"/v1/runs/{run.id}/reviews", json={"reviews": given})
    assert response.status_code == 200, response.text


def estimate(http: httpx.Client, run: Run, **query: Any) -> dict[str, Any]:
    response = http.get(f"/v1/runs/{run.id}/review-estimate", params=query)
    assert response.status_code == 200, response.text
    return dict(response.json())


# Kept: 4 matches, 1 mismatch. Flagged: 1 match, 2 mismatches. And two where nobody could tell.
AUDITED = {
    1: "match", 2: "match", 3: "match", 4: "match", 5: "mismatch", 6: "unsure",
    11: "match", 12: "mismatch", 13: "mismatch", 14: "unsure",
}  # fmt: skip
COUNTS = {
    "precision": (4, 5), "recall": (4, 5), "flagged_precision": (2, 3), "flagged_recall": (2, 3), "noise_rate": (3, 8),
}  # fmt: skip


class TestEstimate:
    def test_counts_are_those_of_the_audits(self, idle_http: httpx.Client, run: Run) -> None:
        audit(idle_http, run, AUDITED)
        found = estimate(idle_http, run)
        assert (found["audits"], found["unsure"], found["cut"]) == (8, 2, 0.5)
        for name, (hits, of) in COUNTS.items():
            measure = found[name]
            assert (measure["hits"], measure["of"]) == (hits, of)
            assert measure["estimate"] == pytest.approx(hits / of)
            assert (measure["low"], measure["high"]) == pytest.approx(clopper_pearson(hits, of))
        assert "8 pairs drawn by chance" in found["explanation"]
        assert "2 more were unsure" in found["explanation"]
        assert f"About {found['more_audits']} more audits" in found["explanation"]

    def test_another_cut_needs_no_other_audit(self, idle_http: httpx.Client, run: Run) -> None:
        audit(idle_http, run, AUDITED)
        found = estimate(idle_http, run, min_confidence=CONFIDENCES[11])
        assert (found["precision"]["hits"], found["precision"]["of"]) == (5, 6)
        assert (found["recall"]["hits"], found["recall"]["of"]) == (5, 5)
        assert (found["flagged_precision"]["hits"], found["flagged_precision"]["of"]) == (2, 2)

    def test_only_audits_count(self, idle_http: httpx.Client, run: Run) -> None:
        audit(idle_http, run, AUDITED, reason="near_cut")
        found = estimate(idle_http, run)
        assert (found["audits"], found["unsure"]) == (0, 0)
        assert {found[name] for name in COUNTS} == {None}
        assert found["more_audits"] == 402
        assert "reason=audit" in found["explanation"]

    def test_measure_without_a_count_is_null(self, idle_http: httpx.Client, run: Run) -> None:
        audit(idle_http, run, {1: "match", 2: "match"})
        found = estimate(idle_http, run)
        assert found["precision"]["of"] == found["recall"]["of"] == 2
        assert found["flagged_precision"] is found["flagged_recall"] is None
        assert (found["noise_rate"]["hits"], found["noise_rate"]["low"]) == (0, 0)

    def test_calibrated_expectation_stands_beside_it(self, idle_http: httpx.Client, run: Run) -> None:
        audit(idle_http, run, dict.fromkeys(range(1, 11), "mismatch") | dict.fromkeys(range(11, 21), "mismatch"))
        cut = idle_http.get(f"/v1/runs/{run.id}/cut").json()
        found = estimate(idle_http, run)
        precision, flagged = found["precision"], found["flagged_precision"]
        assert precision["expected"] == pytest.approx(cut["expected"]["precision"])
        assert (precision["estimate"], precision["is_expected_within"]) == (0, False)
        assert flagged["is_expected_within"] is (flagged["low"] <= flagged["expected"])
        assert found["noise_rate"]["expected"] == 0.3

    def test_run_without_calibration_has_no_expectation(self, idle_http: httpx.Client, idle_engine: Engine) -> None:
        with transaction(idle_engine) as session:
            collection = make_collection(session, 20, workspace_id=workspace_of(session, idle_http))
            run = publish_run(session, collection, CONFIDENCES)
        audit(idle_http, run, AUDITED)
        precision = estimate(idle_http, run)["precision"]
        assert (precision["of"], precision["expected"], precision["is_expected_within"]) == (5, None, None)

    def test_what_was_said_on_an_earlier_run_judges_only_that_one(
        self, idle_http: httpx.Client, idle_engine: Engine, run: Run
    ) -> None:
        """A later run was taught these verdicts, so it agrees with them whatever it is worth."""
        with transaction(idle_engine) as session:
            later = publish_again(session, session.get_one(Collection, run.collection_id), range(1, 21))
        for judged in (run, later):
            audit(idle_http, judged, AUDITED)
        assert (estimate(idle_http, run)["audits"], estimate(idle_http, later)["audits"]) == (8, 0)

    def test_wrong_cut_is_named(self, idle_http: httpx.Client, run: Run) -> None:
        response = idle_http.get(f"/v1/runs/{run.id}/review-estimate", params={"min_confidence": 2})
        assert "min_confidence" in problem_of(response, 422, "invalid_request")


class Judged(NamedTuple):
    uid: UUID
    verdict: str
    reason: str


PAIRS = 300


def simulated(draw: random.Random) -> tuple[Run, list[Judged], float]:
    """Reviews of a small collection whose doubtful half is looked at first; and its true share of mismatches."""
    run = Run(id=UUID(int=draw.getrandbits(128)))
    uids = [UUID(int=draw.getrandbits(128)) for _ in range(PAIRS)]
    mismatches = {uid for place, uid in enumerate(uids) if draw.random() < (0.6 if place < PAIRS / 2 else 0.02)}
    waiting, said = sorted(uids, key=lambda uid: reviews.place(run, uid)), []
    for _ in range(7):
        drawn, others = waiting[:15], set(waiting[15:])
        doubtful = [uid for uid in uids if uid in others][:20]
        for reason, chosen in (("audit", drawn), ("near_cut", doubtful)):
            said += [Judged(uid, "mismatch" if uid in mismatches else "match", reason) for uid in chosen]
        others.difference_update(doubtful)
        waiting = [uid for uid in waiting if uid in others]
    return run, said, len(mismatches) / PAIRS


def held(said: list[Judged], truth: float) -> bool:
    low, high = clopper_pearson(sum(item.verdict == "mismatch" for item in said), len(said))
    return low <= truth <= high


class TestByChance:
    def test_intervals_hold_the_truth_although_doubtful_pairs_are_looked_at_first(self) -> None:
        draw, found, naive, trials = random.Random(1), 0, 0, 200
        for _ in range(trials):
            run, said, truth = simulated(draw)
            found += held(by_chance(run, said, PAIRS), truth)
            naive += held([item for item in said if item.reason == "audit"], truth)
        assert found / trials >= 0.95
        assert naive / trials < 0.9, "then this would not be needed"

    def test_sample_of_the_users_own_takes_nothing_with_it(self) -> None:
        draw = random.Random(2)
        run = Run(id=UUID(int=draw.getrandbits(128)))
        audits = [Judged(UUID(int=draw.getrandbits(128)), "match", "audit") for _ in range(30)]
        others = [Judged(UUID(int=draw.getrandbits(128)), "mismatch", "chosen") for _ in range(30)]
        assert set(by_chance(run, [*others, *audits], 10_000)) == set(audits)
