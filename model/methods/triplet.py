"""The plain triplet loss: the papers' baseline without any thought of noise.

LNC Eq. 2 (all negatives) or Eq. 10 (the hardest) with one margin: every pair is learned as if it matched.
"""

from collections.abc import Iterable
from typing import cast

import torch
from torch import Tensor

from model.config import RunConfig
from model.losses import Negatives, predict, triplet
from model.options.triplet import TripletConfig
from model.pairs import Pairs
from model.training import Batch, Look, Method, Phase, Scores, Step


class Triplet(Method):
    def __init__(self, config: RunConfig, pairs: Pairs) -> None:
        super().__init__(config, pairs)
        assert isinstance(config.method_options, TripletConfig)
        self.options = config.method_options
        self.losses = torch.zeros(self.networks, self.count)
        self.predictions = torch.zeros(self.networks, self.count)  # P(v, t) of Eq. 9
        self.similarities = torch.zeros(self.networks, self.count)

    def phases(self) -> Iterable[Phase]:
        yield Phase("training", self.options.epochs, is_surveyed=False)

    def survey(self, phase: Phase, look: Look) -> None:
        for k in range(self.networks):
            self.losses[k], self.predictions[k], self.similarities[k] = look(k, self._judge).unbind(dim=1)

    def loss(self, step: Step) -> Tensor:
        return self._plain(step.batches["all"], cast(Negatives, self.options.negatives))

    def scores(self) -> Scores:
        return self.divided_scores(list(self.losses), self.similarities.mean(dim=0), self.predictions.mean(dim=0))

    def _plain(self, batch: Batch, negatives: Negatives) -> Tensor:
        margin = torch.full_like(batch.similarity.diagonal(), self.options.margin)
        losses = triplet(batch.similarity, batch.forbidden, margin, negatives)
        # A sum over pairs of a sum over negatives would have every gradient cut to the same length by the clip.
        return losses.mean() if negatives == "sum" else losses.sum()

    def _judge(self, batch: Batch) -> Tensor:
        margin = torch.full_like(batch.similarity.diagonal(), self.options.margin)
        # Over all negatives, as the mixture of LNC section 3.2 has it: the hardest one of a batch is chance.
        loss = triplet(batch.similarity, batch.forbidden, margin, "mean")
        prediction = predict(batch.similarity, batch.forbidden, self.options.margin)
        return torch.stack([loss, prediction, batch.similarity.diagonal()], dim=1)
