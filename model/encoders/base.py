"""What an encoder is: images and captions to vectors, with an identity under which the vectors are stored."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Vectors = NDArray[np.float32]  # (n, D)

ENCODERS = ("lite",)


class Encoder(Protocol):
    name: str
    image_width: int
    caption_width: int

    @property
    def identity(self) -> str:
        """Name, weights and preprocessing in one word fit for a folder: equal only if the vectors are."""

    def prepare_image(self, image: Image.Image) -> Image.Image:
        """To the network's own size. Free of the network, so that other threads can do it ahead."""

    def encode_images(self, images: Sequence[Image.Image]) -> Vectors: ...

    def encode_captions(self, captions: Sequence[str]) -> Vectors: ...


def load_encoder(name: str, threads: int | None = None) -> Encoder:
    """The encoder of that name, working on `threads` processors, all of them where nothing is said."""
    if name == "lite":
        from model.encoders.lite import LiteEncoder  # its libraries take seconds to import

        return LiteEncoder(threads)
    raise ValueError(f"unknown encoder {name!r}; choose one of: {', '.join(ENCODERS)}")
