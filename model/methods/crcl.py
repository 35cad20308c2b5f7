"""CRCL: Qin et al. 2023, Cross-modal Active Complementary Learning with Self-refining Correspondence.

Equation numbers are that paper's. Co-taught as our extension: the label that network k learns a pair with is
refined by the predictions of the other network, so that neither confirms what it has itself memorised.
"""

from collections.abc import Iterable
from dataclasses import replace

import torch
from torch import Tensor

from model.config import RunConfig
from model.losses import active, complementary, matching_log_probabilities, matching_probability
from model.options.crcl import CRCLConfig
from model.pairs import Pairs
from model.training import Batch, Look, Method, Phase, Scores, Step, grown

# Above this noise rate extra pieces are needed: there are more mismatches than matches.
_VERY_NOISY = 0.5


class CRCL(Method):
    def __init__(self, config: RunConfig, pairs: Pairs) -> None:
        super().__init__(config, pairs)
        assert isinstance(config.method_options, CRCLConfig)
        self.options = config.method_options
        self.labels = torch.ones(self.networks, self.count)  # y of Eq. 11, one row per network that learns with it
        self.similarities = torch.zeros(self.networks, self.count)
        self.updates = torch.tensor(0)
        self.noise_rate = torch.tensor(0.0)  # as the last advice has it

    def phases(self) -> Iterable[Phase]:
        *early, last = self.options.piece_epochs
        pieces = [*early, grown(last, self.options.growth, self.count)]
        frozen, every = self.options.freeze_epochs, self.options.advice_every
        for number, epochs in enumerate(pieces):
            name, is_advised = f"piece {number + 1}", number > 0 and every > 0 and number % every == 0
            whole = Phase(
                name,
                epochs,
                fresh_networks=True,
                takes_advice=is_advised,
                is_extra=0 < self.options.enough_pieces <= number,
            )
            if frozen:
                yield replace(whole, name=f"{name}, labels frozen", epochs=frozen, is_surveyed=False)
                yield replace(whole, fresh_networks=False, takes_advice=False)
            else:
                yield whole

    def survey(self, phase: Phase, look: Look) -> None:
        for k in range(self.networks):
            probability, self.similarities[k] = look(k, self._judge).unbind(dim=1)
            taught = self.other(k)
            # Eq. 11: the first prediction replaces the initial label, later ones move it by momentum. The
            # prediction is that of the whole previous epoch in evaluation mode, as the equation has it; the
            # released code takes each batch's own under dropout.
            beta = self.options.momentum if self.updates > 0 else 0.0
            self.labels[taught] = self.settled(beta * self.labels[taught] + (1 - beta) * probability)
        self.updates += 1

    def advised(self, matching: Tensor) -> None:
        """Our extension of Eq. 11: labels of a new piece that know more than the networks' own predictions."""
        self.labels[:] = self.settled(matching)
        self.noise_rate = 1 - matching.mean()

    def needs(self, phase: Phase) -> bool:
        return bool(self.noise_rate > _VERY_NOISY)

    def loss(self, step: Step) -> Tensor:
        batch = step.batches["all"]
        label = self.labels[step.network][batch.rows].to(batch.similarity.device)
        # Eq. 12. The zero is used here and not written back (the released code does): a label may recover.
        label = label.masked_fill(label < self.options.noisy_below, 0.0)
        q = 1 - label if self.options.recast_q else torch.full_like(label, self.options.q)
        matching = matching_log_probabilities(batch.similarity, batch.forbidden, self.options.temperature)
        direct, indirect = label * active(matching), complementary(matching, q)
        # Eq. 8 and 9
        return (self.options.active_weight * direct + self.options.complementary_weight * indirect).mean()

    def scores(self) -> Scores:
        # What is divided is the loss 1 - y. It is bounded, so its mixture has no long tail of clean pairs to
        # mistake for mismatches, as that of -log p has; and the momentum holds what was seen before a pair
        # could be memorised. The label of a mismatch is 0. Row 1 - k holds the predictions of network k.
        losses = [1 - self.labels[self.other(k)] for k in range(self.networks)]
        return self.divided_scores(losses, self.similarities.mean(dim=0), self.labels.mean(dim=0), noisy_mean=1.0)

    def _judge(self, batch: Batch) -> Tensor:
        probability = matching_probability(batch.similarity, batch.forbidden, self.options.temperature)
        return torch.stack([probability, batch.similarity.diagonal()], dim=1)
