"""The encoder `lite`: real weights that come with the installation, so it works without any download."""

import hashlib
import os
from collections.abc import Sequence
from functools import cached_property

from PIL import Image

from model.encoders import efficientnet, minilm
from model.encoders.base import EncoderError, Vectors


class LiteEncoder:
    name = "lite"
    image_width = efficientnet.WIDTH
    caption_width = minilm.WIDTH
    is_joint = False
    regions: tuple[int, int] | None = None
    preparation = efficientnet.PREPARATION

    def __init__(self, threads: int | None = None) -> None:
        self._threads = threads or len(os.sched_getaffinity(0))

    @cached_property
    def identity(self) -> str:
        digest = hashlib.sha256(f"{efficientnet.RECIPE}\n{minilm.RECIPE}\n".encode())
        for path in [efficientnet.weights_file(), *minilm.weights_files()]:
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        return f"{self.name}-{digest.hexdigest()[:16]}"

    def prepare_image(self, image: Image.Image) -> Image.Image:
        return self.preparation.apply(image)

    def encode_images(self, images: Sequence[Image.Image]) -> Vectors:
        return self._images.encode(images)

    def encode_regions(self, images: Sequence[Image.Image]) -> Vectors:
        raise EncoderError("lite gives one vector for an image, no regions; take a ViT of open_clip.")

    def encode_captions(self, captions: Sequence[str]) -> Vectors:
        return self.encode_tokens(self.tokenize(captions))

    def tokenize(self, captions: Sequence[str]) -> list[list[int]]:
        return self._captions.tokenize(captions)

    def encode_tokens(self, tokens: list[list[int]]) -> Vectors:
        return self._captions.encode(tokens)

    # Loaded at the first use: a resumed job may need only one of them, or neither.
    @cached_property
    def _images(self) -> efficientnet.ImageTower:
        return efficientnet.ImageTower(self._threads)

    @cached_property
    def _captions(self) -> minilm.CaptionTower:
        return minilm.CaptionTower(self._threads)
