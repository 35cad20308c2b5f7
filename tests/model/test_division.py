"""The histogram mixture: against scikit-learn's, monotone, deterministic, and sound on degenerate input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.mixture import GaussianMixture

from model.division import Mixture, fit, fit_mixture
from model.division_beta import BetaMixture


def two_groups(seed: int, clean: int = 3000, noisy: int = 2000, gap: float = 2.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(0.5, 0.2, clean), rng.normal(0.5 + gap, 0.35, noisy)])


class TestFitMixture:
    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_agrees_with_scikit_learn_on_separated_losses(self, seed: int) -> None:
        losses = two_groups(seed)
        oracle = GaussianMixture(2, random_state=0, tol=1e-8, max_iter=500).fit(losses[:, None])
        clean = int(np.argmin(oracle.means_))
        # The oracle itself is not monotone: left of the clean mean its posterior turns round.
        expected = oracle.predict_proba(losses[:, None])[:, clean]
        inside = losses > oracle.means_.min() - 2 * 0.2
        found = fit_mixture(losses).confidence(losses)
        assert np.abs(found - expected)[inside].max() < 1e-2

    def test_recovers_the_parameters(self) -> None:
        mixture = fit_mixture(two_groups(3, clean=6000, noisy=4000))
        assert mixture.weights[0] == pytest.approx(0.6, abs=0.01)
        assert mixture.means == (pytest.approx(0.5, abs=0.02), pytest.approx(2.5, abs=0.03))
        assert np.sqrt(mixture.variances[1]) == pytest.approx(0.35, abs=0.02)

    def test_same_input_gives_the_same_bits(self) -> None:
        losses = two_groups(4)
        assert fit_mixture(losses) == fit_mixture(losses.copy())

    def test_order_of_the_losses_does_not_matter(self) -> None:
        losses = two_groups(5)
        assert fit_mixture(losses) == fit_mixture(losses[::-1])

    @pytest.mark.parametrize("count", [1, 2, 64])
    def test_equal_losses_are_all_clean(self, count: int) -> None:
        losses = np.full(count, 0.7)
        assert fit_mixture(losses).confidence(losses).tolist() == [1.0] * count

    def test_two_different_losses_are_told_apart(self) -> None:
        confidence = fit_mixture([0.0, 1.0]).confidence([0.0, 1.0])
        assert confidence[0] > 0.99
        assert confidence[1] < 0.01

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_not_finite_is_refused(self, bad: float) -> None:
        with pytest.raises(ValueError, match="finite"):
            fit_mixture([0.1, bad, 0.3])

    def test_held_noisy_component_leaves_a_long_clean_tail_clean(self) -> None:
        """5 % mismatches at 1; the clean losses have a tail up to there, which a free component takes for noise."""
        rng = np.random.default_rng(7)
        losses = np.concatenate([rng.beta(1.2, 2.0, 1900), np.full(100, 0.995)])
        free, held = fit_mixture(losses), fit_mixture(losses, noisy_mean=1.0)
        assert held.means[1] == pytest.approx(1.0)
        assert (held.confidence(losses) <= 0.5).mean() < 0.2 < (free.confidence(losses) <= 0.5).mean()
        assert (held.confidence(losses)[1900:] < 0.5).all()

    def test_noisy_mean_below_a_loss_is_refused(self) -> None:
        with pytest.raises(ValueError, match="noisy_mean"):
            fit_mixture([0.1, 0.9], noisy_mean=0.8)

    def test_empty_is_refused(self) -> None:
        with pytest.raises(ValueError, match="non-empty"):
            fit_mixture([])

    def test_losses_all_at_the_noisy_mean_are_all_noisy(self) -> None:
        losses = np.ones(64)
        assert fit_mixture(losses, noisy_mean=1.0).confidence(losses).tolist() == [0.0] * 64

    def test_equal_losses_below_the_noisy_mean_are_all_clean(self) -> None:
        losses = np.full(64, 0.2)
        assert fit_mixture(losses, noisy_mean=1.0).confidence(losses).tolist() == [1.0] * 64

    def test_agrees_with_the_papers_settings_on_which_pairs_are_clean(self) -> None:
        """NCR's own GaussianMixture settings; their reg_covar widens both components by what we bound them with."""
        losses = two_groups(8)
        scaled = (losses - losses.min()) / np.ptp(losses)
        oracle = GaussianMixture(2, max_iter=10, tol=1e-2, reg_covar=5e-4, random_state=0).fit(scaled[:, None])
        expected = oracle.predict_proba(scaled[:, None])[:, int(np.argmin(oracle.means_))]
        agrees = (fit_mixture(losses).confidence(losses) > 0.5) == (expected > 0.5)
        assert agrees.mean() > 0.999


class TestFit:
    def test_kind_chooses_the_mixture(self) -> None:
        losses = two_groups(9)
        assert fit(losses) == fit_mixture(losses)
        assert isinstance(fit(losses, "gaussian", noisy_mean=10.0), Mixture)
        assert isinstance(fit(losses, "beta"), BetaMixture)

    def test_unknown_kind_is_refused(self) -> None:
        with pytest.raises(ValueError, match="gaussian, beta"):
            fit([0.0, 1.0], "gamma")


class TestConfidence:
    def test_is_the_posterior_of_bayes(self) -> None:
        """Weights 1/4, 3/4, means 0, 2, unit variances, at 1: the densities are equal, so 1/4. At 0 the odds are
        (1/4 : 3/4) * e^2, so e^2 / (e^2 + 3)."""
        mixture = Mixture((0.25, 0.75), (0.0, 2.0), (1.0, 1.0))
        assert mixture.confidence([1.0, 0.0]).tolist() == pytest.approx([0.25, np.e**2 / (np.e**2 + 3)])

    def test_does_not_depend_on_what_else_is_asked(self) -> None:
        # More than one block, with a short last one.
        losses = np.random.default_rng(0).normal(size=70_001)
        mixture = fit_mixture(losses)
        every = mixture.confidence(losses)
        assert every[[0, 32_768, 70_000]].tolist() == mixture.confidence(losses[[0, 32_768, 70_000]]).tolist()

    @settings(max_examples=60, deadline=None)
    @given(
        st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=200),
        st.floats(0.01, 100.0),
    )
    def test_lower_loss_never_has_lower_confidence(self, values: list[float], scale: float) -> None:
        losses = np.sort(np.asarray(values) * scale)
        confidence = fit_mixture(losses).confidence(losses)
        assert ((confidence >= 0) & (confidence <= 1)).all()
        assert (np.diff(confidence) <= 1e-12).all()

    def test_far_below_the_clean_mean_stays_clean(self) -> None:
        # The noisy component is the wider one, so an unguarded posterior would call this pair noisy.
        mixture = fit_mixture(two_groups(6))
        assert mixture.confidence([-5.0])[0] >= mixture.confidence([0.5])[0]
