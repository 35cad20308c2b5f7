"""The contract of every backbone: features of a batch in, the (B, B) similarity matrix out."""

from abc import abstractmethod

from torch import Tensor, nn


class Matcher(nn.Module):
    """Encodes both sides and compares every image with every caption."""

    @abstractmethod
    def encode(self, images: Tensor, captions: Tensor) -> tuple[Tensor, Tensor]:
        """What `similarity` compares, one entry per image and one per caption."""

    @abstractmethod
    def similarity(self, images: Tensor, captions: Tensor) -> Tensor:
        """(images, captions) matrix of S(v, t) between encoded images and encoded captions."""

    def forward(self, images: Tensor, captions: Tensor) -> Tensor:
        return self.similarity(*self.encode(images, captions))
