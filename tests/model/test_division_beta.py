"""The beta mixture: posterior by hand, recovers what made the losses, monotone, deterministic, both empty cases."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.division_beta import BetaMixture, fit_beta_mixture


def two_groups(seed: int, clean: int = 6000, noisy: int = 4000) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.beta(2, 8, clean), rng.beta(8, 2, noisy)])


class TestFitBetaMixture:
    def test_recovers_the_parameters(self) -> None:
        # Ends of the scale, so that the losses are not stretched.
        losses = np.append(two_groups(0), [0.0, 1.0])
        mixture = fit_beta_mixture(losses)
        assert mixture.weights[0] == pytest.approx(0.6, abs=0.02)
        assert mixture.alphas == (pytest.approx(2, rel=0.1), pytest.approx(8, rel=0.1))
        assert mixture.betas == (pytest.approx(8, rel=0.1), pytest.approx(2, rel=0.1))
        assert mixture.means == (pytest.approx(0.2, abs=0.01), pytest.approx(0.8, abs=0.01))

    def test_scale_of_the_losses_does_not_matter(self) -> None:
        losses = two_groups(1)
        found = fit_beta_mixture(10 * losses - 3).confidence(10 * losses - 3)
        np.testing.assert_allclose(found, fit_beta_mixture(losses).confidence(losses), atol=1e-3)

    def test_same_losses_in_any_order_give_the_same_bits(self) -> None:
        losses = two_groups(2)
        assert fit_beta_mixture(losses) == fit_beta_mixture(losses[::-1].copy())

    def test_many_losses_of_zero_stay_a_component(self) -> None:
        rng = np.random.default_rng(3)
        losses = np.concatenate([np.zeros(5000), rng.uniform(0, 0.2, 1000), rng.normal(0.6, 0.1, 4000).clip(0.3, 1)])
        confidence = fit_beta_mixture(losses).confidence(losses)
        assert confidence[:5000].min() > 0.95
        assert confidence[6000:].mean() < 0.05

    @pytest.mark.parametrize("count", [1, 2, 64])
    def test_equal_losses_are_all_clean(self, count: int) -> None:
        losses = np.full(count, 0.7)
        assert fit_beta_mixture(losses).confidence(losses).tolist() == [1.0] * count

    def test_losses_all_at_the_noisy_mean_are_all_noisy(self) -> None:
        assert fit_beta_mixture(np.ones(64), noisy_mean=1.0).confidence(np.ones(64)).tolist() == [0.0] * 64

    def test_losses_far_below_the_noisy_mean_are_all_clean(self) -> None:
        losses = np.linspace(0, 1e-6, 64)
        assert fit_beta_mixture(losses, noisy_mean=1.0).confidence(losses).tolist() == [1.0] * 64

    def test_noisy_mean_is_the_end_of_the_scale(self) -> None:
        losses = two_groups(4) * 0.8
        mixture = fit_beta_mixture(losses, noisy_mean=1.0)
        assert mixture.start + mixture.span == pytest.approx(1.0)
        assert mixture.means[1] == pytest.approx(0.64, abs=0.03)

    def test_noisy_mean_below_a_loss_is_refused(self) -> None:
        with pytest.raises(ValueError, match="noisy_mean"):
            fit_beta_mixture([0.1, 0.9], noisy_mean=0.8)

    def test_two_different_losses_are_told_apart(self) -> None:
        low, high = fit_beta_mixture([0.0, 1.0]).confidence([0.0, 1.0])
        assert low > 0.99
        assert high < 0.01


class TestConfidence:
    def test_is_the_posterior_of_bayes(self) -> None:
        """Beta(1, 2) is 2(1 - x), Beta(2, 1) is 2x: with equal weights the clean posterior at x is 1 - x."""
        mixture = BetaMixture((0.5, 0.5), (1.0, 2.0), (2.0, 1.0), start=0.0, span=1.0)
        assert mixture.confidence([0.25, 0.5, 0.9]).tolist() == pytest.approx([0.75, 0.5, 0.1])

    def test_beyond_the_turning_point_its_value_holds(self) -> None:
        """Beta(3, 5) against Beta(1, 1): the density 105 x^2 (1-x)^4 peaks at 1/3, below which it would fall."""
        mixture = BetaMixture((0.5, 0.5), (3.0, 1.0), (5.0, 1.0), start=0.0, span=1.0)
        peak = 105 * (1 / 3) ** 2 * (2 / 3) ** 4
        assert mixture.confidence([0.01, 1 / 3]).tolist() == pytest.approx([peak / (1 + peak)] * 2)

    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=200), st.booleans())
    def test_lower_loss_never_has_lower_confidence(self, values: list[float], is_held: bool) -> None:
        losses = np.sort(np.asarray(values))
        confidence = fit_beta_mixture(losses, losses[-1] + 1.0 if is_held else None).confidence(losses)
        assert ((confidence >= 0) & (confidence <= 1)).all()
        assert (np.diff(confidence) <= 1e-12).all()
