"""Filter, then train: the two-stage baseline of LNC Table 4 (there DivideMix, then a plain matching model).

Stage 1 is a co-taught filter by the small-loss mixture (LNC Eq. 2 and 3); what it calls noisy is dropped once and
for all. Stage 2 starts afresh and learns what is left with the plain triplet loss.
"""

from collections.abc import Iterable
from typing import cast

import torch
from torch import Tensor

from model.config import RunConfig
from model.losses import Negatives
from model.methods.triplet import Triplet
from model.options.triplet import FilterConfig
from model.pairs import Pairs
from model.training import Look, Phase, Scores, Step

_WARMUP, _FILTER, _TRAINING = "filter, all pairs", "filter, clean pairs", "training"


class FilterThenTrain(Triplet):
    def __init__(self, config: RunConfig, pairs: Pairs) -> None:
        super().__init__(config, pairs)
        assert isinstance(config.method_options, FilterConfig)
        self.filter_options = config.method_options
        self.filter_losses = torch.zeros(self.networks, self.count)
        self.confidences = torch.ones(self.networks, self.count)  # w that network k is filtered by

    def phases(self) -> Iterable[Phase]:
        yield Phase(_WARMUP, self.filter_options.warmup_epochs, is_surveyed=False, is_scheduled=False)
        yield Phase(_FILTER, self.filter_options.filter_epochs)
        yield Phase(_TRAINING, self.filter_options.epochs, fresh_networks=True, is_surveyed=False)

    def survey(self, phase: Phase, look: Look) -> None:
        super().survey(phase, look)
        if phase.name == _FILTER:
            self.filter_losses = self.losses.clone()
            for k in range(self.networks):
                self.confidences[self.other(k)] = self.divide(self.losses[k])

    def subsets(self, phase: Phase, network: int) -> dict[str, Tensor]:
        if phase.name == _WARMUP:
            return super().subsets(phase, network)
        # The filter's networks teach each other; the kept pairs are those both find clean on average.
        confidence = self.confidences[network] if phase.name == _FILTER else self.confidences.mean(dim=0)
        kept = (confidence > self.filter_options.clean_above).nonzero().flatten()
        # A filter that keeps nothing has told nothing apart.
        return {"all": kept} if len(kept) else super().subsets(phase, network)

    def loss(self, step: Step) -> Tensor:
        negatives = cast(Negatives, self.options.negatives) if step.phase.name == _TRAINING else "mean"
        return self._plain(step.batches["all"], negatives)

    def scores(self) -> Scores:
        # The filter's verdict is the one that counted. The losses of stage 2 do not compare: those of kept pairs
        # have been learned, those of dropped ones never seen.
        return self.divided_scores(
            list(self.filter_losses), self.similarities.mean(dim=0), self.predictions.mean(dim=0)
        )
