"""The `gated` backbone for video and text: gated embedding units over pooled features (LNC appendix D.2)."""

import torch
from torch import Tensor, nn

from model.backbones.base import VectorMatcher
from model.backbones.dropout import Dropout
from model.options.backbones import GatedConfig


class Gated(VectorMatcher):
    """One gated unit per side."""

    def __init__(self, options: GatedConfig, image_size: int, caption_size: int) -> None:
        size, dropout = options.output_size, options.dropout
        super().__init__(GatedUnit(image_size, size, dropout), GatedUnit(caption_size, size, dropout))


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
