"""The `head` backbone: pooled features, two small projection networks, cosine similarity.

It reads principal components of the features (model/inputs.py), learned from the collection without any gradient.
"""

from typing import ClassVar

from torch import Tensor, nn
from torch.nn import functional

from model.backbones.base import Items, Matcher
from model.backbones.dropout import Dropout
from model.options.backbones import HeadConfig


class Head(Matcher):
    """One hidden layer per side; S(v, t) is the cosine in the common space."""

    gives_vectors: ClassVar[bool] = True

    def __init__(self, options: HeadConfig, image_size: int, caption_size: int) -> None:
        super().__init__()
        self.images = _projection(options, image_size)
        self.captions = _projection(options, caption_size)

    def encode_images(self, images: Items) -> Items:
        return (functional.normalize(self.images(images[0]), dim=1),)

    def encode_captions(self, captions: Items) -> Items:
        return (functional.normalize(self.captions(captions[0]), dim=1),)

    def compare(self, images: Items, captions: Items) -> Tensor:
        return images[0] @ captions[0].T


def _projection(options: HeadConfig, size: int) -> nn.Sequential:
    return nn.Sequential(
        Dropout(options.dropout),
        nn.Linear(size, options.hidden_size),
        nn.ReLU(),
        Dropout(options.dropout),
        nn.Linear(options.hidden_size, options.output_size),
    )
