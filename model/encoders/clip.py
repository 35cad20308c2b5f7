"""The encoder `open_clip:<architecture>:<tag or file>`: any model of open_clip (Ilharco et al., 2021).

Both towers end in one space; the vectors have length 1, so their product is the cosine similarity.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from functools import cached_property
from typing import Any

import numpy as np
import torch
from PIL import Image

from model.encoders.base import EncoderError, Vectors
from model.encoders.clip_models import find_model, local_file_hint, open_clip_package
from model.encoders.clip_text import CHARACTERS_PER_TOKEN, CappedTokenizer, TextTower
from model.encoders.prepare import GAP
from model.encoders.threads import in_threads

IMAGES, CAPTIONS = 8, 32  # in a batch on a processor, where more gain nothing
GPU_BATCH = 256


class OpenClipEncoder:
    is_joint = True

    def __init__(self, architecture: str, weights: str, threads: int | None = None) -> None:
        self.name = f"open_clip:{architecture}:{weights}"
        self._model = find_model(architecture, weights)
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self._threads = 1 if self._device.type == "cuda" else threads or len(os.sched_getaffinity(0))
        self.preparation = self._model.preparation
        self.image_width: int = self._model.config["embed_dim"]
        self.caption_width = self.image_width
        self.regions = _regions(self._model.config["vision_cfg"])

    @cached_property
    def identity(self) -> str:
        with self._model.file.open("rb") as file:
            weights = hashlib.file_digest(file, "sha256").hexdigest()
        recipe = {
            "weights": weights,
            "config": self._model.config,
            "images": [asdict(self.preparation), GAP, self._model.mean, self._model.std],
            "captions": [self._model.architecture, CHARACTERS_PER_TOKEN],  # the tokenizer follows from the name
            "precision": str(self._precision),
        }
        digest = hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()
        return f"open_clip-{re.sub('[^a-z0-9]+', '-', self._model.architecture.lower())}-{digest[:16]}"

    def prepare_image(self, image: Image.Image) -> Image.Image:
        return self.preparation.apply(image)

    def encode_images(self, images: Sequence[Image.Image]) -> Vectors:
        network = self._network
        return self._encode_pixels(images, lambda x: network.encode_image(x, normalize=True), (self.image_width,))

    def encode_regions(self, images: Sequence[Image.Image]) -> Vectors:
        """The patches after the last layer and its norm, row by row, not brought to length 1."""
        if self.regions is None:
            raise EncoderError(f"{self._model.architecture} gives no regions; take an architecture like ViT-B-32.")
        visual = self._network.visual
        # Where pooling comes before the norm, the norm was not trained for single patches.
        is_normed = visual.attn_pool is None and not visual.final_ln_after_pool

        def patches(pixels: torch.Tensor) -> torch.Tensor:
            kept = {"indices": 1, "normalize_intermediates": is_normed, "intermediates_only": True, "output_fmt": "NLC"}
            last: torch.Tensor = visual.forward_intermediates(pixels, **kept)["image_intermediates"][-1]
            return last

        return self._encode_pixels(images, patches, self.regions)

    def encode_captions(self, captions: Sequence[str]) -> Vectors:
        return self.encode_tokens(self.tokenize(captions))

    def tokenize(self, captions: Sequence[str]) -> torch.Tensor:  # (n, context length)
        return self._tokenizer(captions)

    def encode_tokens(self, tokens: torch.Tensor) -> Vectors:
        """In batches of like length, so that little is computed over padding."""
        out = np.empty((len(tokens), self.caption_width), np.float32)
        tower = TextTower(self._network)
        order = torch.argsort(tower.lengths(tokens), stable=True)
        batch = GPU_BATCH if self._device.type == "cuda" else CAPTIONS

        def run(start: int) -> None:
            chosen = order[start : start + batch]
            with torch.inference_mode(), self._mixed():
                out[chosen.numpy()] = tower.encode(tokens[chosen].to(self._device)).float().cpu().numpy()

        in_threads(run, range(0, len(order), batch), self._threads)
        return out

    def _encode_pixels(
        self,
        images: Sequence[Image.Image],
        encode: Callable[[torch.Tensor], torch.Tensor],
        shape: tuple[int, ...],
    ) -> Vectors:
        out = np.empty((len(images), *shape), np.float32)
        batch = GPU_BATCH if self._device.type == "cuda" else IMAGES

        def run(start: int) -> None:
            with torch.inference_mode(), self._mixed():
                out[start : start + batch] = encode(self._pixels(images[start : start + batch])).float().cpu().numpy()

        in_threads(run, range(0, len(images), batch), self._threads)
        return out

    def _pixels(self, images: Sequence[Image.Image]) -> torch.Tensor:  # (B, 3, size, size)
        pixels = np.stack([np.asarray(self.prepare_image(image), np.uint8) for image in images])
        scaled = torch.from_numpy(pixels).to(self._device).permute(0, 3, 1, 2).float() / 255
        mean, std = (torch.tensor(of, device=self._device)[:, None, None] for of in (self._model.mean, self._model.std))
        return (scaled - mean) / std

    @property
    def _precision(self) -> torch.dtype:
        if self._device.type == "cpu":
            return torch.float32
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16

    def _mixed(self) -> AbstractContextManager[object]:
        return nullcontext() if self._device.type == "cpu" else torch.autocast(self._device.type, self._precision)

    # Loaded at the first use: a resumed job may need nothing of it.
    @cached_property
    def _network(self) -> Any:
        architecture, file = self._model.architecture, self._model.file
        try:
            network = open_clip_package().create_model(architecture, str(file), device=self._device)
        except Exception as error:  # a file from a stranger makes the loaders raise nearly every kind
            raise EncoderError(
                f"{str(file)!r} could not be loaded as weights of {architecture}: {_brief(error)}\n"
                f"It must be a state dict of this very architecture. {local_file_hint(architecture)}"
            ) from error
        return network.requires_grad_(False).eval()

    @cached_property
    def _tokenizer(self) -> CappedTokenizer:
        try:
            return CappedTokenizer(open_clip_package().get_tokenizer(self._model.architecture))
        except Exception as error:  # whatever the network, the hub's library or its cache can raise
            name = self._model.config["text_cfg"].get("hf_tokenizer_name", "of its own")
            raise EncoderError(
                f"The tokenizer {name} of {self._model.architecture} could not be downloaded: {_brief(error)}\n"
                "Put it into the cache of the Hugging Face hub (HF_HOME) where there is a connection."
            ) from error


def _regions(vision: dict[str, Any]) -> tuple[int, int] | None:
    """Number and width of the patches of open_clip's own ViT; its other towers have none, or in many forms."""
    from open_clip.model import CLIPVisionCfg

    options = CLIPVisionCfg(**vision)
    if options.timm_model_name or not isinstance(options.layers, int) or not isinstance(options.image_size, int):
        return None
    return (options.image_size // options.patch_size) ** 2, options.width


def _brief(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
