"""P(match), noise rate and expectations of cuts, held against simulated collections whose truth is known."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import model.calibration
from model.calibration import Calibration, Interval, calibrate, probability
from model.metrics import expected_calibration_error

COLLECTIONS, MOST_NOISE = 100, 0.9
SHARES = ("precision", "recall", "flagged_precision", "flagged_recall")


@dataclass(frozen=True)
class Case:
    scores: npt.NDArray[np.float64]
    probes: npt.NDArray[np.float64]
    is_mismatch: npt.NDArray[np.bool_]
    calibration: Calibration

    @property
    def rate(self) -> float:
        return float(self.is_mismatch.mean())

    def real(self, cut: float) -> dict[str, float]:
        """What a cut of the confidence does in truth."""
        kept, match = self.calibration.confidence(self.scores) >= cut, ~self.is_mismatch
        return {
            "kept_share": kept.mean(),
            "precision": match[kept].mean(),
            "recall": kept[match].mean(),
            "flagged_precision": self.is_mismatch[~kept].mean(),
            "flagged_recall": (~kept)[self.is_mismatch].mean(),
        }


def simulate(rate: float, seed: int, count: int = 4000, apart: float = 3.0) -> Case:
    """Normal scores of spread 1, matches `apart` from mismatches: at 3, one in fifteen of each is past the middle."""
    rng = np.random.default_rng(seed)
    is_mismatch = rng.random(count) < rate
    scores = np.where(is_mismatch, 0.0, apart) + rng.normal(size=count)
    probes = rng.normal(size=max(200, count // 20))
    return Case(scores, probes, is_mismatch, calibrate(scores, probes, np.ones(len(probes)), seed=0))


def row_at(calibration: Calibration, cut: float) -> dict[str, Any]:
    """The row of the curve whose cut is nearest."""
    return min(calibration.curve, key=lambda row: abs((row["cut"] or 0.0) - cut))


@pytest.fixture(scope="module", autouse=True)
def _few_draws() -> Iterator[None]:
    """Fewer than in earnest, for time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model.calibration, "_DRAWS", 40)
        yield


