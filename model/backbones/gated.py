"""The `gated` backbone for video and text: gated embedding units over pooled features (LNC appendix D.2)."""

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from model.backbones.base import Items, Matcher
from model.backbones.dropout import Dropout
from model.options.backbones import GatedConfig


class Gated(Matcher):
    """One gated unit per side; S(v, t) is the cosine in the common space."""

    gives_vectors: ClassVar[bool] = True

    def __init__(self, options: GatedConfig, image_size: int, caption_size: int) -> None:
        super().__init__()
        self.images = GatedUnit(image_size, options.output_size, options.dropout)
        self.captions = GatedUnit(caption_size, options.output_size, options.dropout)

    def encode_images(self, images: Items) -> Items:
        return (functional.normalize(self.images(images[0]), dim=1),)

    def encode_captions(self, captions: Items) -> Items:
        return (functional.normalize(self.captions(captions[0]), dim=1),)

    def compare(self, images: Items, captions: Items) -> Tensor:
        return images[0] @ captions[0].T


class GatedUnit(nn.Module):
    def __init__(self, input_size: int, output_size: int, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.embed = nn.Linear(input_size, output_size)
        self.gate = nn.Linear(output_size, output_size)

    def forward(self, features: Tensor) -> Tensor:
        """Eq. D8 (LNC): (W1 x + b1) o sigmoid(W2 (W1 x + b1) + b2)."""
        embedded = self.embed(self.dropout(features))  # (n, D)
        gated: Tensor = embedded * torch.sigmoid(self.gate(embedded))
        return gated
