"""Every equation against numbers worked by hand, and its gradient against finite differences."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from model.losses import (
    active,
    complementary,
    matching_log_probabilities,
    matching_probability,
    predict,
    soft_margin,
    triplet,
)
from tests.model.cases import alone, repeated

LOG2 = math.log(2.0)

# Rows are images. Chosen so that no hinge sits exactly at its corner with the margins used below.
THREE = torch.tensor([[0.9, 0.3, 0.8], [0.1, 0.5, 0.2], [0.4, 0.6, 0.7]], dtype=torch.float64)
MARGIN = torch.tensor([0.2, 0.3, 0.2], dtype=torch.float64)


class TestTriplet:
    """Image queries m_i + S_ij - S_ii: row 0: -.4, .1; row 1: -.1, .0; row 2: -.1, .1.
    Caption queries m_j + S_ij - S_jj: column 0: -.6, -.3; column 1: .1, .4; column 2: .3, -.3.
    """

    def test_sum_adds_both_directions(self) -> None:
        assert triplet(THREE, alone(3), MARGIN, "sum").tolist() == pytest.approx([0.1, 0.5, 0.4])

    def test_mean_divides_by_the_negatives(self) -> None:
        assert triplet(THREE, alone(3), MARGIN, "mean").tolist() == pytest.approx([0.05, 0.25, 0.2])

    def test_hardest_takes_the_largest_of_each_direction(self) -> None:
        assert triplet(THREE, alone(3), MARGIN, "hardest").tolist() == pytest.approx([0.1, 0.4, 0.4])

    def test_shared_content_is_no_negative(self) -> None:
        # Without (0, 1) and (1, 0): column 1 loses its .1.
        assert triplet(THREE, repeated(), MARGIN, "sum").tolist() == pytest.approx([0.1, 0.4, 0.4])
        assert triplet(THREE, repeated(), MARGIN, "mean").tolist() == pytest.approx([0.1, 0.4, 0.2])

    def test_margin_belongs_to_the_query(self) -> None:
        # Only pair 1 has a margin: its own row and column keep -.1, 0, .1, .4; pairs 0 and 2 keep 0 - ... + .1.
        margin = torch.tensor([0.0, 0.3, 0.0], dtype=torch.float64)
        assert triplet(THREE, alone(3), margin, "sum").tolist() == pytest.approx([0.0, 0.5, 0.1])

    @pytest.mark.parametrize("negatives", ["sum", "mean", "hardest"])
    def test_batch_of_one_is_zero(self, negatives: str) -> None:
        one = torch.tensor([[0.3]])
        assert triplet(one, alone(1), torch.tensor([0.2]), negatives).tolist() == [0.0]  # type: ignore[arg-type]


class TestSoftMargin:
    @pytest.mark.parametrize(
        ("kind", "at_half"), [("linear", 0.1), ("exponential", (math.sqrt(10) - 1) / 9 * 0.2), ("sin", 0.1)]
    )
    def test_runs_from_zero_to_the_margin(self, kind: str, at_half: float) -> None:
        margins = soft_margin(torch.tensor([0.0, 0.5, 1.0], dtype=torch.float64), 0.2, kind)
        assert margins.tolist() == pytest.approx([0.0, at_half, 0.2])

    def test_unknown_kind_is_refused(self) -> None:
        with pytest.raises(ValueError, match="cubic"):
            soft_margin(torch.ones(1), 0.2, "cubic")


class TestPredict:
    """Leads over the mean negatives: pair 0: .9 - (.55 + .25)/2 = .5; pair 1: .5 - (.15 + .45)/2 = .2;
    pair 2: .7 - (.5 + .5)/2 = .2. With the margin .25 they clamp to .25, .2, .2; the best tenth is pair 0.
    """

    def test_best_pair_is_one(self) -> None:
        assert predict(THREE, alone(3), 0.25).tolist() == pytest.approx([1.0, 0.8, 0.8])

    def test_shared_content_is_no_negative(self) -> None:
        # Pair 1 keeps only pair 2: .5 - (.2 + .6)/2 = .1; pair 0: .9 - (.8 + .4)/2 = .3.
        assert predict(THREE, repeated(), 0.25).tolist() == pytest.approx([1.0, 0.4, 0.8])

    def test_no_pair_ahead_gives_zeros(self) -> None:
        assert predict(1 - torch.eye(3), alone(3), 0.2).tolist() == [0.0, 0.0, 0.0]


class TestMatchingLogProbabilities:
    """S = [[log 2, 0], [0, 0]] at temperature 1: rows (2/3, 1/3), (1/2, 1/2); columns the same transposed."""

    two = torch.tensor([[LOG2, 0.0], [0.0, 0.0]], dtype=torch.float64)

    def test_softmax_runs_along_each_direction(self) -> None:
        captions, images = matching_log_probabilities(self.two, alone(2), 1.0)
        assert captions.exp().flatten().tolist() == pytest.approx([2 / 3, 1 / 3, 1 / 2, 1 / 2])
        assert images.exp().flatten().tolist() == pytest.approx([2 / 3, 1 / 2, 1 / 3, 1 / 2])

    def test_shared_content_takes_no_probability(self) -> None:
        captions, images = matching_log_probabilities(self.two, torch.ones(2, 2, dtype=torch.bool), 1.0)
        assert captions.exp().tolist() == images.exp().tolist() == [[1.0, 0.0], [0.0, 1.0]]

    def test_small_temperature_stays_finite(self) -> None:
        captions, _ = matching_log_probabilities(torch.tensor([[1.0, -1.0], [1.0, -1.0]]), alone(2), 1e-3)
        assert torch.isfinite(captions).all()


class TestMatchingProbability:
    def test_averages_both_directions(self) -> None:
        # Pair 0: (2/3 + 2/3)/2; pair 1: (1/2 + 1/2)/2.
        found = matching_probability(TestMatchingLogProbabilities.two, alone(2), 1.0)
        assert found.tolist() == pytest.approx([2 / 3, 1 / 2])


class TestActive:
    def test_adds_both_directions(self) -> None:
        found = active(matching_log_probabilities(TestMatchingLogProbabilities.two, alone(2), 1.0))
        assert found.tolist() == pytest.approx([2 * math.log(1.5), 2 * LOG2])


class TestComplementary:
    """For the same S: pair 0 leaves tan(1/3) of tan(2/3) + tan(1/3), pair 1 tan(1/2) of 2 tan(1/2), twice each."""

    def test_q_of_zero_is_the_plain_sum(self) -> None:
        found = complementary(
            matching_log_probabilities(TestMatchingLogProbabilities.two, alone(2), 1.0), q=torch.zeros(2)
        )
        assert found.tolist() == pytest.approx([2 * math.tan(1 / 3), 2 * math.tan(1 / 2)])

    def test_q_of_one_is_the_share(self) -> None:
        found = complementary(
            matching_log_probabilities(TestMatchingLogProbabilities.two, alone(2), 1.0), q=torch.ones(2)
        )
        share = math.tan(1 / 3) / (math.tan(1 / 3) + math.tan(2 / 3))
        assert found.tolist() == pytest.approx([2 * share, 1.0])

    def test_q_is_taken_per_pair(self) -> None:
        found = complementary(
            matching_log_probabilities(TestMatchingLogProbabilities.two, alone(2), 1.0), q=torch.tensor([0.0, 1.0])
        )
        assert found.tolist() == pytest.approx([2 * math.tan(1 / 3), 1.0])

    def test_batch_of_one_is_zero(self) -> None:
        assert complementary(
            matching_log_probabilities(torch.tensor([[0.3]]), alone(1), 0.05), q=torch.ones(1)
        ).tolist() == [0.0]

    @staticmethod
    def summed_over_all_pairings(seed: int, q: float) -> float:
        """Every image is paired once with every caption: what uniform noise gives on average (Lemma 1)."""
        size = 6
        similarity = torch.randn(size, size, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
        power = torch.full((size,), q, dtype=torch.float64)
        turned = [similarity.roll(shift, dims=1) for shift in range(size)]
        return float(
            sum(complementary(matching_log_probabilities(one, alone(size), 0.5), power).sum() for one in turned)
        )

    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_q_of_one_is_noise_tolerant(self, seed: int) -> None:
        """A row's shares sum to N - 1 over all choices of its pair: 2 N (N - 1) = 60, whatever was learned, so
        uniform mismatches only scale the risk and cannot move its minimum."""
        assert self.summed_over_all_pairings(seed, q=1.0) == pytest.approx(60.0)

    def test_smaller_q_is_not(self) -> None:
        first, second = (self.summed_over_all_pairings(seed, q=0.0) for seed in (0, 1))
        assert abs(first - second) > 0.1


LABEL = torch.tensor([0.1, 0.7, 0.9], dtype=torch.float64)
FUNCTIONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "triplet sum": lambda s, mask: triplet(s, mask, MARGIN + 0.013, "sum"),
    "triplet mean": lambda s, mask: triplet(s, mask, MARGIN + 0.013, "mean"),
    "triplet hardest": lambda s, mask: triplet(s, mask, MARGIN + 0.013, "hardest"),
    "matching probability": lambda s, mask: matching_probability(s, mask, 0.5),
    "active": lambda s, mask: active(matching_log_probabilities(s, mask, 0.5)),
    "complementary": lambda s, mask: complementary(matching_log_probabilities(s, mask, 0.5), q=1 - LABEL),
}


class TestGradients:
    @pytest.mark.parametrize("name", FUNCTIONS)
    @pytest.mark.parametrize("mask", [alone(3), repeated()], ids=["distinct", "repeated"])
    def test_matches_finite_differences(self, name: str, mask: Tensor) -> None:
        similarity = THREE.clone().requires_grad_()
        assert torch.autograd.gradcheck(lambda s: FUNCTIONS[name](s, mask), (similarity,))

    def test_soft_margin_matches_finite_differences(self) -> None:
        for kind in ("linear", "exponential", "sin"):
            label = LABEL.clone().requires_grad_()
            assert torch.autograd.gradcheck(lambda y, kind=kind: soft_margin(y, 0.2, kind), (label,))
