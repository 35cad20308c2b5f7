"""Which kinds of mismatch there are, in simulated collections that have one or both."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import check_grad

import model.kinds
from model.fitting import minimise
from model.fusion import standardised
from model.kinds import Kinds, kinds_of
from model.probes import NEAR, RANDOM

# Where matches, random mismatches and near misses lie: only the second kind of evidence sees a near miss.
MATCH, CENTRES = (1.5, 1.5), {RANDOM: (-1.5, -1.5), NEAR: (1.0, -1.5)}


def simulate(
    random: float, near: float, seed: int = 0, count: int = 4000, probes: int = 300
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int8]]:
    """Standardised evidence and kinds: -1 for pairs, of which these shares are mismatches."""
    rng = np.random.default_rng(seed)
    kinds = np.concatenate([np.full(count, -1), np.arange(probes) % 2]).astype(np.int8)
    true = np.where(
        kinds < 0, rng.choice([RANDOM, NEAR, 2], size=len(kinds), p=[random, near, 1 - random - near]), kinds
    )
    centres = np.array([CENTRES[RANDOM], CENTRES[NEAR], MATCH])
    return standardised((centres[true] + rng.normal(size=(len(kinds), 2))).T, kinds >= 0), kinds


class TestKinds:
    @pytest.mark.parametrize("random", [0.0, 0.05, 0.4, 0.8])
    def test_random_mismatches_alone_silence_near_ones(self, random: float) -> None:
        found = kinds_of(*simulate(random, 0.0), seed=0)
        assert not found.has_near
        assert found.random == pytest.approx(random, abs=0.05)

    @pytest.mark.parametrize(("random", "near"), [(0.2, 0.2), (0.3, 0.1), (0.02, 0.4)])
    def test_near_misses_are_found_where_there_are_some(self, random: float, near: float) -> None:
        found = kinds_of(*simulate(random, near), seed=0)
        assert found.has_near
        assert found.near / (found.random + found.near) == pytest.approx(near / (random + near), abs=0.15)

    @pytest.mark.parametrize(
        ("known", "gain", "counts"), [(200, 4, False), (200, 6, True), (8000, 6, False), (8000, 13, True)]
    )
    def test_the_more_are_known_the_more_they_must_gain(
        self, monkeypatch: pytest.MonkeyPatch, known: int, gain: float, counts: bool
    ) -> None:
        """Half of them are near: 5 at least, and .003 for each. Scores that are not quite log odds gain too."""

        def fitted(evidence: npt.NDArray[np.float64], kinds: npt.NDArray[np.int8], most_near: float) -> Any:
            return np.array([0.3, min(0.1, most_near)]), gain if most_near > 0.1 else 0.0

        monkeypatch.setattr(model.kinds, "_fit", fitted)
        assert kinds_of(*simulate(0.3, 0.0, probes=known), seed=0).has_near is counts

    def test_without_near_ones_only_random_ones_count(self) -> None:
        evidence, kinds = simulate(0.2, 0.2)
        rows = kinds != NEAR
        assert kinds_of(evidence[rows], kinds[rows], seed=0) == Kinds(1.0, 0.0)

    def test_without_random_ones_only_near_ones_count(self) -> None:
        evidence, kinds = simulate(0.2, 0.2)
        rows = kinds != RANDOM
        assert kinds_of(evidence[rows], kinds[rows], seed=0) == Kinds(0.0, 1.0)

    def test_same_seed_gives_the_same(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(model.kinds, "_MOST_FITTED", 1000)
        evidence, kinds = simulate(0.2, 0.2)
        assert kinds_of(evidence, kinds, seed=3) == kinds_of(evidence, kinds, seed=3)

    def test_gradient_equals_finite_differences(self, monkeypatch: pytest.MonkeyPatch) -> None:
        errors: list[float] = []

        def checked(cost: Any, start: npt.NDArray[np.float64], bounds: Any) -> Any:
            values = start + 0.5 * np.random.default_rng(1).normal(size=len(start))
            errors.append(check_grad(lambda at: cost(at)[0], lambda at: cost(at)[1], values))
            return minimise(cost, start, bounds)

        monkeypatch.setattr(model.kinds, "minimise", checked)
        kinds_of(*simulate(0.2, 0.2, count=400, probes=60), seed=0)
        assert errors
        assert max(errors) < 1e-4


class TestWeights:
    """(0, 0, 0, 1) are three random ones and a near one; together they count as many as they are."""

    @pytest.mark.parametrize(
        ("found", "kinds", "weights"),
        [
            (Kinds(0.3, 0.1), (0, 0, 0, 1), (1.0, 1.0)),
            (Kinds(0.1, 0.1), (0, 0, 0, 1), (2 / 3, 2.0)),
            (Kinds(0.4, 0.0), (0, 0, 0, 1), (1.0, 0.0)),
            (Kinds(0.0, 1.0), (0, 0, 0, 1), (0.0, 1.0)),
            (Kinds(0.1, 0.3), (0, 0), (1.0, 0.0)),
            (Kinds(0.0, 1.0), (0, 0), (1.0, 0.0)),
            (Kinds(0.1, 0.3), (), (0.0, 0.0)),
        ],
    )
    def test_by_hand(self, found: Kinds, kinds: tuple[int, ...], weights: tuple[float, float]) -> None:
        assert found.weights(np.array(kinds, np.int8)) == pytest.approx(weights)


class TestSample:
    def test_mismatches_drawn_with_the_same_seed_are_not_preferred(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """numpy draws the same rows for the same seed: the noise of a benchmark would fill the sample."""
        seed, count, probes = 0, 30_000, 600
        is_mismatch = np.zeros(count + probes, bool)
        is_mismatch[np.random.default_rng(seed).choice(count, 12_000, replace=False)] = True
        kinds = np.concatenate([np.full(count, -1), np.arange(probes) % 2]).astype(np.int8)
        seen: list[float] = []

        def look(evidence: npt.NDArray[np.float64], some: npt.NDArray[np.int8], most_near: float) -> Any:
            seen.append(float(evidence[some < 0].mean()))
            return np.array([0.4, 0.001]), 0.0

        monkeypatch.setattr(model.kinds, "_fit", look)
        kinds_of(is_mismatch[:, None].astype(float), kinds, seed)
        assert seen == [pytest.approx(0.4, abs=0.02)] * 2
