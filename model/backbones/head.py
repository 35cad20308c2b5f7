"""The `head` backbone: pooled features, two small projection networks, cosine similarity.

It reads principal components of the features (model/inputs.py), learned from the collection without any gradient.
"""

from dataclasses import replace

from torch import Tensor, nn

from model.backbones.base import VectorMatcher
from model.backbones.dropout import Dropout
from model.options.backbones import HeadConfig


class Head(VectorMatcher):
    """One hidden layer per side."""

    def __init__(self, options: HeadConfig, image_size: int, caption_size: int) -> None:
        if options.start == "identity":
            super().__init__(Correction(options, image_size), Correction(options, caption_size))
        else:
            super().__init__(_projection(options, image_size), _projection(options, caption_size))


class Correction(nn.Module):
    """The features of a joint encoder, and what is learned to add to them; nothing at the start."""

    def __init__(self, options: HeadConfig, size: int) -> None:
        super().__init__()
        self.layers = _projection(replace(options, output_size=size), size)
        for parameter in self.layers[-1].parameters():
            nn.init.zeros_(parameter)

    def forward(self, features: Tensor) -> Tensor:
        corrected: Tensor = features + self.layers(features)
        return corrected


def _projection(options: HeadConfig, size: int) -> nn.Sequential:
    return nn.Sequential(
        Dropout(options.dropout),
        nn.Linear(size, options.hidden_size),
        nn.ReLU(),
        Dropout(options.dropout),
        nn.Linear(options.hidden_size, options.output_size),
    )
