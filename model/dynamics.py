"""How every pair was learned: its similarity and its matching probability at each survey of a training.

Kept as the first, the last and the sum of them, per network: mismatches are learned late, and unsteadily.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from model.losses import matching_probability
from model.training import Batch, Judge

# The same for every method, so that their evidence compares; CRCL's own.
TEMPERATURE = 0.05
_VALUES = 2  # similarity, matching probability


class Dynamics:
    """Tensors (networks, 2, N); a survey may look at a network more than once, and its last look counts."""

    def __init__(self, networks: int, count: int) -> None:
        self.first = torch.zeros(networks, _VALUES, count)
        self.last = torch.zeros(networks, _VALUES, count)
        self.total = torch.zeros(networks, _VALUES, count)
        self.surveys = torch.tensor(0)

    def watched(self, network: int, judge: Judge, look: Callable[[Judge], Tensor]) -> Tensor:
        """What `look` gives for the judge; on the way every pair is looked at for this record too."""
        is_flat = False

        def both(batch: Batch) -> Tensor:
            nonlocal is_flat
            own = judge(batch)
            is_flat = own.ndim == 1
            probability = matching_probability(batch.signed, batch.forbidden, TEMPERATURE)
            return torch.cat([own.reshape(len(own), -1), torch.stack([batch.signed.diagonal(), probability], 1)], dim=1)

        seen = look(both)
        self.last[network] = seen[:, -_VALUES:].T
        return seen[:, 0] if is_flat else seen[:, :-_VALUES]

    def end_survey(self) -> None:
        if self.surveys == 0:
            self.first = self.last.clone()
        self.total += self.last
        self.surveys += 1

    @property
    def mean(self) -> Tensor:
        return self.total / self.surveys.clamp(min=1)

    def state(self) -> dict[str, Tensor]:
        return dict(vars(self))

    def load_state(self, state: dict[str, Tensor]) -> None:
        vars(self).update(state)
