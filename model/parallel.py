"""Data-parallel training with torch.distributed: every process draws the same batch, encodes its share of it,
compares its images with all captions, and sees the whole (B, B) matrix. So the loss is that of one process.

Whoever starts the processes (torchrun) initialises the process group; without one there is a fleet of one.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, distributed, nn

from model.backbones.base import Items


class Fleet:
    """The processes that train one run together; alone, every method gives back what it was given."""

    def __init__(self) -> None:
        is_joined = distributed.is_available() and distributed.is_initialized()
        self.size = distributed.get_world_size() if is_joined else 1
        self.rank = distributed.get_rank() if is_joined else 0

    def share(self, items: Items) -> Items:
        """This process's part of a batch; the parts differ in size by one at most."""
        return items if self.size == 1 else tuple(part[self._mine(len(part))] for part in items)

    def gather(self, items: Items, count: int) -> Items:
        """All processes' parts as one. Each process goes on with its own rows of the result only, so the
        gradient of a part is the sum of what all of them found."""
        return items if self.size == 1 else tuple(_gathered(part, self._mine(count), count, True) for part in items)

    def whole(self, part: Tensor, count: int) -> Tensor:
        """The same where every process goes on with the whole: its gradient is the same everywhere."""
        return part if self.size == 1 else _gathered(part, self._mine(count), count, False)

    def sum_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        if self.size > 1:
            for parameter in parameters:
                if parameter.grad is not None:
                    distributed.all_reduce(parameter.grad)

    def sum(self, values: Tensor) -> Tensor:
        if self.size > 1:
            distributed.all_reduce(values)
        return values

    def any(self, flag: bool) -> bool:
        """Whether one of the processes says so: all of them hear the same answer."""
        return flag if self.size == 1 else bool(self.sum(torch.tensor(float(flag))) > 0)

    def _mine(self, count: int) -> slice:
        return slice(count * self.rank // self.size, count * (self.rank + 1) // self.size)


def _gathered(part: Tensor, mine: slice, count: int, is_summed: bool) -> Tensor:
    whole: Tensor = _Gather.apply(part, mine, count, is_summed)  # type: ignore[no-untyped-call]
    return whole


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, part: Tensor, mine: slice, count: int, is_summed: bool) -> Tensor:
        context.mine, context.is_summed = mine, is_summed
        whole = part.new_zeros(count, *part.shape[1:])
        whole[mine] = part
        distributed.all_reduce(whole)
        return whole

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        gradient = gradients[0].contiguous()
        if context.is_summed:
            distributed.all_reduce(gradient)
        return gradient[context.mine], None, None, None
