"""Dropout from random bytes: on a CPU torch's own spends more time on its random numbers than the layers on theirs."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from model.randomness import current

_LEVELS = 256


class Dropout(nn.Module):
    """Drops a share of the units, to the nearest 1/256, and scales the rest so that the mean stays the same."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share
        self._dropped = round(share * _LEVELS)  # levels of a byte that mean "dropped"

    def forward(self, units: Tensor) -> Tensor:
        if not self.training or self._dropped == 0:
            return units
        if units.device.type != "cpu":
            return functional.dropout(units, self.share)
        draws = torch.empty(-(-units.numel() // 8), dtype=torch.int64)  # eight units each
        draws.random_(-(2**63), None, generator=current())
        kept = draws.view(torch.uint8)[: units.numel()].view(units.shape) >= self._dropped
        return units * (kept.to(units.dtype) * (_LEVELS / (_LEVELS - self._dropped)))
