"""Dropout from random bytes."""

import pytest
import torch

from model.backbones.dropout import Dropout


class TestDropout:
    @pytest.mark.parametrize("share", [0.2, 0.5, 0.75])
    def test_drops_its_share_and_keeps_the_mean(self, share: float) -> None:
        torch.manual_seed(0)
        out = Dropout(share)(torch.ones(400, 500))  # the standard error of the share is .001
        assert (out == 0).float().mean().item() == pytest.approx(share, abs=0.005)
        assert out.mean().item() == pytest.approx(1.0, abs=0.01)

    def test_neighbours_are_dropped_independently(self) -> None:
        torch.manual_seed(1)
        kept = (Dropout(0.5)(torch.ones(200_000)) > 0).float()
        for distance in (1, 7, 8):
            both = (kept[:-distance] * kept[distance:]).mean().item()
            assert both == pytest.approx(0.25, abs=0.005)

    def test_gradient_passes_where_a_unit_is_kept(self) -> None:
        torch.manual_seed(2)
        units = torch.ones(50, requires_grad=True)
        out = Dropout(0.5)(units)
        out.sum().backward()
        assert units.grad is not None
        assert torch.equal(units.grad, out.detach())

    def test_same_seed_drops_the_same(self) -> None:
        first, second = (torch.manual_seed(3) and Dropout(0.3)(torch.ones(77)) for _ in range(2))
        assert torch.equal(first, second)

    def test_evaluation_and_zero_change_nothing(self) -> None:
        units = torch.randn(10)
        assert Dropout(0.4).eval()(units) is units
        assert Dropout(0.0)(units) is units
