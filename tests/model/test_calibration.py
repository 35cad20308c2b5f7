"""P(match), noise rate and expectations of cuts, held against simulated collections whose truth is known."""

import json
from dataclasses import replace

import numpy as np
import pytest

import model.expectations
from model.calibration import Beforehand, Calibration, probability
from model.expectations import Interval
from model.metrics import expected_calibration_error
from tests.model.simulated import SHARES, Case, calibrated, row_at, simulate

COLLECTIONS, MOST_NOISE = 100, 0.9


@pytest.fixture(scope="module")
def case() -> Case:
    return simulate(0.4, seed=1, count=10_000)


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    """One hundred collections, their noise rates spread from 0 to .9."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model.expectations, "_ROWS", 21)
        return [simulate(MOST_NOISE * at / (COLLECTIONS - 1), at, count=3000) for at in range(COLLECTIONS)]


class TestIntervals:
    def test_noise_rate_is_covered(self, cases: list[Case]) -> None:
        found = [(case.calibration.noise_rate, case.rate) for case in cases]
        assert sum(interval.low <= rate <= interval.high for interval, rate in found) >= 90

    @pytest.mark.parametrize(("apart", "least"), [(2.0, 17), (1.5, 15)])
    def test_noise_rate_is_covered_where_scores_tell_little(self, apart: float, least: int) -> None:
        """One in six is past the middle at 2, two in nine at 1.5: nothing says how sure the lowest probes are."""
        cases = [simulate(at / 25, at, count=1500, apart=apart) for at in range(20)]
        found = [(case.calibration.noise_rate, case.rate) for case in cases]
        assert sum(interval.low <= rate <= interval.high for interval, rate in found) >= least

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
        assert (case.calibration.noise_rate.low, case.calibration.curve[0]["precision_high"]) == (0, 1)
        assert (case.calibration.confidence(case.scores) < case.calibration.threshold).mean() < 0.02

    def test_nor_are_they_where_scores_tell_little(self) -> None:
        found = [simulate(0.0, seed, count=1500, apart=2.0).calibration.has_evidence for seed in range(8)]
        assert sum(found) <= 1

    def test_five_percent_are_evidence(self) -> None:
        assert simulate(0.05, seed=3).calibration.has_evidence

    def test_same_seed_gives_the_same(self, case: Case) -> None:
        scores, probes = case.scores[:1000], case.probes[:200]
        assert calibrated(scores, probes, seed=5) == calibrated(scores, probes, seed=5)

    def test_probes_that_count_nothing_change_nothing(self) -> None:
        """Near misses with a weight of 0 lie among the matches."""
        case = simulate(0.3, seed=4)
        near = np.random.default_rng(0).normal(3.0, 1.0, size=len(case.probes))
        weight = np.repeat([1.0, 0.0], len(near))
        found = calibrated(case.scores, np.concatenate([case.probes, near]), weight)
        assert found.noise_rate.estimate == pytest.approx(case.calibration.noise_rate.estimate, abs=0.01)

    def test_scale_and_origin_of_scores_do_not_matter(self) -> None:
        case = simulate(0.3, seed=5)
        moved = calibrated(7 + 3 * case.scores, 7 + 3 * case.probes)
        assert moved.noise_rate.estimate == pytest.approx(case.calibration.noise_rate.estimate, abs=0.005)
        np.testing.assert_allclose(
            moved.confidence(7 + 3 * case.scores), case.calibration.confidence(case.scores), atol=0.03
        )

    def test_equal_scores_give_finite_numbers(self) -> None:
        found = calibrated(np.ones(100), np.ones(50))
        assert np.isfinite([found.slope, found.offset, found.noise_rate.low, found.noise_rate.high]).all()

    def test_few_pairs_give_finite_numbers(self) -> None:
        rng = np.random.default_rng(0)
        found = calibrated(rng.normal(3, 1, size=64), rng.normal(size=200))
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
    for case in cases[12::3]:  # from .1 on
        estimate = case.rate * float(np.exp(rng.normal(0, 0.03)))
        interval = Interval(estimate, estimate * np.exp(-2.33 * 0.03), estimate * np.exp(2.33 * 0.03))
        found.append((case, calibrated(case.scores, case.probes, known=Beforehand(interval))))
    return found


class TestTold:
    def test_pairs_without_a_doubt_are_no_error(self) -> None:
        """Far from all probes nothing is left of P(mismatch), whatever was told."""
        rng = np.random.default_rng(0)
        scores, probes = 40 + 1e-3 * rng.normal(size=300), rng.normal(size=200)
        known = Beforehand(Interval(0.2, 0.19, 0.21))
        found = calibrated(scores, probes, known=known)
        assert np.isfinite(found.confidence(scores)).all()

    def test_what_may_be_off_by_more_than_it_says_widens_the_interval_only(self, cases: list[Case]) -> None:
        """Told rates that are off by 15 %, and believed to 3 %: the fit follows them, the interval knows better."""
        rng, held = np.random.default_rng(0), []
        for case in cases[20::4]:
            rate = case.rate * float(np.exp(rng.normal(0, 0.15)))
            told = Interval(rate, 0.93 * rate, 1.07 * rate)
            sure, doubted = (
                calibrated(case.scores, case.probes, known=Beforehand(told, doubt)) for doubt in (0.0, 0.15)
            )
            assert doubted.noise_rate.estimate == sure.noise_rate.estimate
            held.append([one.noise_rate.low <= case.rate <= one.noise_rate.high for one in (sure, doubted)])
        sure_share, doubted_share = np.mean(held, axis=0)
        assert sure_share < 0.75
        assert doubted_share >= 0.9

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

    def test_a_word_that_may_mean_nothing_is_no_evidence(self) -> None:
        case = simulate(0.0, seed=3, count=1500, apart=2.0)
        known = Beforehand(Interval(0.1, 0.09, 0.11))
        sure, doubted = (
            calibrated(case.scores, case.probes, known=word) for word in (known, replace(known, may_be_none=True))
        )
        assert sure.has_evidence
        assert not doubted.has_evidence
        assert doubted.is_likely
        assert doubted.noise_rate.estimate == sure.noise_rate.estimate
        assert doubted.noise_rate.high == pytest.approx(sure.noise_rate.high, abs=0.02)

    def test_few_matches_are_not_given_up(self) -> None:
        """A word of .9 that may be .97 is nearer to .95 than to .99, where no match would be left."""
        known = Beforehand(Interval(0.9, 0.72, 0.97), doubt=0.07)
        cases = [simulate(0.9, seed, count=500, apart=1.0) for seed in range(12)]
        rates = [calibrated(case.scores, case.probes, known=known).noise_rate for case in cases]
        assert max(case.calibration.noise_rate.estimate for case in cases) > 0.98
        assert max(rate.estimate for rate in rates) < 0.97
        assert np.mean([rate.low <= case.rate <= rate.high for rate, case in zip(rates, cases, strict=True)]) >= 0.8

    def test_a_sure_word_outweighs_the_probes(self, case: Case) -> None:
        sure = calibrated(case.scores, case.probes, known=Beforehand(Interval(0.5, 0.4999, 0.5001)))
        assert case.calibration.noise_rate.estimate < 0.43
        assert sure.noise_rate.estimate > 0.47


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
