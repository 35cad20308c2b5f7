"""A cut chosen after the run: what it is said to give, and what pages then hold."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx2 as httpx
import pytest
from sqlalchemy import Engine

from service import cursor
from service.db.session import transaction
from service.db.states import Verdict
from service.db.tables import Pair, Review, Run
from tests.factories import calibrated, make_collection, make_run, publish_run, workspace_of
from tests.service.report_samples import WHY_NO_PROBES
from tests.service.serving import problem_of
from tests.service.test_pairs_api import all_pages, kind_of, reader_of, rows

# By falling trust: 8, four ties, 4, two ties, 7. Row 10 has no score.
CONFIDENCES = {1: 0.9, 2: 0.9, 3: 0.9, 4: 0.8, 5: 0.3, 6: 0.3, 7: 0.1, 8: 0.95, 9: 0.9}
VERDICTS = {1: Verdict.MATCH, 7: Verdict.MISMATCH, 10: Verdict.UNSURE}
Get = Callable[..., Any]


@pytest.fixture(scope="module")
def run(idle_engine: Engine) -> Run:
    with transaction(idle_engine) as session:
        collection = make_collection(session, 10)
        for row, verdict in VERDICTS.items():
            uid = session.get_one(Pair, (collection.id, row)).uid
            session.add(
                Review(collection_id=collection.id, uid=uid, verdict=verdict, reason="chosen", reviewer="somebody")
            )
        return publish_run(session, collection, CONFIDENCES, report=calibrated(CONFIDENCES))


@pytest.fixture(scope="module")
def http(idle_url: str, idle_engine: Engine, run: Run) -> Iterator[httpx.Client]:
    with reader_of(run, idle_url, idle_engine) as client:
        yield client


@pytest.fixture(scope="module")
def trusted(http: httpx.Client, run: Run) -> list[int]:
    """The scored rows in the order in which they are kept."""
    found = http.get(f"/v1/runs/{run.id}/pairs").json()["items"]
    scored = [item for item in found if item["clean_confidence"] is not None]
    return rows(sorted(scored, key=lambda item: (-item["clean_confidence"], item["uid"], item["row"])))


@pytest.fixture(scope="module")
def cut(http: httpx.Client, run: Run) -> Get:
    def get(**query: Any) -> Any:
        response = http.get(f"/v1/runs/{run.id}/cut", params=query)
        assert response.status_code == 200, response.text
        return response.json()

    return get


class TestGetCut:
    @pytest.mark.parametrize(
        ("query", "confidence", "kept"),
        [
            ({}, 0.5, 6),
            ({"min_confidence": 0.85}, 0.85, 5),
            ({"min_confidence": 0}, 0, 9),
            ({"min_precision": 0.89}, 0.8, 6),
            ({"min_precision": 0.9}, 0.9, 5),
            ({"min_precision": 0}, 0.1, 9),
            ({"cost_ratio": 1}, 0.5, 6),
            ({"cost_ratio": 4}, 0.8, 6),
            ({"cost_ratio": 9}, 0.9, 5),
            ({"cost_ratio": 1e300}, 1, 0),
            ({"cost_ratio": 1e-300}, 0, 9),
            ({"keep": 3}, 0.9, 3),
            ({"keep": 9}, 0.1, 9),
            ({"keep": 0}, 1, 0),
            ({"keep_share": 0.5}, 0.9, 4),
            ({"keep_share": 1}, 0.1, 9),
            ({"keep_share": 0.05}, 1, 0),
        ],
    )
    def test_wish_becomes_a_cut_with_exact_counts(
        self, cut: Get, query: dict[str, Any], confidence: float, kept: int
    ) -> None:
        found = cut(**query)
        assert found["confidence"] == pytest.approx(confidence)
        assert (found["kept"], found["flagged"]) == (kept, 9 - kept)

    def test_row_of_the_curve_is_given_as_it_is(self, cut: Get) -> None:
        """Kept at .9: .95 and four of .9, so 4.55 of 5 match; of 6.05 matching pairs in all."""
        expected = cut(min_precision=0.905)["expected"]
        assert expected["precision"] == pytest.approx(4.55 / 5)
        assert expected["precision_low"] == pytest.approx(4.55 / 5 * 0.9)
        assert expected["recall"] == pytest.approx(4.55 / 6.05)
        assert expected["flagged_precision"] == pytest.approx((0.2 + 0.7 * 2 + 0.9) / 4)
        assert expected["flagged_recall"] == pytest.approx(2.5 / 2.95)

    def test_cut_between_two_scores_promises_what_the_upper_one_does(self, cut: Get) -> None:
        assert cut(min_confidence=0.5)["expected"]["precision"] == pytest.approx(5.35 / 6)

    def test_count_between_two_rows_is_interpolated(self, cut: Get) -> None:
        """Three of nine lie midway between the rows that keep one and five."""
        assert cut(keep=3)["expected"]["precision"] == pytest.approx((0.95 + 4.55 / 5) / 2)

    @pytest.mark.parametrize("query", [{"keep": 0}, {"min_confidence": 0.99}, {"cost_ratio": 1e300}])
    def test_nothing_kept_has_no_precision_and_loses_every_match(self, cut: Get, query: dict[str, Any]) -> None:
        """Of nine pairs 6.05 match, .9 to 1.1 times as many by their interval; all are flagged."""
        expected = cut(**query)["expected"]
        assert [expected[f"precision{end}"] for end in ("", "_low", "_high")] == [None] * 3
        assert [expected[f"recall{end}"] for end in ("", "_low", "_high")] == [0] * 3
        assert [expected[f"flagged_recall{end}"] for end in ("", "_low", "_high")] == [1] * 3
        flagged = [expected[f"flagged_precision{end}"] for end in ("", "_low", "_high")]
        assert flagged == pytest.approx([2.95 / 9, 1 - 1.1 * 6.05 / 9, 1 - 0.9 * 6.05 / 9])

    def test_what_cannot_be_said_is_null(self, cut: Get) -> None:
        assert cut(keep=9)["expected"]["flagged_precision"] is None

    def test_precision_out_of_reach_tells_the_best(self, http: httpx.Client, run: Run) -> None:
        response = http.get(f"/v1/runs/{run.id}/cut", params={"min_precision": "0.99"})
        detail = problem_of(response, 422, "precision_out_of_reach")
        assert "0.99" in detail
        assert "0.9500 at the cut 0.9500" in detail
        assert response.json()["best_precision"] == pytest.approx(0.95)

    def test_more_than_were_scored_cannot_be_kept(self, http: httpx.Client, run: Run) -> None:
        response = http.get(f"/v1/runs/{run.id}/cut", params={"keep": 10})
        assert "scored 9" in problem_of(response, 422, "too_few_scored")

    @pytest.mark.parametrize("path", ["cut", "pairs"])
    def test_two_cuts_at_once_are_refused_by_name(self, http: httpx.Client, run: Run, path: str) -> None:
        response = http.get(f"/v1/runs/{run.id}/{path}", params={"keep": 3, "min_confidence": 0.5})
        assert "min_confidence, keep were given together" in problem_of(response, 422, "invalid_request")

    @pytest.mark.parametrize(
        ("name", "value"),
        [("min_precision", 1.1), ("keep_share", -0.1), ("keep", -1), ("keep", 2**63), ("cost_ratio", 0)]
        + [("cost_ratio", value) for value in ("inf", "nan", -1)],
    )
    def test_wrong_value_is_named(self, http: httpx.Client, run: Run, name: str, value: Any) -> None:
        response = http.get(f"/v1/runs/{run.id}/cut", params={name: value})
        assert name in problem_of(response, 422, "invalid_request")


class TestWithoutCalibration:
    @pytest.fixture(params=[None, {"calibration": None}])
    def path(self, request: pytest.FixtureRequest, idle_http: httpx.Client, idle_engine: Engine) -> str:
        with transaction(idle_engine) as session:
            collection = make_collection(session, 3, workspace_id=workspace_of(session, idle_http))
            return f"/v1/runs/{publish_run(session, collection, {1: 0.9, 2: 0.2}, report=request.param).id}"

    @pytest.mark.parametrize("query", [{"min_precision": 0.5}, {"cost_ratio": 2}])
    def test_what_needs_it_is_a_conflict(self, idle_http: httpx.Client, path: str, query: dict[str, Any]) -> None:
        for call in ("cut", "pairs"):
            problem_of(idle_http.get(f"{path}/{call}", params=query), 409, "not_calibrated")

    @pytest.mark.parametrize(("probe_share", "advice"), WHY_NO_PROBES)
    def test_reason_and_remedy_are_told(
        self, idle_http: httpx.Client, idle_engine: Engine, path: str, probe_share: float, advice: str
    ) -> None:
        with transaction(idle_engine) as session:
            run = session.get_one(Run, path.rpartition("/")[2])
            run.config = run.config | {"probe_share": probe_share}
        assert advice in problem_of(idle_http.get(f"{path}/cut?cost_ratio=2"), 409, "not_calibrated")

    def test_counts_are_exact_and_nothing_is_expected(self, idle_http: httpx.Client, path: str) -> None:
        found = idle_http.get(f"{path}/cut", params={"keep": 1}).json()
        assert (found["kept"], found["flagged"], found["expected"]) == (1, 1, None)


class TestUnpublished:
    def test_run_without_scores_is_a_conflict(self, idle_http: httpx.Client, idle_engine: Engine) -> None:
        with transaction(idle_engine) as session:
            waiting = make_run(session, make_collection(session, 1, workspace_id=workspace_of(session, idle_http)))
        for query in ({}, {"keep": 0}, {"min_precision": 0.5}):
            problem_of(idle_http.get(f"/v1/runs/{waiting.id}/cut", params=query), 409, "run_not_published")


class TestPages:
    @pytest.mark.parametrize("count", range(10))
    def test_kept_and_flagged_are_told_apart_to_the_pair(
        self, http: httpx.Client, run: Run, trusted: list[int], count: int
    ) -> None:
        for query, expected in (
            ({"split": "clean"}, trusted[:count]),
            ({"split": "noisy"}, trusted[count:]),
            ({"split": "unscored"}, [10]),
        ):
            found = http.get(f"/v1/runs/{run.id}/pairs", params={"keep": count, **query}).json()["items"]
            assert rows(found) == sorted(expected)

    def test_without_a_split_all_rows_follow_the_cut(self, http: httpx.Client, run: Run, trusted: list[int]) -> None:
        found = http.get(f"/v1/runs/{run.id}/pairs", params={"keep_share": 0.3}).json()["items"]
        assert rows(found) == list(range(1, 11))
        assert {item["row"] for item in found if item["split"] == "clean"} == set(trusted[:3])
        assert {item["row"] for item in found if item["is_mismatch_issue"]} == set(trusted[3:])
        assert (found[9]["split"], found[9]["is_mismatch_issue"]) == ("unscored", None)

    @pytest.mark.parametrize("query", [{"min_precision": 0.9}, {"keep": 3}, {"cost_ratio": 9}, {"keep": 0}])
    @pytest.mark.parametrize("sort", ["row", "-clean_confidence", "clean_confidence", "-weight"])
    def test_pages_put_together_are_the_whole_list(
        self, http: httpx.Client, run: Run, query: dict[str, Any], sort: str
    ) -> None:
        asked = {"sort": sort, **query}
        whole = http.get(f"/v1/runs/{run.id}/pairs", params=asked).json()["items"]
        assert all_pages(http, run, 2, **asked) == whole
        assert len(whole) == (10 if sort == "row" else 9)

    def test_cursor_of_another_cut_is_refused(self, http: httpx.Client, run: Run) -> None:
        path = f"/v1/runs/{run.id}/pairs"
        following = http.get(path, params={"limit": 1, "keep": 3}).json()["next"]
        problem_of(http.get(path, params={"cursor": following, "keep": 4}), 422, "invalid_cursor")

    @pytest.mark.parametrize(
        "made_up",
        [[float("nan"), None, None], [0.5, "x", 1], [0.5, "0" * 32, 2**70], [0.5, "0" * 32, None], [0.5], "abc", 7],
    )
    def test_cursor_with_a_made_up_cut_is_refused(self, http: httpx.Client, run: Run, made_up: Any) -> None:
        path = f"/v1/runs/{run.id}/pairs"
        real = http.get(path, params={"limit": 1, "keep": 3}).json()["next"]
        forged = cursor.encode(kind_of(real), 1, 1, made_up)
        problem_of(http.get(path, params={"cursor": forged, "keep": 3}), 422, "invalid_cursor")


class TestReviews:
    def test_verdict_is_shown(self, http: httpx.Client, run: Run) -> None:
        found = http.get(f"/v1/runs/{run.id}/pairs").json()["items"]
        assert {item["row"]: item["review"] for item in found if item["review"]} == VERDICTS

    @pytest.mark.parametrize(
        ("review", "expected"),
        [("match", [1]), ("mismatch", [7]), ("unsure", [10]), ("none", [2, 3, 4, 5, 6, 8, 9])],
    )
    def test_filter_keeps_exactly(self, http: httpx.Client, run: Run, review: str, expected: list[int]) -> None:
        assert rows(http.get(f"/v1/runs/{run.id}/pairs", params={"review": review}).json()["items"]) == expected

    def test_unknown_verdict_is_refused(self, http: httpx.Client, run: Run) -> None:
        response = http.get(f"/v1/runs/{run.id}/pairs", params={"review": "maybe"})
        assert "review" in problem_of(response, 422, "invalid_request")
