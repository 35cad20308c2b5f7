"""LNC: Huang et al., Learning with Noisy Correspondence, the journal version of NCR.

Equation numbers are that paper's. Everything after the warm-up is NCR's; the warm-up gains momentum regularisation
(Eq. 4-6) and leaves out half of what both networks call noisy (Eq. 7, Algorithm 1).
"""

from collections.abc import Iterable
from dataclasses import replace

import torch
from torch import Tensor

from model.config import RunConfig
from model.losses import momentum_regularisation, predict
from model.methods.ncr import NCR, WARMUP
from model.options.ncr import LNCConfig
from model.pairs import Pairs
from model.training import Batch, Look, Phase

# Keeps the draws of what is abandoned apart from those of the batches.
_ABANDON_SEED = 104729


class LNC(NCR):
    options: LNCConfig

    def __init__(self, config: RunConfig, pairs: Pairs) -> None:
        super().__init__(config, pairs)
        assert isinstance(config.method_options, LNCConfig)
        self.targets = torch.ones(self.networks, self.count)  # gamma of Eq. 5, gamma^0 = 1
        self.surveys = torch.tensor(0)

    def phases(self) -> Iterable[Phase]:
        warmup, *training = super().phases()
        # Before the first epoch there is nothing to judge: gamma is 1 and D_w is the whole collection.
        yield replace(warmup, epochs=min(1, warmup.epochs))
        is_surveyed = self.options.is_regularised or self.options.abandons_noise
        yield replace(warmup, epochs=max(0, warmup.epochs - 1), is_surveyed=is_surveyed)
        yield from training

    def survey(self, phase: Phase, look: Look) -> None:
        super().survey(phase, look)
        beta = self.options.momentum
        self.targets = beta * self.targets + (1 - beta) * self.predictions  # Eq. 5, once per epoch
        self.surveys += 1

    def subsets(self, phase: Phase, network: int) -> dict[str, Tensor]:
        if phase.name != WARMUP or not self.options.abandons_noise or self.surveys == 0:
            return super().subsets(phase, network)
        detected = (self.confidences < self.options.clean_above).all(dim=0).nonzero().flatten()  # Eq. 7
        # The same half for both networks, another one every epoch, known from the seed and the epoch alone.
        generator = torch.Generator().manual_seed(self.config.seed + _ABANDON_SEED + int(self.surveys))
        abandoned = detected[torch.randperm(len(detected), generator=generator)[: len(detected) // 2]]
        kept = torch.ones(self.count, dtype=torch.bool)
        kept[abandoned] = False
        return {"all": kept.nonzero().flatten()}

    def warmup(self, batch: Batch, network: int) -> Tensor:
        """L_w of Eq. 6, one value per pair: the mean of Eq. 4 is over pairs, as is that of L_tri."""
        plain = super().warmup(batch, network)
        if not self.options.is_regularised:
            return plain
        prediction = predict(batch.similarity, batch.forbidden, self.options.margin)
        target = self.targets[network][batch.rows].to(prediction.device)
        return plain + self.options.regularisation * momentum_regularisation(prediction, target)
