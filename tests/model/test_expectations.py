"""What is expected of every cut, and what people's answers do to it."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from model.calibration import Calibration
from model.expectations import EQUAL_COSTS, curve_of
from tests.model.simulated import SHARES, Case, calibrated, row_at, simulate


@pytest.fixture(scope="module")
def case() -> Case:
    return simulate(0.4, seed=1, count=10_000)


class TestCurve:
    def test_rows_are_many_and_not_too_many(self, case: Case) -> None:
        assert 50 <= len(case.calibration.curve) <= 300

    def test_cut_rises_and_kept_share_falls_from_one(self, case: Case) -> None:
        rows: list[dict[str, Any]] = list(case.calibration.curve)
        cuts, kept = (np.array([row[name] for row in rows]) for name in ("cut", "kept_share"))
        assert (np.diff(cuts) >= 0).all()
        assert (cuts[0], kept[0]) == (0.0, 1.0)
        assert (np.diff(kept) < 0).all()
        assert kept[-1] < 0.02

    def test_shares_are_in_range_and_inside_their_intervals(self, case: Case) -> None:
        for row in case.calibration.curve:
            for share in SHARES:
                low, value, high = (row[f"{share}{end}"] for end in ("_low", "", "_high"))
                if value is not None:
                    assert low is not None
                    assert high is not None
                    assert 0 <= low <= value <= high <= 1

    def test_nothing_flagged_has_no_precision(self, case: Case) -> None:
        first = case.calibration.curve[0]
        assert [first[f"flagged_precision{end}"] for end in ("", "_low", "_high")] == [None] * 3
        assert first["flagged_recall"] == 0.0
        assert first["recall"] == 1.0
        assert first["precision"] == pytest.approx(1 - case.calibration.noise_rate.estimate)

    def test_expectations_are_what_the_cuts_do(self, case: Case) -> None:
        for cut in (0.1, 0.3, 0.5, 0.7, 0.9):
            row = row_at(case.calibration, cut)
            assert row["cut"] == pytest.approx(cut, abs=0.1)
            for name, real in case.real(row["cut"]).items():
                assert row[name] == pytest.approx(real, abs=0.03), (name, cut)

    def test_automatic_cut_has_a_row_of_its_own(self, case: Case) -> None:
        assert case.calibration.threshold in [row["cut"] for row in case.calibration.curve]

    def test_automatic_cut_that_keeps_nothing_promises_nothing(self) -> None:
        *_, last = curve_of(np.tile([0.05, 0.1, 0.3], (3, 1)), np.array([4.0, 2.0, 1.0]))
        assert (last["cut"], last["kept_share"], last["recall"], last["flagged_recall"]) == (EQUAL_COSTS, 0, 0, 1)
        assert last["flagged_precision"] == pytest.approx(1 - 0.7 / 7)
        assert [last[f"precision{end}"] for end in ("", "_low", "_high")] == [None] * 3

    def test_automatic_cut_that_keeps_everything_expects_the_same_as_no_cut(self) -> None:
        none, automatic, *more = curve_of(np.tile([0.6, 0.7, 0.9], (3, 1)), np.array([4.0, 2.0, 1.0]))
        assert (none["cut"], automatic["cut"]) == (0.0, EQUAL_COSTS)
        assert none | {"cut": EQUAL_COSTS} == automatic
        assert automatic["recall"] == 1
        assert [row["cut"] for row in more] == [0.7, 0.9]

    def test_kept_share_is_that_of_the_cut(self, case: Case) -> None:
        for row in case.calibration.curve:
            kept = case.calibration.confidence(case.scores) >= (row["cut"] or 0.0)
            assert row["kept_share"] == pytest.approx(kept.mean(), abs=0.005)

    def test_threshold_is_a_field_of_its_own(self, case: Case) -> None:
        assert replace(case.calibration, threshold=0.8).to_dict()["threshold"] == 0.8


class TestAnswers:
    """What people said is counted as they said."""

    def answered(self, case: Case, anchors: npt.NDArray[np.int8]) -> Calibration:
        return calibrated(case.scores, case.probes, anchors=anchors)

    def test_all_answered_leaves_nothing_to_estimate(self) -> None:
        case = simulate(0.4, seed=7, count=300)
        found = self.answered(case, np.where(case.is_mismatch, -1, 1).astype(np.int8))
        rate = found.noise_rate
        assert (rate.low, rate.estimate, rate.high) == pytest.approx((case.rate,) * 3)
        row = row_at(found, found.threshold)
        assert (row["precision"], row["recall"], row["kept_share"]) == pytest.approx((1, 1, 1 - case.rate))

    @pytest.mark.parametrize(("said", "rate"), [(1, 0.0), (-1, 1.0)])
    def test_also_against_all_evidence(self, said: int, rate: float) -> None:
        case = simulate(0.4, seed=7, count=300)
        found = self.answered(case, np.full(300, said, np.int8))
        assert found.noise_rate.estimate == pytest.approx(rate)
        assert found.curve[0]["precision"] == pytest.approx(1 - rate)

    def test_others_are_judged_as_they_would_be_without_those(self) -> None:
        case = simulate(0.4, seed=7)
        anchors = np.zeros(len(case.scores), np.int8)
        anchors[:1000] = -1
        others = calibrated(case.scores[1000:], case.probes)
        found = self.answered(case, anchors)
        assert (found.slope, found.offset) == (others.slope, others.offset)
        expected = (1000 + others.noise_rate.estimate * 3000) / 4000
        assert found.noise_rate.estimate == pytest.approx(expected)
        assert found.curve[0]["kept_share"] == 1
        assert found.curve[0]["precision"] == pytest.approx(1 - expected)

    def test_no_answers_change_nothing(self, case: Case) -> None:
        assert self.answered(case, np.zeros(len(case.scores), np.int8)) == case.calibration
