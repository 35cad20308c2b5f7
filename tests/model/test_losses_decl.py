"""DECL's equations against numbers worked by hand, Monte Carlo, torch's own Dirichlet and finite differences."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.distributions import Dirichlet, kl_divergence

from model.losses import triplet
from model.losses_decl import (
    alignment,
    dirichlet,
    divergence,
    dynamic_hinge,
    evidence,
    evidential,
    expected_error,
    hinge_negatives,
    uncertainty,
)
from tests.model.cases import alone, repeated

# Evidence [[3, 1], [1, 1]] at temperature 1, so alpha = [[4, 2], [2, 2]] and p-hat = (2/3, 1/3), (1/2, 1/2).
TWO = torch.tensor([[math.log(3), 0.0], [0.0, 0.0]], dtype=torch.float64)
THREE = torch.tensor([[0.9, 0.3, 0.8], [0.1, 0.5, 0.2], [0.4, 0.6, 0.7]], dtype=torch.float64)
ONES, ZEROS = torch.ones(2, dtype=torch.float64), torch.zeros(2, dtype=torch.float64)
SAMPLES = 200_000


def drawn(alpha: Tensor) -> Tensor:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Dirichlet(alpha).sample((SAMPLES,))


class TestEvidence:
    def test_is_the_exponential_over_the_temperature(self) -> None:
        assert evidence(TWO, alone(2), 0.5).flatten().tolist() == pytest.approx([9.0, 1.0, 1.0, 1.0])

    def test_absent_class_has_none(self) -> None:
        assert evidence(torch.zeros(3, 3), repeated(), 0.1).tolist() == [[1, 0, 1], [0, 1, 1], [1, 1, 1]]


class TestDirichlet:
    def test_adds_one_to_every_class_that_is_present(self) -> None:
        assert dirichlet(torch.zeros(3, 3), repeated(), 0.1).tolist() == [[2, 0, 2], [0, 2, 2], [2, 2, 2]]


class TestExpectedError:
    """Row 0: L = 6, variances 2 (2/9)/7 = 4/63. Row 1: L = 4, variances 2 (1/4)/5 = 1/10."""

    alpha = dirichlet(TWO, alone(2), 1.0)

    def test_aligned_pair_by_hand(self) -> None:
        # 1/9 + 1/9 + 4/63 = 2/7; 1/4 + 1/4 + 1/10
        assert expected_error(self.alpha, ONES).tolist() == pytest.approx([2 / 7, 0.6])

    def test_noisy_pair_by_hand(self) -> None:
        # 4/9 + 1/9 + 4/63 = 13/21; the symmetric row does not change
        assert expected_error(self.alpha, ZEROS).tolist() == pytest.approx([13 / 21, 0.6])

    def test_equals_the_mean_squared_error_of_drawn_probabilities(self) -> None:
        """Monte Carlo with 200,000 draws: standard error below 1e-3, tolerance 2e-3."""
        alpha = torch.tensor([[4.0, 2.0, 1.5], [2.0, 2.5, 7.0], [1.1, 1.2, 3.0]], dtype=torch.float64)
        label = torch.tensor([1.0, 0.0, 1.0], dtype=torch.float64)
        measured = (torch.diag(label) - drawn(alpha)).square().sum(dim=2).mean(dim=0)
        torch.testing.assert_close(expected_error(alpha, label), measured, atol=2e-3, rtol=0)

    def test_absent_class_changes_nothing(self) -> None:
        without = expected_error(dirichlet(THREE[[0, 2]][:, [0, 2]], alone(2), 0.5), ONES)
        found = expected_error(dirichlet(THREE, repeated(), 0.5), torch.ones(3, dtype=torch.float64))
        assert found[0].item() == pytest.approx(without[0].item())


class TestDivergence:
    alpha = dirichlet(TWO, alone(2), 1.0)

    def test_aligned_pair_by_hand(self) -> None:
        # Both rows keep (1, 2): log Gamma(3) - log Gamma(2) + psi(2) - psi(3) = log 2 - 1/2.
        assert divergence(self.alpha, ONES).tolist() == pytest.approx([math.log(2) - 0.5] * 2)

    def test_noisy_pair_by_hand(self) -> None:
        # (4, 2): log(120/6) - 3 (1/4 + 1/5) - (1/2 + 1/3 + 1/4 + 1/5); (2, 2): log 6 - 2 (1/2 + 1/3).
        assert divergence(self.alpha, ZEROS).tolist() == pytest.approx([math.log(20) - 79 / 30, math.log(6) - 5 / 3])

    def test_without_evidence_it_is_zero(self) -> None:
        assert divergence(torch.ones(2, 2, dtype=torch.float64), ZEROS).tolist() == pytest.approx([0.0, 0.0])

    def test_equals_that_of_torch(self) -> None:
        alpha = 1 + torch.rand(6, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64) * 50
        label = torch.tensor([1.0, 0.0, 1.0, 1.0, 0.0, 0.0], dtype=torch.float64)
        y = torch.diag(label)
        expected = kl_divergence(Dirichlet(y + (1 - y) * alpha), Dirichlet(torch.ones_like(alpha)))
        torch.testing.assert_close(divergence(alpha, label), expected)

    def test_equals_the_mean_log_ratio_of_drawn_probabilities(self) -> None:
        """Monte Carlo with 200,000 draws: standard error below 3e-3, tolerance 1e-2."""
        alpha = torch.tensor([[4.0, 2.0, 1.5], [2.0, 2.5, 7.0], [1.1, 1.2, 3.0]], dtype=torch.float64)
        points = drawn(alpha)
        ratio = Dirichlet(alpha).log_prob(points) - Dirichlet(torch.ones_like(alpha)).log_prob(points)
        found = divergence(alpha, torch.zeros(3, dtype=torch.float64))
        torch.testing.assert_close(found, ratio.mean(dim=0), atol=1e-2, rtol=0)

    def test_absent_class_does_not_count_in_k(self) -> None:
        without = divergence(dirichlet(THREE[[0, 2]][:, [0, 2]], alone(2), 0.5), ZEROS)
        found = divergence(dirichlet(THREE, repeated(), 0.5), torch.zeros(3, dtype=torch.float64))
        assert found[0].item() == pytest.approx(without[0].item())

    def test_single_precision_keeps_its_digits_at_the_largest_evidence(self) -> None:
        signed = torch.rand(128, 128, generator=torch.Generator().manual_seed(2)) * 2 - 1
        signed[0] = 1.0  # every class with e^10
        label = torch.ones(128)

        def value_and_gradient(scores: Tensor) -> tuple[Tensor, Tensor]:
            leaf = scores.requires_grad_()
            values = divergence(dirichlet(leaf, alone(128), 0.1), label.to(scores.dtype))
            values.sum().backward()  # type: ignore[no-untyped-call]
            assert leaf.grad is not None
            return values.detach(), leaf.grad

        single, double = value_and_gradient(signed.clone()), value_and_gradient(signed.double())
        torch.testing.assert_close(single[0].double(), double[0], rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(single[1].double(), double[1], rtol=1e-3, atol=1e-3)


class TestEvidential:
    def test_adds_both_directions_and_the_weighted_divergence(self) -> None:
        # TWO is symmetric, so both directions are equal: twice L_m and a tenth of L_kl.
        found = evidential(TWO, alone(2), ONES, temperature=1.0, divergence_weight=0.1)
        tenth = 0.1 * (math.log(2) - 0.5)
        assert found.tolist() == pytest.approx([2 * (2 / 7 + tenth), 2 * (0.6 + tenth)])

    def test_captions_ask_by_column(self) -> None:
        # alpha = [[4, 2], [4, 2]]: row 0 as above 2/7; column 0 is (4, 4): L = 8, 1/4 + 1/4 + 2 (1/4)/9.
        signed = torch.tensor([[math.log(3), 0.0], [math.log(3), 0.0]], dtype=torch.float64)
        found = evidential(signed, alone(2), ONES, temperature=1.0, divergence_weight=0.0)
        assert found[0].item() == pytest.approx(2 / 7 + 1 / 2 + 1 / 18)

    def test_batch_of_one_is_certain(self) -> None:
        assert evidential(torch.tensor([[0.3]]), alone(1), torch.ones(1), 0.1, 0.1).tolist() == [0.0]


class TestHingeNegatives:
    @pytest.mark.parametrize(
        ("step", "left"), [(0, 128), (39, 127), (40, 127), (41, 126), (4800, 8), (4879, 6), (4881, 5), (10**6, 5)]
    )
    def test_shrinks_by_eta_with_every_step_down_to_mu(self, step: int, left: int) -> None:
        """128 - .025 * 39 = 127.025; - .025 * 41 = 126.975; - .025 * 4879 = 6.025; - .025 * 4881 = 5.975."""
        assert hinge_negatives(128, step, annealing=0.025, least=5) == left


class TestDynamicHinge:
    """Image queries .2 + S_ij - S_ii above 0: row 0: .1; row 1: none; row 2: .1.
    Caption queries .2 + S_ij - S_jj above 0: column 0: none; column 1: .3; column 2: .3.
    """

    def test_takes_the_n_hardest(self) -> None:
        assert dynamic_hinge(THREE, alone(3), 0.2, negatives=1).tolist() == pytest.approx([0.1, 0.3, 0.4])
        assert dynamic_hinge(THREE, alone(3), 0.2, negatives=2).tolist() == pytest.approx([0.05, 0.15, 0.2])

    def test_more_negatives_than_the_batch_has_are_those_it_has(self) -> None:
        assert dynamic_hinge(THREE, alone(3), 0.2, negatives=9).tolist() == pytest.approx([0.05, 0.15, 0.2])

    def test_shared_content_is_no_negative(self) -> None:
        # Pairs 0 and 1 have pair 2 as their only negative.
        assert dynamic_hinge(THREE, repeated(), 0.2, negatives=2).tolist() == pytest.approx([0.1, 0.3, 0.2])

    @pytest.mark.parametrize(("count", "negatives"), [(1, "hardest"), (2, "mean")])
    def test_runs_from_the_mean_to_the_hardest_hinge(self, count: int, negatives: str) -> None:
        margin = torch.full((3,), 0.2, dtype=torch.float64)
        expected = triplet(THREE, alone(3), margin, negatives)  # type: ignore[arg-type]
        torch.testing.assert_close(dynamic_hinge(THREE, alone(3), 0.2, count), expected)

    def test_batch_of_one_is_zero(self) -> None:
        assert dynamic_hinge(torch.tensor([[0.3]]), alone(1), 0.2, 5).tolist() == [0.0]


class TestAlignment:
    """E + E^T = [[8, 2, 5], [2, 2, 5], [5, 5, 8]]: rows sum to 15, 9 and 18."""

    signed = torch.tensor([[4.0, 1.0, 3.0], [1.0, 1.0, 2.0], [2.0, 3.0, 4.0]], dtype=torch.float64).log()

    def test_pair_with_the_most_shared_evidence_is_aligned(self) -> None:
        label, share = alignment(self.signed, alone(3), 1.0)
        assert label.tolist() == [1, 0, 1]
        assert share.tolist() == pytest.approx([8 / 15, 2 / 9, 8 / 18])

    def test_shared_content_does_not_compete(self) -> None:
        mask = alone(3)
        mask[1, 2] = mask[2, 1] = True
        label, share = alignment(self.signed, mask, 1.0)
        assert label.tolist() == [1, 1, 1]  # pair 1 is left with 2 and 2
        assert share.tolist() == pytest.approx([8 / 15, 2 / 4, 8 / 13])


class TestUncertainty:
    def test_by_hand(self) -> None:
        assert uncertainty(TWO, alone(2), 1.0).tolist() == pytest.approx([2 / 6, 2 / 4])

    def test_absent_class_does_not_count_in_k(self) -> None:
        # Every class has alpha 2: K / 2K, whatever K is.
        assert uncertainty(torch.zeros(3, 3), repeated(), 0.1).tolist() == pytest.approx([0.5] * 3)

    def test_runs_from_little_to_one(self) -> None:
        none, much = (uncertainty(torch.full((4, 4), t), alone(4), 0.1) for t in (-1.0, 1.0))
        assert (none <= 1).all()
        assert none.tolist() == pytest.approx([1.0] * 4, abs=1e-4)
        assert (much > 0).all()
        assert much.tolist() == pytest.approx([math.exp(-10)] * 4, rel=1e-3)


LABEL = torch.tensor([1.0, 0.0, 1.0], dtype=torch.float64)
FUNCTIONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "expected error": lambda t, mask: expected_error(dirichlet(t, mask, 0.5), LABEL),
    "divergence": lambda t, mask: divergence(dirichlet(t, mask, 0.5), LABEL),
    "evidential": lambda t, mask: evidential(t, mask, LABEL, 0.3, 0.1),
    "dynamic hinge, 1": lambda t, mask: dynamic_hinge(t, mask, 0.213, 1),
    "dynamic hinge, 2": lambda t, mask: dynamic_hinge(t, mask, 0.213, 2),
    "share": lambda t, mask: alignment(t, mask, 0.5)[1],
    "uncertainty": lambda t, mask: uncertainty(t, mask, 0.5),
}


class TestGradients:
    @pytest.mark.parametrize("name", FUNCTIONS)
    @pytest.mark.parametrize("mask", [alone(3), repeated()], ids=["distinct", "repeated"])
    def test_matches_finite_differences(self, name: str, mask: Tensor) -> None:
        signed = THREE.clone().requires_grad_()
        assert torch.autograd.gradcheck(lambda t: FUNCTIONS[name](t, mask), (signed,))
