"""NCR: Huang et al. 2021, Learning with Noisy Correspondence for Cross-modal Matching.

Equation numbers are those of its journal version, LNC, sections 3.2 (co-divide), 3.3 (co-rectify) and
3.4 (soft margins); the parts LNC adds to the warm-up are not here.
"""

from collections.abc import Iterable
from typing import cast

import torch
from torch import Tensor

from model.config import RunConfig
from model.losses import Negatives, predict, soft_margin, triplet
from model.options.ncr import NCRConfig
from model.pairs import Pairs
from model.training import Batch, Look, Method, Phase, Scores, Step, grown

WARMUP = "warm-up"
_CLEAN, _BOTH = "co-training, clean pairs", "co-training, all pairs"


class NCR(Method):
    def __init__(self, config: RunConfig, pairs: Pairs) -> None:
        super().__init__(config, pairs)
        assert isinstance(config.method_options, NCRConfig)
        self.options = config.method_options
        self.losses = torch.zeros(self.networks, self.count)
        self.scored = torch.zeros(self.networks, self.count)  # the same with the wider margin of the scores
        self.predictions = torch.zeros(self.networks, self.count)  # P of Eq. 9
        self.similarities = torch.zeros(self.networks, self.count)
        self.confidences = torch.ones(self.networks, self.count)  # w that network k is taught with
        self.labels = torch.ones(self.networks, self.count)  # y-hat of Eq. 8 that network k is taught with

    def phases(self) -> Iterable[Phase]:
        yield Phase(WARMUP, self.options.warmup_epochs, is_surveyed=False, is_scheduled=False)
        epochs = grown(self.options.epochs, self.options.growth, self.count)
        noisy = min(self.options.noisy_epochs, epochs)
        yield Phase(_CLEAN, epochs - noisy)
        yield Phase(_BOTH, noisy)

    def survey(self, phase: Phase, look: Look) -> None:
        for k in range(self.networks):
            seen = look(k, self._judge).unbind(dim=1)
            self.losses[k], self.predictions[k], self.similarities[k], self.scored[k] = seen
            self.confidences[self.other(k)] = self.settled(self.divide(self.losses[k]))
        self.labels = self.rectified()

    def rectified(self) -> Tensor:
        """Eq. 8, y^c = 1: (networks, N). Without co-divide or co-rectify (Table 8), what is left of it."""
        agreed = self.predictions.mean(dim=0).expand_as(self.predictions)
        if not self.options.is_divided:
            return agreed.clone() if self.options.is_rectified else torch.ones_like(agreed)
        is_clean = self.confidences > self.options.clean_above
        if not self.options.is_rectified:
            return is_clean.float()
        # Predicted over whole batches: the released code predicts inside the clean and the noisy subset apart,
        # which scales the best tenth of the noisy one up to 1 as well.
        clean = self.confidences + (1 - self.confidences) * self.predictions
        return torch.where(is_clean, clean, agreed)

    def subsets(self, phase: Phase, network: int) -> dict[str, Tensor]:
        if phase.name == WARMUP or not self.options.is_divided:
            return super().subsets(phase, network)
        is_clean = self.confidences[network] > self.options.clean_above
        clean, noisy = is_clean.nonzero().flatten(), (~is_clean).nonzero().flatten()
        # Without one clean pair there is only the noisy subset, with its small margins, to go on with.
        return {"clean": clean} if phase.name == _CLEAN and len(clean) else {"clean": clean, "noisy": noisy}

    def loss(self, step: Step) -> Tensor:
        if step.phase.name == WARMUP:
            return self.warmup(step.batches["all"], step.network).sum()
        # One step on both subsets together, as the loss of the paper; the released code steps twice.
        return torch.stack([self._soft(batch, step.network) for batch in step.batches.values()]).sum()

    def warmup(self, batch: Batch, network: int) -> Tensor:
        """Eq. 2, one value per pair."""
        return self._triplet(batch, cast(Negatives, self.options.warmup_negatives), self.options.margin)

    def _soft(self, batch: Batch, network: int) -> Tensor:
        """Eq. 10 with the margins of Eq. 11."""
        options = self.options
        label = self.labels[network][batch.rows].to(batch.similarity.device)
        centre = float(self.labels[network].mean())
        margin = soft_margin(label, options.margin, options.soft_margin, options.margin_base, centre)
        return triplet(batch.similarity, batch.forbidden, margin, cast(Negatives, options.negatives)).sum()

    def scores(self) -> Scores:
        return self.divided_scores(list(self.scored), self.similarities.mean(dim=0), self.labels.mean(dim=0))

    def _judge(self, batch: Batch) -> Tensor:
        loss = self._triplet(batch, "mean", self.options.margin)
        prediction = predict(batch.similarity, batch.forbidden, self.options.margin)
        scored = self._triplet(batch, "mean", self.options.scored_margin)
        return torch.stack([loss, prediction, batch.similarity.diagonal(), scored], dim=1)

    def _triplet(self, batch: Batch, negatives: Negatives, margin: float) -> Tensor:
        margins = torch.full_like(batch.similarity.diagonal(), margin)
        return triplet(batch.similarity, batch.forbidden, margins, negatives)
