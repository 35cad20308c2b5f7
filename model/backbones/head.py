"""The `head` backbone: pooled features, two small projection networks, cosine similarity.

It reads principal components of the features (model/inputs.py), learned from the collection without any gradient.
"""

from torch import nn

from model.backbones.base import VectorMatcher
from model.backbones.dropout import Dropout
from model.options.backbones import HeadConfig


class Head(VectorMatcher):
    """One hidden layer per side."""

    def __init__(self, options: HeadConfig, image_size: int, caption_size: int) -> None:
        super().__init__(_projection(options, image_size), _projection(options, caption_size))


def _projection(options: HeadConfig, size: int) -> nn.Sequential:
    return nn.Sequential(
        Dropout(options.dropout),
        nn.Linear(size, options.hidden_size),
        nn.ReLU(),
        Dropout(options.dropout),
        nn.Linear(options.hidden_size, options.output_size),
    )
