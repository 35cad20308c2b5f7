"""The `sgraf` backbone: SGR and SAF, each complete, side by side (Diao et al. 2021)."""

import torch
from torch import Tensor

from model.backbones.base import Items, Matcher
from model.backbones.saf import SAF
from model.backbones.sgr import SGR
from model.options.backbones import SGRAFConfig


class SGRAF(Matcher):
    """S(v, t) is the mean of both. The papers train the two apart and average afterwards; here one network learns
    by the mean, so that a method judges pairs by the very score that is exported."""

    def __init__(self, options: SGRAFConfig, region_size: int, vocabulary_size: int) -> None:
        super().__init__()
        self.reasoning = SGR(options, region_size, vocabulary_size)
        self.filtration = SAF(options, region_size, vocabulary_size)

    def encode_images(self, images: Items) -> Items:
        return self.reasoning.encode_images(images) + self.filtration.encode_images(images)

    def encode_captions(self, captions: Items) -> Items:
        return self.reasoning.encode_captions(captions) + self.filtration.encode_captions(captions)

    def compare(self, images: Items, captions: Items) -> Tensor:
        """(images, captions, 2)."""
        reasoned = self.reasoning.compare(images[:2], captions[:3])
        return torch.stack([reasoned, self.filtration.compare(images[2:], captions[3:])], dim=2)

    def similarity(self, raw: Tensor) -> Tensor:
        return raw.sigmoid().mean(dim=2)

    def signed(self, raw: Tensor) -> Tensor:
        return raw.tanh().mean(dim=2)
