"""MRL's losses against numbers worked by hand, and their gradients against finite differences."""

import math

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from model.losses_mrl import category_log_probabilities, multimodal_contrastive, robust_clustering

LOG2 = math.log(2.0)
AXES = torch.eye(2, dtype=torch.float64)
ALONE = torch.eye(2, dtype=torch.bool)


def unit(rows: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return normalize(torch.randn(rows, 3, generator=generator, dtype=torch.float64)).requires_grad_()


class TestCategoryLogProbabilities:
    def test_is_a_softmax_over_the_centres(self) -> None:
        """At temperature 1 / log 2 the axes have products log 2 and 0 with themselves and each other."""
        found = category_log_probabilities(AXES, AXES, 1 / LOG2).exp()
        assert found.flatten().tolist() == pytest.approx([2 / 3, 1 / 3, 1 / 3, 2 / 3])


class TestRobustClustering:
    def test_is_the_log_of_what_the_others_have(self) -> None:
        """p = 1/2, 1/4, 1/4: the first label leaves 1/2, the second 3/4."""
        p = torch.tensor([[0.5, 0.25, 0.25]] * 2, dtype=torch.float64).log()
        found = robust_clustering(p, torch.tensor([0, 1]))
        assert found.tolist() == pytest.approx([-LOG2, math.log(0.75)])

    def test_unit_vectors_at_temperature_one_bound_it(self) -> None:
        """Ten categories, the vector on its own centre and opposite to all others: e / (e + 9/e) = .451."""
        logits = torch.full((1, 10), -1.0)
        logits[0, 3] = 1.0
        assert robust_clustering(logits.log_softmax(dim=1), torch.tensor([3])).item() == pytest.approx(
            -0.5994, abs=1e-4
        )

    def test_stays_exact_where_the_probability_rounds_to_one(self) -> None:
        """Logits 200, 0, 0: 1 - p is 0 in float32, its log is log 2 - 200."""
        logits = torch.tensor([[200.0, 0.0, 0.0]], requires_grad=True)
        found = robust_clustering(logits.log_softmax(dim=1), torch.tensor([0]))
        found.sum().backward()
        assert found.item() == pytest.approx(LOG2 - 200)
        assert logits.grad is not None
        assert logits.grad[0].tolist() == pytest.approx([-1.0, 0.5, 0.5], abs=1e-5)

    def test_label_that_looks_wrong_teaches_little(self) -> None:
        """The gradient by the logit of y is -p_y: .01 here, where cross entropy has .99."""
        logits = torch.tensor([[math.log(99.0), 0.0]], requires_grad=True)
        robust_clustering(logits.log_softmax(dim=1), torch.tensor([1])).sum().backward()
        assert logits.grad is not None
        assert logits.grad[0, 1].item() == pytest.approx(-0.01, abs=1e-6)

    def test_gradient_matches_finite_differences(self) -> None:
        labels = torch.tensor([2, 0, 1, 1])
        centres = unit(5, 1)

        def loss(vectors: Tensor, centres: Tensor) -> Tensor:
            return robust_clustering(category_log_probabilities(vectors, centres.T, 0.5), labels)

        assert torch.autograd.gradcheck(loss, (unit(4, 0), centres))


class TestMultimodalContrastive:
    """At temperature 1 / log 2 an equal view weighs 2 and an orthogonal one 1."""

    def test_each_view_asks_for_its_partner_among_all_views(self) -> None:
        """Partner 2 of 2 + 1 + 1, for the image and for the caption: 2 log 2."""
        assert multimodal_contrastive(AXES, AXES, ALONE, 1 / LOG2).tolist() == pytest.approx([2 * LOG2] * 2)

    def test_a_mismatched_pair_costs_more(self) -> None:
        """Captions swapped: the partner 1 of 1 + 1 + 2, twice: 2 log 4."""
        found = multimodal_contrastive(AXES, AXES.flip(0), ALONE, 1 / LOG2)
        assert found.tolist() == pytest.approx([4 * LOG2] * 2)

    def test_shared_content_is_no_negative_in_any_modality(self) -> None:
        same = torch.ones(2, 2, dtype=torch.bool)
        assert multimodal_contrastive(AXES, AXES.flip(0), same, 1 / LOG2).tolist() == pytest.approx([0.0, 0.0])

    def test_batch_of_one_is_zero(self) -> None:
        one = torch.tensor([[1.0, 0.0]])
        assert multimodal_contrastive(one, -one, torch.ones(1, 1, dtype=torch.bool), 0.2).tolist() == [0.0]

    def test_gradient_matches_finite_differences(self) -> None:
        forbidden = torch.eye(4, dtype=torch.bool)
        forbidden[0, 1] = forbidden[1, 0] = True
        assert torch.autograd.gradcheck(
            lambda a, b: multimodal_contrastive(a, b, forbidden, 0.5), (unit(4, 0), unit(4, 2))
        )
