"""One confidence from many kinds of evidence, where the model that made the evidence is known."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import check_grad

import model.fusion
from model.fitting import minimise
from model.fusion import FOLDS, RATES, Fusion, Leader, cross_fitted, fit, presumed, sampled, standardised
from model.metrics import auroc

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
# Half the distance of matches and mismatches in each kind of evidence: good, fair, worthless.
HALF = np.array([1.2, 0.7, 0.0])
# Lets the evidence speak for itself; by default many kinds are expected that are worth a little each.
WIDE = (0.0, 3.0)


def simulate(rate: float, seed: int = 0, count: int = 4000, probes: int = 400) -> tuple[Floats, Bools, Bools]:
    """Evidence, who is a probe (they come last) and who is a mismatch.

    Normal around +HALF and -HALF with spread 1: the log odds of a match are 2 HALF.x + log((1 - rate) / rate).
    """
    rng = np.random.default_rng(seed)
    is_probe = np.arange(count + probes) >= count
    is_mismatch = is_probe | (rng.random(count + probes) < rate)
    return (
        np.where(is_mismatch, -1, 1)[:, None] * HALF + rng.normal(size=(len(is_probe), len(HALF))),
        is_probe,
        is_mismatch,
    )


def nothing(rows: Bools) -> npt.NDArray[np.int8]:
    return np.zeros(len(rows), np.int8)


def fitted(evidence: Floats, is_probe: Bools, anchors: npt.NDArray[np.int8] | None = None, **options: Any) -> Fusion:
    return fit(evidence, is_probe, np.ones(len(evidence)), anchors, **options)


class TestFit:
    @pytest.mark.parametrize(("rate", "tolerance"), [(0.05, 0.015), (0.4, 0.04), (0.8, 0.05)])
    def test_noise_rate_is_found(self, rate: float, tolerance: float) -> None:
        found = [fitted(*simulate(rate, seed)[:2], prior=WIDE).noise_rate for seed in range(3)]
        assert np.mean(found) == pytest.approx(rate, abs=tolerance)

    def test_without_mismatches_the_rate_is_at_its_floor(self) -> None:
        assert fitted(*simulate(0.0)[:2]).noise_rate < 5 * RATES[0]

    @pytest.mark.parametrize("is_signed", [False, True])
    def test_weights_and_offset_are_those_of_the_model(self, is_signed: bool) -> None:
        found = fitted(*simulate(0.4, count=20_000, probes=4000)[:2], is_signed=is_signed)
        np.testing.assert_allclose(found.weights, 2 * HALF, atol=0.35)
        assert found.offset == pytest.approx(np.log(0.6 / 0.4), abs=0.3)

    def test_score_is_high_for_matches(self) -> None:
        evidence, is_probe, is_mismatch = simulate(0.4)
        score = fitted(evidence, is_probe).score(evidence)
        best = auroc((evidence @ HALF)[~is_probe], is_mismatch[~is_probe])
        assert auroc(score[~is_probe], is_mismatch[~is_probe]) > best - 0.002

    def test_evidence_that_speaks_against_itself_is_ignored(self) -> None:
        evidence, is_probe, _ = simulate(0.4)
        evidence[:, 1] *= -1
        assert fitted(evidence, is_probe).weights.min() >= 0
        assert fitted(evidence, is_probe, is_signed=True).weights[1] < -0.5

    def test_weight_stands_for_repetition(self) -> None:
        evidence, is_probe, _ = simulate(0.3, count=1000)
        weight = np.where(np.arange(len(evidence)) % 2, 2.0, 1.0)
        rows = np.repeat(np.arange(len(evidence)), weight.astype(int))
        counted, repeated = fit(evidence, is_probe, weight), fitted(evidence[rows], is_probe[rows])
        np.testing.assert_allclose(counted.weights, repeated.weights, atol=1e-3)
        assert counted.noise_rate == pytest.approx(repeated.noise_rate, abs=1e-3)

    def test_constant_evidence_gives_finite_numbers(self) -> None:
        _, is_probe, _ = simulate(0.3)
        found = fitted(np.zeros((len(is_probe), 2)), is_probe)
        assert np.isfinite([*found.weights, found.offset, found.noise_rate, found.likelihood]).all()

    def test_gradient_equals_finite_differences(self, monkeypatch: pytest.MonkeyPatch) -> None:
        errors: list[float] = []

        def checked(cost: Any, start: Floats, bounds: Any) -> Any:
            rng = np.random.default_rng(1)
            for values in (start, start + rng.normal(size=len(start)), start + rng.normal(size=len(start))):
                errors.append(check_grad(lambda at: cost(at)[0], lambda at: cost(at)[1], values))
            return minimise(cost, start, bounds)

        monkeypatch.setattr(model.fusion, "minimise", checked)
        evidence, is_probe, _ = simulate(0.4, count=300, probes=60)
        anchors = np.where(is_probe, 0, np.arange(len(is_probe)) % 3 - 1).astype(np.int8)
        fit(evidence, is_probe, np.linspace(0.5, 1.5, len(evidence)), anchors)
        assert len(errors) == 3
        assert max(errors) < 1e-4


class TestPresumed:
    def test_better_evidence_counts_for_more(self) -> None:
        evidence, is_probe, _ = simulate(0.4)
        weights = presumed(standardised(evidence.T, is_probe), is_probe, np.ones(len(evidence))).weights
        assert weights[0] > weights[1] > weights[2]

    @pytest.mark.parametrize("leader", [0, 1, 2])
    def test_the_leader_counts_for_more_than_all_other_whatever_the_probes_say(self, leader: int) -> None:
        evidence, is_probe, _ = simulate(0.4)
        evidence[:, 2] = np.random.default_rng(0).normal(size=len(evidence))  # chance
        table = standardised(evidence.T, is_probe)
        weights = presumed(table, is_probe, np.ones(len(evidence)), Leader(leader)).weights
        assert weights[leader] > weights.sum() - weights[leader]


class TestAnchors:
    def near_the_cut(self, evidence: Floats, is_probe: Bools, count: int) -> npt.NDArray[np.int64]:
        """Those that a reviewer would be shown first."""
        doubt = np.where(is_probe, np.inf, np.abs(fitted(evidence, is_probe).score(evidence)))
        return np.argsort(doubt)[:count]

    @pytest.mark.parametrize("said", [1, -1])
    def test_what_people_say_moves_the_score_their_way(self, said: int) -> None:
        evidence, is_probe, _ = simulate(0.4)
        rows, anchors = self.near_the_cut(evidence, is_probe, 100), nothing(is_probe)
        anchors[rows] = said
        before, after = fitted(evidence, is_probe), fitted(evidence, is_probe, anchors)
        assert said * (after.score(evidence[rows]) - before.score(evidence[rows])).mean() > 0.1

    def test_right_answers_improve_a_poor_fit(self) -> None:
        """Ten probes know little; three hundred answers know more."""
        errors = []
        for seed in range(10):
            evidence, is_probe, is_mismatch = simulate(0.4, seed, count=2000, probes=10)
            anchors = nothing(is_probe)
            rows = np.arange(300)
            anchors[rows] = np.where(is_mismatch[rows], -1, 1)
            true = evidence @ (2 * HALF) + np.log(0.6 / 0.4)
            both = fitted(evidence, is_probe), fitted(evidence, is_probe, anchors)
            errors.append([np.abs(found.score(evidence) - true).mean() for found in both])
        before, after = np.mean(errors, axis=0)
        assert after < 0.8 * before

    @pytest.mark.parametrize("rate", [0.1, 0.4])
    def test_answers_near_the_cut_do_not_mislead(self, rate: float) -> None:
        """All reviewed pairs are doubtful ones, which says nothing of the rest."""
        errors = []
        for seed in range(4):
            evidence, is_probe, is_mismatch = simulate(rate, seed)
            rows, anchors = self.near_the_cut(evidence, is_probe, 400), nothing(is_probe)
            anchors[rows] = np.where(is_mismatch[rows], -1, 1)
            errors.append(fitted(evidence, is_probe, anchors, prior=WIDE).noise_rate - rate)
        assert abs(np.mean(errors)) < 0.02


class TestCrossFitted:
    def scores(self, weight: Floats, anchors: npt.NDArray[np.int8]) -> Floats:
        evidence, is_probe, _ = simulate(0.4, count=600, probes=100)
        return cross_fitted(evidence, is_probe, weight, anchors, 0, is_signed=False)[0]

    @pytest.mark.parametrize("row", [0, 650])
    def test_a_pairs_score_does_not_depend_on_that_pair(self, row: int) -> None:
        weight, anchors = np.ones(700), np.zeros(700, np.int8)
        before = self.scores(weight, anchors)
        weight[row] = 30.0
        after = self.scores(weight, anchors)
        assert after[row] == before[row]
        assert (np.delete(after, row) != np.delete(before, row)).mean() > 0.5

    def test_nor_on_what_people_said_of_it(self) -> None:
        weight, anchors = np.ones(700), np.zeros(700, np.int8)
        before = self.scores(weight, anchors)
        anchors[5] = -1
        after = self.scores(weight, anchors)
        assert after[5] == before[5]
        assert not np.array_equal(after, before)

    def test_fits_of_all_folds_are_given(self) -> None:
        evidence, is_probe, _ = simulate(0.4, count=600, probes=100)
        _, fits = cross_fitted(evidence, is_probe, np.ones(700), nothing(is_probe), 0, is_signed=False)
        assert len(fits) == FOLDS
        assert len({one.offset for one in fits}) == FOLDS

    def test_same_seed_gives_the_same(self) -> None:
        weight, anchors = np.ones(700), np.zeros(700, np.int8)
        np.testing.assert_array_equal(self.scores(weight, anchors), self.scores(weight, anchors))

    @pytest.mark.parametrize("rate", [0.05, 0.4, 0.8])
    def test_not_worse_than_the_best_single_evidence(self, rate: float) -> None:
        """One good kind of evidence among seven fair ones with doubts of their own, and few probes."""
        for seed in range(3):
            evidence, is_probe, is_mismatch = simulate(rate, seed, count=3000, probes=200)
            best = evidence[:, 0]
            fair = np.where(is_mismatch, -0.4, 0.4)[:, None] + np.random.default_rng(seed).normal(size=(len(best), 7))
            table = standardised([best, *fair.T], is_probe)
            score, _ = cross_fitted(table, is_probe, np.ones(len(table)), nothing(is_probe), 0, is_signed=False)
            alone, fused = (auroc(x[~is_probe], is_mismatch[~is_probe]) for x in (best, score))
            assert fused > alone - 0.002

    @pytest.mark.parametrize(("rate", "count", "probes"), [(0.05, 3000, 200), (0.4, 3000, 200), (0.8, 12_000, 800)])
    @pytest.mark.parametrize("others", ["copies", "chance"])
    def test_copies_and_chance_do_not_outvote_the_best(self, others: str, rate: float, count: int, probes: int) -> None:
        """One good kind of evidence beside twelve: copies of a fair opinion, or nothing but chance."""
        for seed in range(2):
            evidence, is_probe, is_mismatch = simulate(rate, seed, count, probes)
            rng = np.random.default_rng(seed + 100)
            fair = np.where(is_mismatch, -0.5, 0.5) + rng.normal(size=len(evidence))
            noise = rng.normal(size=(len(evidence), 12))
            rest = fair[:, None] + 0.2 * noise if others == "copies" else noise
            table = standardised([evidence[:, 0], *rest.T], is_probe)
            score, _ = cross_fitted(table, is_probe, np.ones(len(table)), nothing(is_probe), 0, is_signed=False)
            alone, fused = (auroc(x[~is_probe], is_mismatch[~is_probe]) for x in (evidence[:, 0], score))
            assert fused > alone - 0.002

    @pytest.mark.parametrize("rate", [0.05, 0.4, 0.8])
    @pytest.mark.parametrize("leads", ["best", "fair", "chance"])
    def test_nor_does_a_leader_that_is_not_the_best(self, leads: str, rate: float) -> None:
        """It counts for more than all other evidence before the fit, but only if the probes do not say otherwise."""
        for seed in range(2):
            evidence, is_probe, is_mismatch = simulate(rate, seed, count=12_000, probes=600)
            rng = np.random.default_rng(seed + 100)
            fair = np.where(is_mismatch, -0.5, 0.5) + rng.normal(size=(3, len(evidence)))
            table = standardised([evidence[:, 0], *fair, rng.normal(size=len(evidence))], is_probe)
            leader = Leader({"best": 0, "fair": 1, "chance": 4}[leads])
            weight = np.ones(len(table))
            score, _ = cross_fitted(table, is_probe, weight, nothing(is_probe), 0, is_signed=False, leader=leader)
            alone, fused = (auroc(x[~is_probe], is_mismatch[~is_probe]) for x in (evidence[:, 0], score))
            assert fused > alone - 0.002


class TestSampled:
    def test_few_are_all_taken(self) -> None:
        is_probe = np.arange(20) >= 15
        rows = np.arange(0, 20, 2)
        np.testing.assert_array_equal(sampled(rows, is_probe, np.random.default_rng(0), 8), rows)

    def test_of_many_all_probes_and_some_others(self) -> None:
        is_probe = np.arange(200) >= 150
        rows = sampled(np.arange(1, 200), is_probe, np.random.default_rng(0), 40)
        assert is_probe[rows].sum() == 50
        assert (~is_probe[rows]).sum() == 40
        assert len(np.unique(rows)) == 90
        assert rows.min() >= 1


class TestStandardised:
    def test_pairs_have_mean_zero_and_spread_one(self) -> None:
        evidence, is_probe, _ = simulate(0.2)
        table = standardised(3 + 5 * evidence.T, is_probe)
        np.testing.assert_allclose(table[~is_probe].mean(axis=0), 0, atol=1e-6)
        np.testing.assert_allclose(table[~is_probe].std(axis=0), 1, atol=1e-5)
        assert table[is_probe, 0].mean() < -0.5

    def test_constant_column_is_zero(self) -> None:
        assert not standardised(np.full((1, 10), 0.1), np.arange(10) >= 8).any()
