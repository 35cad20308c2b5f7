"""What LNC adds to the losses: the four recasting functions of Eq. 11 and the momentum regularisation of Eq. 4."""

import math

import pytest
import torch
from torch import Tensor

from model.losses import momentum_regularisation, predict, soft_margin, triplet

# Rows are images; the leads over the mean negatives are .5, .2, .2 (worked out in test_losses.py).
THREE = torch.tensor([[0.9, 0.3, 0.8], [0.1, 0.5, 0.2], [0.4, 0.6, 0.7]], dtype=torch.float64)
ALONE = torch.eye(3, dtype=torch.bool)
LABEL = torch.tensor([0.1, 0.7, 0.9], dtype=torch.float64)
KINDS = ("linear", "exponential", "sin", "sigmoid")


class TestActiveTriplet:
    """Hinges at the margin .25. Image queries: row 0: .15; row 1: none; row 2: .15. Caption queries: column 0: none;
    column 1: .05 and .35, mean .2; column 2: .35. Their sum over the directions: .15, .2, .5.
    """

    margin = torch.full((3,), 0.25, dtype=torch.float64)

    def test_is_the_mean_of_the_violating_negatives(self) -> None:
        assert triplet(THREE, ALONE, self.margin, "active").tolist() == pytest.approx([0.15, 0.2, 0.5])

    def test_lies_between_mean_and_hardest(self) -> None:
        mean, active, hardest = (triplet(THREE, ALONE, self.margin, kind) for kind in ("mean", "active", "hardest"))
        assert (mean <= active).all()
        assert (active <= hardest).all()

    def test_is_the_mean_while_every_negative_violates(self) -> None:
        wide = torch.full((3,), 2.0, dtype=torch.float64)
        active, mean = triplet(THREE, ALONE, wide, "active"), triplet(THREE, ALONE, wide, "mean")
        assert active.tolist() == pytest.approx(mean.tolist())

    def test_pull_on_a_pair_does_not_grow_with_its_violations(self) -> None:
        """One violating caption pulls pair 0, two violating images pull pair 1: both by 1. By the mean, .5 and 1."""
        pulls = {}
        for kind in ("active", "mean"):
            similarity = THREE.clone().requires_grad_()
            values = triplet(similarity, ALONE, self.margin, kind)
            (slope,) = torch.autograd.grad(values.sum(), similarity)
            pulls[kind] = [-float(slope[0, 0]), -float(slope[1, 1])]
        assert pulls == {"active": pytest.approx([1.0, 1.0]), "mean": pytest.approx([0.5, 1.0])}

    def test_satisfied_batch_is_zero(self) -> None:
        assert triplet(torch.eye(3), ALONE, torch.full((3,), 0.2), "active").tolist() == [0.0, 0.0, 0.0]

    def test_gradient_matches_finite_differences(self) -> None:
        similarity = THREE.clone().requires_grad_()
        assert torch.autograd.gradcheck(lambda s: triplet(s, ALONE, self.margin, "active"), (similarity,))


