"""DECL: Qin et al. 2022, Deep Evidential Learning with Noisy Correspondence for Cross-modal Retrieval.

Equation numbers are those of its supplement. The paper trains one network; co-taught as our extension: the
alignment label that network k learns a pair with is that of the other.
"""

from collections.abc import Iterable
from dataclasses import replace

import torch
from torch import Tensor

from model.config import RunConfig
from model.losses_decl import alignment, dynamic_hinge, evidential, hinge_negatives, uncertainty
from model.options.decl import DECLConfig
from model.pairs import Pairs
from model.training import Batch, Look, Method, Phase, Scores, Step


class DECL(Method):
    def __init__(self, config: RunConfig, pairs: Pairs) -> None:
        super().__init__(config, pairs)
        assert isinstance(config.method_options, DECLConfig)
        self.options = config.method_options
        self.labels = torch.ones(self.networks, self.count)  # l that network k is taught with; all 1 in the warm-up
        self.shares = torch.zeros(self.networks, self.count)  # G_ii of network k, by momentum
        self.uncertainties = torch.zeros(self.networks, self.count)
        self.similarities = torch.zeros(self.networks, self.count)
        self.surveys = torch.tensor(0)

    def phases(self) -> Iterable[Phase]:
        yield Phase("warm-up", self.options.warmup_epochs, is_surveyed=False, is_scheduled=False)
        yield Phase("training", self.options.epochs)

    def survey(self, phase: Phase, look: Look) -> None:
        beta = self.options.momentum if self.surveys > 0 else 0.0
        for k in range(self.networks):
            label, share, self.uncertainties[k], self.similarities[k] = look(k, self._judge).unbind(dim=1)
            self.labels[self.other(k)] = self.settled(label)
            self.shares[k] = beta * self.shares[k] + (1 - beta) * share
        self.surveys += 1

    def loss(self, step: Step) -> Tensor:
        batch = step.batches["all"]
        options = self.options
        label = self.labels[step.network][batch.rows].to(batch.signed.device)
        evident = evidential(batch.signed, batch.forbidden, label, options.temperature, options.divergence_weight)
        negatives = hinge_negatives(len(label), step.number, options.annealing, options.least_negatives)
        hinge = dynamic_hinge(batch.signed, batch.forbidden, options.margin, negatives)
        # A mean and a sum, as in the released code. A noisy pair (l = 0) has no part in the hinge.
        return evident.mean() + options.hinge_weight * (label * hinge).sum()

    def scores(self) -> Scores:
        # What is divided is the loss 1 - G_ii, of which the label l is the hard form. It is bounded, and 1 for a
        # mismatch; unlike 1 - p-hat of Eq. 2 it does not move when L_kl takes evidence from all classes alike.
        shares = self.shares.mean(dim=0)
        scores = self.divided_scores(list(1 - self.shares), self.similarities.mean(dim=0), shares, noisy_mean=1.0)
        return replace(scores, uncertainty=self.uncertainties.mean(dim=0).clamp(0, 1).numpy())

    def _judge(self, batch: Batch) -> Tensor:
        given = batch.signed, batch.forbidden, self.options.temperature
        label, share = alignment(*given)
        return torch.stack([label, share, uncertainty(*given), batch.similarity.diagonal()], dim=1)
