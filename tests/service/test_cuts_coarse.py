"""Cuts between the rows of a curve: a hundred pairs trusted .005, .015 to .995, and five rows that keep 100, 80, 60, 40
and 20 of them. Of the k most trusted 1 - k / 200 match: precision is .5, .6, .7, .8 and .9, and even in between."""

from collections.abc import Iterator
from typing import Any

import httpx2 as httpx
import pytest
from sqlalchemy import Engine

from service.db.session import transaction
from service.db.tables import Run
from tests.factories import calibrated, make_collection, publish_run
from tests.service.test_pairs_api import all_pages, reader_of, rows

CONFIDENCES = {row: (row - 0.5) / 100 for row in range(1, 101)}


def coarse_report() -> dict[str, Any]:
    report = calibrated(CONFIDENCES)
    report["calibration"]["curve"] = report["calibration"]["curve"][::20]
    return report


@pytest.fixture(scope="module")
def run(idle_engine: Engine) -> Run:
    with transaction(idle_engine) as session:
        return publish_run(session, make_collection(session, 100), CONFIDENCES, report=coarse_report())


@pytest.fixture(scope="module")
def http(idle_url: str, idle_engine: Engine, run: Run) -> Iterator[httpx.Client]:
    with reader_of(run, idle_url, idle_engine) as client:
        yield client


def cut(http: httpx.Client, run: Run, **query: Any) -> Any:
    response = http.get(f"/v1/runs/{run.id}/cut", params=query)
    assert response.status_code == 200, response.text
    return response.json()


class TestExpected:
    def test_below_the_last_row_recall_falls_with_every_pair(self, http: httpx.Client, run: Run) -> None:
        """The last row keeps 20: 18 of 50 matches, 2 of 50 mismatches. Half of them are half as many."""
        expected = cut(http, run, keep=10)["expected"]
        assert expected["precision"] == pytest.approx(0.9)
        assert expected["recall"] == pytest.approx(9 / 50)
        assert expected["recall_high"] == pytest.approx(1.1 * 9 / 50)
        assert expected["flagged_recall"] == pytest.approx(49 / 50)
        assert expected["flagged_precision"] == pytest.approx((0.5 + 48 / 80) / 2)

    def test_a_curve_whose_shares_are_of_other_pairs_is_read_by_confidence(
        self, idle_url: str, idle_engine: Engine
    ) -> None:
        """Half of these eight lie between .605 and .805, the rows for .8 and .9: two more than none are midway."""
        confidences = dict(enumerate([0.1, 0.1, 0.1, 0.1, 0.65, 0.66, 0.67, 0.68], start=1))
        with transaction(idle_engine) as session:
            new = publish_run(session, make_collection(session, 8), confidences, report=coarse_report())
        with reader_of(new, idle_url, idle_engine) as client:
            assert cut(client, new, keep=2)["expected"]["precision"] == pytest.approx(0.85)


class TestMinPrecision:
    @pytest.mark.parametrize(
        ("target", "kept"), [(0.85, 30), (0.8, 40), (0.81, 38), (0.8149, 37), (0.9, 20), (0.5, 100), (0.501, 99)]
    )
    def test_as_many_pairs_are_kept_as_leave_it(self, http: httpx.Client, run: Run, target: float, kept: int) -> None:
        """1 - k / 200 is at least .85 up to k = 30."""
        found = cut(http, run, min_precision=target)
        assert (found["kept"], found["flagged"]) == (kept, 100 - kept)
        assert found["expected"]["precision"] == pytest.approx(1 - kept / 200)
        assert found["expected"]["precision"] >= target - 1e-9

    def test_one_pair_more_would_leave_less(self, http: httpx.Client, run: Run) -> None:
        for target in (0.55, 0.6789, 0.7, 0.77, 0.8999):
            kept = cut(http, run, min_precision=target)["kept"]
            assert cut(http, run, keep=kept + 1)["expected"]["precision"] < target

    def test_row_of_the_curve_is_a_plain_cut(self, http: httpx.Client, run: Run) -> None:
        found = cut(http, run, min_precision=0.9)
        assert (found["confidence"], found["last_uid"]) == (pytest.approx(0.805), None)

    def test_pages_end_at_the_same_pair(self, http: httpx.Client, run: Run) -> None:
        found = all_pages(http, run, 7, min_precision=0.85, split="clean")
        assert rows(found) == list(range(71, 101))

    def test_pairs_of_one_confidence_are_kept_in_the_order_of_their_uid(
        self, idle_url: str, idle_engine: Engine
    ) -> None:
        """Ten ties between the rows for .8 and .9, of which half may join."""
        confidences = dict.fromkeys(range(1, 11), 0.7)
        with transaction(idle_engine) as session:
            tied = publish_run(session, make_collection(session, 10), confidences, report=coarse_report())
        with reader_of(tied, idle_url, idle_engine) as client:
            found = cut(client, tied, min_precision=0.85)
            uids = sorted(item["uid"] for item in client.get(f"/v1/runs/{tied.id}/pairs").json()["items"])
        assert (found["kept"], found["last_uid"]) == (5, uids[4])