class TestSoftMargin:
    @pytest.mark.parametrize("kind", KINDS[:3])
    @pytest.mark.parametrize("base", [2.0, 10.0, 100.0])
    def test_no_correspondence_gives_no_margin_and_full_gives_all(self, kind: str, base: float) -> None:
        margins = soft_margin(torch.tensor([0.0, 1.0], dtype=torch.float64), 0.2, kind, base)
        assert margins.tolist() == pytest.approx([0.0, 0.2], abs=1e-15)

    def test_sigmoid_comes_near_both_ends(self) -> None:
        """div = .5: slope 10, so 1/(1 + e^5) = .0067 of the margin at y = 0 and the rest of it at y = 1."""
        margins = soft_margin(torch.tensor([0.0, 0.5, 1.0], dtype=torch.float64), 1.0, "sigmoid", centre=0.5)
        assert margins.tolist() == pytest.approx([1 / (1 + math.e**5), 0.5, 1 / (1 + math.e**-5)])

    def test_sigmoid_grows_steeper_with_its_centre(self) -> None:
        """div = .6: slope 10 + 100 * .1 = 20; y = .7 gives 1/(1 + e^(-20 * .1)) = 1/(1 + e^-2)."""
        (margin,) = soft_margin(torch.tensor([0.7], dtype=torch.float64), 0.2, "sigmoid", centre=0.6).tolist()
        assert margin == pytest.approx(0.2 / (1 + math.e**-2))

    @pytest.mark.parametrize("centre", [0.0, 0.2, 0.4, 0.45, 0.8, 1.0])
    def test_sigmoid_never_prefers_a_lower_label(self, centre: float) -> None:
        margins = soft_margin(torch.linspace(0, 1, 11, dtype=torch.float64), 0.2, "sigmoid", centre=centre)
        assert (margins.diff() >= 0).all()
        assert margins[-1] > margins[0]

    def test_exponential_takes_any_base(self) -> None:
        """m = 4, y = .5: (2 - 1)/(4 - 1) of the margin."""
        (margin,) = soft_margin(torch.tensor([0.5], dtype=torch.float64), 0.3, "exponential", 4.0).tolist()
        assert margin == pytest.approx(0.1)

    def test_larger_base_restrains_doubtful_pairs_more(self) -> None:
        small, large = (soft_margin(LABEL, 0.2, "exponential", base) for base in (2.0, 100.0))
        assert (large < small).all()

    def test_exponential_restrains_doubtful_pairs_more_than_linear(self) -> None:
        assert (soft_margin(LABEL, 0.2, "exponential") < soft_margin(LABEL, 0.2, "linear")).all()

    @pytest.mark.parametrize("kind", KINDS)
    def test_gradient_matches_finite_differences(self, kind: str) -> None:
        label = LABEL.clone().requires_grad_()
        assert torch.autograd.gradcheck(lambda y: soft_margin(y, 0.2, kind, 5.0, 0.6), (label,))


def regularised(similarity: Tensor, target: Tensor) -> Tensor:
    # With this margin the best pair is clamped, so tau, which carries no gradient, is a constant here.
    return momentum_regularisation(predict(similarity, ALONE, 0.25), target)


class TestMomentumRegularisation:
    """P is 1, .8, .8 at the margin .25: clamped leads .25, .2, .2 over tau = .25."""

    def test_is_the_squared_distance_from_the_past(self) -> None:
        """(1 - 1)^2, (.8 - .5)^2, (.8 - 1)^2."""
        target = torch.tensor([1.0, 0.5, 1.0], dtype=torch.float64)
        assert regularised(THREE, target).tolist() == pytest.approx([0.0, 0.09, 0.04])

    def test_gradient_matches_finite_differences(self) -> None:
        similarity = THREE.clone().requires_grad_()
        assert torch.autograd.gradcheck(lambda s: regularised(s, LABEL), (similarity,))

    def test_gradient_of_the_prediction_matches_finite_differences(self) -> None:
        similarity = THREE.clone().requires_grad_()
        assert torch.autograd.gradcheck(lambda s: predict(s, ALONE, 0.25), (similarity,))

    def test_pair_predicted_as_before_is_left_alone(self) -> None:
        similarity = THREE.clone().requires_grad_()
        regularised(similarity, predict(THREE, ALONE, 0.25)).sum().backward()  # type: ignore[no-untyped-call]
        assert similarity.grad is not None
        assert similarity.grad.abs().max() == 0

    def test_pair_found_noisy_before_is_held_against_the_triplet_loss(self) -> None:
        """Pair 1: the hinge pulls S_11 up; with gamma = 0 the regularisation pushes it down, with 1 up as well."""
        slopes = []
        for target in (None, 0.0, 1.0):
            similarity = THREE.clone().requires_grad_()
            if target is None:
                values = triplet(similarity, ALONE, torch.full((3,), 0.25, dtype=torch.float64), "mean")
            else:
                values = regularised(similarity, torch.full((3,), target, dtype=torch.float64))
            (slope,) = torch.autograd.grad(values[1], similarity)
            slopes.append(float(slope[1, 1]))
        assert slopes[0] < 0 < slopes[1]
        assert slopes[2] < 0
