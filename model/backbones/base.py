"""The contract of every backbone: items of a batch in, the (B, B) similarity matrix out.

Items are a tuple of tensors with one entry per image (or caption) along the first dimension, so that any part of
them can be taken, moved or gathered without knowing what they are.
"""

from abc import abstractmethod
from typing import ClassVar

from torch import Tensor, nn
from torch.nn import functional

# Pooled features (features,), regions (regions,), words (tokens, lengths); encoded, whatever a backbone compares.
Items = tuple[Tensor, ...]


class Matcher(nn.Module):
    """Encodes both sides and compares every image with every caption."""

    gives_vectors: ClassVar[bool] = False  # encoded items are one (n, D) tensor of unit vectors

    @abstractmethod
    def encode_images(self, images: Items) -> Items:
        """What `compare` needs of every image."""

    @abstractmethod
    def encode_captions(self, captions: Items) -> Items:
        """What `compare` needs of every caption."""

    @abstractmethod
    def compare(self, images: Items, captions: Items) -> Tensor:
        """(images, captions, ...) raw scores between encoded images and encoded captions."""

    def similarity(self, raw: Tensor) -> Tensor:
        """(images, captions) matrix of S(v, t)."""
        return raw

    def signed(self, raw: Tensor) -> Tensor:
        """(images, captions) matrix of the score in [-1, 1], before any sigmoid."""
        return raw

    def forward(self, images: Items, captions: Items) -> Tensor:
        return self.similarity(self.compare(self.encode_images(images), self.encode_captions(captions)))


class VectorMatcher(Matcher):
    """One unit vector per item; S(v, t) is their cosine. `images` and `captions` embed the items of each side."""

    gives_vectors: ClassVar[bool] = True

    def __init__(self, images: nn.Module, captions: nn.Module) -> None:
        super().__init__()
        self.images = images
        self.captions = captions

    def encode_images(self, images: Items) -> Items:
        return (functional.normalize(self.images(*images), dim=1),)

    def encode_captions(self, captions: Items) -> Items:
        return (functional.normalize(self.captions(*captions), dim=1),)

    def compare(self, images: Items, captions: Items) -> Tensor:
        return images[0] @ captions[0].T
