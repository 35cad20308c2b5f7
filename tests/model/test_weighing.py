"""How sure a noise rate is that only the fitted evidence tells, and when strangers tell it."""

import numpy as np
import pytest

from model.calibration import NOTHING, Beforehand, Calibration
from model.expectations import Interval
from model.kinds import Kinds
from model.weighing import by_itself, needs_strangers
from tests.model.simulated import Case, calibrated, simulate


def unlike(seed: int) -> Case:
    """Of 8,000 pairs 40 % are mismatched, a little nearer to matches than known mismatches are, or less near."""
    case = simulate(0.4, seed, count=8000)
    away = np.random.default_rng(1000 + seed).normal(0, 0.12)
    scores = np.where(case.is_mismatch, case.scores + away, case.scores)
    return Case(scores, case.probes, case.is_mismatch, calibrated(scores, case.probes))


def doubted(case: Case) -> Calibration:
    known = by_itself(case.scores, case.probes, np.ones(len(case.probes)), seed=0)
    return calibrated(case.scores, case.probes, known=known)


def is_held(case: Case, calibration: Calibration) -> bool:
    return calibration.noise_rate.low <= case.rate <= calibration.noise_rate.high


class TestByItself:
    def test_interval_holds_what_draws_alone_miss(self) -> None:
        cases = [unlike(seed) for seed in range(24)]
        alone = np.mean([is_held(case, case.calibration) for case in cases])
        assert alone < 0.8
        assert np.mean([is_held(case, doubted(case)) for case in cases]) >= max(0.9, alone + 0.1)

    def test_estimate_and_confidence_stay(self) -> None:
        case = unlike(0)
        changed = doubted(case)
        assert changed.noise_rate.estimate == pytest.approx(case.calibration.noise_rate.estimate, abs=1e-3)
        assert changed.confidence(case.scores) == pytest.approx(case.calibration.confidence(case.scores), abs=5e-3)

    def test_no_evidence_tells_nothing(self) -> None:
        case = simulate(0.0, seed=1)
        assert by_itself(case.scores, case.probes, np.ones(len(case.probes)), seed=0) == NOTHING

    def test_no_pairs_tell_nothing(self) -> None:
        assert by_itself(np.empty(0), np.zeros(200), np.ones(200), seed=0) == NOTHING


class TestNeedsStrangers:
    RANDOM = Kinds(1.0, 0.0)

    @pytest.mark.parametrize(
        ("count", "rate", "expected"),
        [
            (6000, 0.9, True),
            (6000, 0.8, True),
            (6000, 0.6, False),  # mismatches do not prevail by far
            (3000, 0.9, False),  # 300 matches are too few to learn from
            (30_000, 0.9, False),  # nobody remembers one of so many
            (30_000, 0.95, True),
        ],
    )
    def test_few_but_enough_matches_among_many_mismatches(self, count: int, rate: float, expected: bool) -> None:
        told = Beforehand(Interval(rate, rate, rate))
        assert needs_strangers(told, self.RANDOM, count) is expected

    def test_near_misses_are_told_by_other_means(self) -> None:
        told = Beforehand(Interval(0.8, 0.8, 0.8))
        assert not needs_strangers(told, Kinds(0.4, 0.4), 6000)

    def test_a_rate_that_nobody_tells_needs_none(self) -> None:
        assert not needs_strangers(NOTHING, self.RANDOM, 1000)