@pytest.fixture(scope="module")
def case() -> Case:
    return simulate(0.4, seed=1, count=10_000)


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    """One hundred collections, their noise rates spread from 0 to .9."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model.calibration, "_CURVE_ROWS", 21)
        return [simulate(MOST_NOISE * at / (COLLECTIONS - 1), at, count=3000) for at in range(COLLECTIONS)]


class TestIntervals:
    def test_noise_rate_is_covered(self, cases: list[Case]) -> None:
        found = [(case.calibration.noise_rate, case.rate) for case in cases]
        assert sum(interval.low <= rate <= interval.high for interval, rate in found) >= 90

    def test_estimates_are_right_on_average(self, cases: list[Case]) -> None:
        errors = np.array([case.calibration.noise_rate.estimate - case.rate for case in cases])
        assert abs(errors.mean()) < 0.01
        assert np.sqrt(np.square(errors).mean()) < 0.04

    def test_interval_holds_its_estimate_and_is_no_wider_than_useful(self, cases: list[Case]) -> None:
        for interval in (case.calibration.noise_rate for case in cases):
            assert 0 <= interval.low <= interval.estimate <= interval.high <= 1
        assert np.mean([case.calibration.noise_rate.high - case.calibration.noise_rate.low for case in cases]) < 0.12

    @pytest.mark.parametrize("share", SHARES)
    def test_expectation_of_the_cut_is_covered(self, cases: list[Case], share: str) -> None:
        """At the automatic cut; the truth of one collection also has its own chance, hence the slack of a point."""
        noisy = [case for case in cases if 0.05 < case.rate < 0.85]
        covered = 0
        for case in noisy:
            row = row_at(case.calibration, case.calibration.threshold)
            covered += row[f"{share}_low"] - 0.01 <= case.real(row["cut"])[share] <= row[f"{share}_high"] + 0.01
        assert covered >= 0.9 * len(noisy)


class TestCalibrate:
    def test_confidence_is_the_frequency_of_matches(self, case: Case) -> None:
        """Injected mismatches, unknown to the calibration: in every bin of confidence as many as it says."""
        confidence = case.calibration.confidence(case.scores)
        bins = np.minimum((confidence * 5).astype(int), 4)
        for number in range(5):
            some = bins == number
            assert some.sum() > 100
            assert (~case.is_mismatch[some]).mean() == pytest.approx(confidence[some].mean(), abs=0.12)
        assert expected_calibration_error(confidence, case.is_mismatch) < 0.02

    @pytest.mark.parametrize(("rate", "tolerance"), [(0.1, 0.02), (0.7, 0.05)])
    def test_confidence_is_right_at_other_rates(self, rate: float, tolerance: float) -> None:
        case = simulate(rate, seed=2, count=10_000)
        assert expected_calibration_error(case.calibration.confidence(case.scores), case.is_mismatch) < tolerance

    def test_map_is_monotone(self, case: Case) -> None:
        confidence = case.calibration.confidence(np.linspace(-10, 13, 1000))
        assert (np.diff(confidence) >= 0).all()
        assert (np.diff(confidence[(confidence > 1e-9) & (confidence < 1 - 1e-9)]) > 0).all()
        assert confidence.min() >= 0
        assert confidence.max() <= 1

    def test_noise_rate_is_the_mean_doubt(self, case: Case) -> None:
        doubt = 1 - case.calibration.confidence(case.scores).mean()
        assert case.calibration.noise_rate.estimate == pytest.approx(doubt, abs=0.005)

    @pytest.mark.parametrize("apart", [4.0, 6.0])
    def test_no_mismatches_are_no_evidence(self, apart: float) -> None:
        case = simulate(0.0, seed=3, apart=apart)
        assert not case.calibration.has_evidence
        assert case.calibration.noise_rate.estimate < 0.01
        assert (case.calibration.confidence(case.scores) < case.calibration.threshold).mean() < 0.02

    def test_five_percent_are_evidence(self) -> None:
        assert simulate(0.05, seed=3).calibration.has_evidence

    def test_same_seed_gives_the_same(self, case: Case) -> None:
        scores, probes = case.scores[:1000], case.probes[:200]
        assert calibrate(scores, probes, np.ones(200), 5) == calibrate(scores, probes, np.ones(200), 5)

    def test_probes_that_count_nothing_change_nothing(self) -> None:
        """Near misses with a weight of 0 lie among the matches."""
        case = simulate(0.3, seed=4)
        near = np.random.default_rng(0).normal(3.0, 1.0, size=len(case.probes))
        weight = np.repeat([1.0, 0.0], len(near))
        found = calibrate(case.scores, np.concatenate([case.probes, near]), weight, 0)
        assert found.noise_rate.estimate == pytest.approx(case.calibration.noise_rate.estimate, abs=0.01)

    def test_scale_and_origin_of_scores_do_not_matter(self) -> None:
        case = simulate(0.3, seed=5)
        moved = calibrate(7 + 3 * case.scores, 7 + 3 * case.probes, np.ones(len(case.probes)), 0)
        assert moved.noise_rate.estimate == pytest.approx(case.calibration.noise_rate.estimate, abs=0.005)
        np.testing.assert_allclose(
            moved.confidence(7 + 3 * case.scores), case.calibration.confidence(case.scores), atol=0.03
        )

    def test_equal_scores_give_finite_numbers(self) -> None:
        found = calibrate(np.ones(100), np.ones(50), np.ones(50), 0)
        assert np.isfinite([found.slope, found.offset, found.noise_rate.low, found.noise_rate.high]).all()

    def test_few_pairs_give_finite_numbers(self) -> None:
        rng = np.random.default_rng(0)
        found = calibrate(rng.normal(3, 1, size=64), rng.normal(size=200), np.ones(200), 0)
        assert 0 <= found.noise_rate.low <= found.noise_rate.high <= 1

    def test_is_plain_json(self, case: Case) -> None:
        plain = json.loads(json.dumps(case.calibration.to_dict(), allow_nan=False))
        assert plain["noise_rate"].keys() == {"estimate", "low", "high"}
        assert plain["has_evidence"] is True
        assert plain["threshold"] == 0.5


@pytest.fixture(scope="module")
def told(cases: list[Case]) -> list[tuple[Case, Calibration]]:
    """The noise rate known from elsewhere, with a standard error of 3 % of it, beside 200 probes."""
    rng = np.random.default_rng(0)
    found = []
    for case in (one for one in cases if one.rate > 0.1):
        estimate = case.rate * float(np.exp(rng.normal(0, 0.03)))
        interval = Interval(estimate, estimate * np.exp(-2.33 * 0.03), estimate * np.exp(2.33 * 0.03))
        weight = np.ones(len(case.probes))
        found.append((case, calibrate(case.scores, case.probes, weight, seed=0, told=interval)))
    return found


class TestTold:
    def test_estimates_come_nearer_the_truth(self, told: list[tuple[Case, Calibration]]) -> None:
        before = [abs(case.calibration.noise_rate.estimate - case.rate) for case, _ in told]
        after = [abs(calibration.noise_rate.estimate - case.rate) for case, calibration in told]
        assert np.mean(after) < 0.75 * np.mean(before)

    def test_intervals_become_narrower_and_still_hold_the_truth(self, told: list[tuple[Case, Calibration]]) -> None:
        rates = [calibration.noise_rate for _, calibration in told]
        widths = [rate.high - rate.low for rate in rates]
        assert np.mean(widths) < np.mean(
            [c.calibration.noise_rate.high - c.calibration.noise_rate.low for c, _ in told]
        )
        held = [rate.low <= case.rate <= rate.high for rate, (case, _) in zip(rates, told, strict=True)]
        assert np.mean(held) >= 0.9

    def test_a_sure_word_outweighs_the_probes(self, case: Case) -> None:
        weight = np.ones(len(case.probes))
        sure = calibrate(case.scores, case.probes, weight, seed=0, told=Interval(0.5, 0.4999, 0.5001))
        assert case.calibration.noise_rate.estimate < 0.43
        assert sure.noise_rate.estimate > 0.47


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

    def test_kept_share_is_that_of_the_cut(self, case: Case) -> None:
        for row in case.calibration.curve:
            kept = case.calibration.confidence(case.scores) >= (row["cut"] or 0.0)
            assert row["kept_share"] == pytest.approx(kept.mean(), abs=0.005)

    def test_threshold_is_a_field_of_its_own(self, case: Case) -> None:
        assert replace(case.calibration, threshold=0.8).to_dict()["threshold"] == 0.8


class TestProbability:
    def test_is_the_logistic_up_to_999_in_1000(self) -> None:
        values = np.linspace(-6.9, 6.9, 50)
        np.testing.assert_allclose(probability(values), 1 / (1 + np.exp(-values)))

    def test_sure_pairs_differ_as_float32(self) -> None:
        values = np.concatenate([-np.arange(7.0, 40.0)[::-1], np.arange(7.0, 40.0)])
        assert (np.diff(probability(values).astype(np.float32)) > 0).all()

    def test_stays_below_one(self) -> None:
        assert 0 < probability(np.array([-1e6]))[0] < 1e-6
        assert 1 - 1e-6 < probability(np.array([1e6]))[0] < 1
