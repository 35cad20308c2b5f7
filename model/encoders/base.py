"""What an encoder is: images and captions to vectors, with an identity under which the vectors are stored."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from model.encoders.prepare import Preparation
from model.options.base import ConfigError
from model.options.encoders import EncoderName, parse_encoder

Vectors = NDArray[np.float32]  # (n, D), or (n, R, D) where regions are meant


class EncoderError(ValueError):
    """The encoder cannot be had; the message says what to do."""


class Encoder(Protocol):
    """Networks are loaded at their first use, so one can be asked for its identity, or for captions only."""

    name: str
    image_width: int
    caption_width: int
    is_joint: bool  # images and captions lie in one space of length-1 vectors: their product is a similarity
    regions: tuple[int, int] | None  # R and D of encode_regions; None where there are none
    preparation: Preparation

    @property
    def identity(self) -> str:
        """Kind, weights and preprocessing in one word fit for a folder: equal only if the vectors are."""

    def prepare_image(self, image: Image.Image) -> Image.Image:
        """To the network's own size. Free of the network, so that others can do it ahead."""

    def encode_images(self, images: Sequence[Image.Image]) -> Vectors: ...

    def encode_regions(self, images: Sequence[Image.Image]) -> Vectors: ...

    def encode_captions(self, captions: Sequence[str]) -> Vectors:
        """The two that follow, one after the other."""

    def tokenize(self, captions: Sequence[str]) -> Any: ...

    def encode_tokens(self, tokens: Any) -> Vectors: ...


def load_encoder(name: str, threads: int | None = None) -> Encoder:
    """The encoder of that name, working on `threads` processors, all of them where nothing is said."""
    try:
        parts = parse_encoder(name)
    except ConfigError as error:
        raise EncoderError(error.message) from error
    return _LOADERS[parts.kind](parts, threads)


def _load_lite(parts: EncoderName, threads: int | None) -> Encoder:
    from model.encoders.lite import LiteEncoder  # its libraries take seconds to import

    return LiteEncoder(threads)


def _load_open_clip(parts: EncoderName, threads: int | None) -> Encoder:
    from model.encoders.clip import OpenClipEncoder

    return OpenClipEncoder(parts.architecture, parts.weights, threads)


def _load_precomputed(parts: EncoderName, threads: int | None) -> Encoder:
    raise EncoderError(
        "precomputed is no network: the features come with the upload. For images choose lite or open_clip."
    )


_LOADERS: dict[str, Callable[[EncoderName, int | None], Encoder]] = {
    "lite": _load_lite,
    "open_clip": _load_open_clip,
    "precomputed": _load_precomputed,
}
