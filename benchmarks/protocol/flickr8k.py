"""Flickr8k features (Hodosh et al. 2013) as noisy pairs for training and clean ones for retrieval.

The folder's README has the protocol: five captions per image (30,000 pairs of `train`) or only the first (6,000),
noise by seed, retrieval on all captions of `dev`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.protocol.noise import near_misses, shuffled
from model.pairs import Pairs

CAPTIONS = 5
_FILES = ("images.tsv", "captions.tsv", "image_pool1280_f16.npy", "caption_minilm384_f16.npy")
_REGION_FILES = ("image_grid_pca192_int8.npy", "image_grid_pca192_scale.npz")

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class DataError(ValueError):
    """The folder is not there or not of the form that its README describes."""


class Taken:
    """Chosen rows of a memory-mapped array, read and brought to float32 only when asked for."""

    def __init__(self, source: npt.NDArray[Any], rows: Ints, scale: npt.NDArray[np.float32] | None = None) -> None:
        self._source = source
        self._rows = rows
        self._scale = scale
        self.shape = (len(rows), *source.shape[1:])

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, rows: Any) -> npt.NDArray[np.float32]:
        values = self._source[self._rows[rows]].astype(np.float32)
        return np.asarray(values if self._scale is None else values * self._scale)


@dataclass(frozen=True)
class Unseen:
    """Clean images and captions no training saw; `captions` are words where the backbone reads words."""

    images: Taken
    captions: Taken | Sequence[str]
    image_of_caption: Ints


class Flickr8k:
    """The folder, opened: nothing large is read before it is needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        missing = [name for name in _FILES if not (folder / name).is_file()]
        if missing:
            raise DataError(f"{folder} holds no {' and no '.join(missing)}")
        splits = [line[1] for line in _lines(folder / "images.tsv")]
        self._texts = [line[1] for line in _lines(folder / "captions.tsv")]
        self._pooled = np.load(folder / "image_pool1280_f16.npy", mmap_mode="r")
        self._captions = np.load(folder / "caption_minilm384_f16.npy", mmap_mode="r")
        sizes = {len(splits), len(self._pooled), len(self._texts) / CAPTIONS, len(self._captions) / CAPTIONS}
        if len(sizes) != 1:
            raise DataError(f"the files in {folder} differ in their number of images")
        self._split = {name: np.flatnonzero([kind == name for kind in splits]) for name in ("train", "dev")}
        # Equal features are one picture uploaded twice; it goes by the row of its first copy.
        _, first, inverse = np.unique(self._pooled, axis=0, return_index=True, return_inverse=True)
        self._picture = first[inverse.ravel()].astype(np.int64)

    def count(self, *, is_quick: bool) -> int:
        """Pairs to train on."""
        return len(self._split["train"]) * (1 if is_quick else CAPTIONS)

    def training(
        self,
        noise: float,
        seed: int,
        *,
        is_hard: bool = False,
        is_quick: bool = False,
        with_regions: bool = False,
        part: slice = slice(None),
    ) -> tuple[Pairs, Bools]:
        """Noisy pairs of a part of the photographs, and which of them are mismatched."""
        chosen = self._split["train"][part]
        images = np.repeat(chosen, 1 if is_quick else CAPTIONS)
        captions = chosen * CAPTIONS if is_quick else _captions_of(chosen)
        own = self._picture[images]
        given = near_misses(own, self._pooled, noise, seed) if is_hard else shuffled(own, noise, seed)
        texts = [self._texts[row] for row in captions]
        _, caption_ids = np.unique(texts, return_inverse=True)
        features = self._regions(given) if with_regions else Taken(self._pooled, given)
        pairs = Pairs(features, Taken(self._captions, captions), given, caption_ids.astype(np.int64), texts)
        return pairs, given != own

    def unseen(self, *, with_regions: bool = False, with_words: bool = False) -> Unseen:
        """All of `dev`, for retrieval."""
        images, captions = self._split["dev"], _captions_of(self._split["dev"])
        features = self._regions(images) if with_regions else Taken(self._pooled, images)
        read = [self._texts[row] for row in captions] if with_words else Taken(self._captions, captions)
        return Unseen(features, read, np.repeat(np.arange(len(images)), CAPTIONS))

    def _regions(self, images: Ints) -> Taken:
        missing = [name for name in _REGION_FILES if not (self._folder / name).is_file()]
        if missing:
            raise DataError(f"{self._folder} holds no {' and no '.join(missing)}, which this backbone reads")
        grid, scales = (self._folder / name for name in _REGION_FILES)
        with np.load(scales) as stored:
            scale = stored["scale"].astype(np.float32)
        return Taken(np.load(grid, mmap_mode="r"), images, scale)


def _captions_of(images: Ints) -> Ints:
    return np.asarray((images[:, None] * CAPTIONS + np.arange(CAPTIONS)).ravel())


def _lines(file: Path) -> list[list[str]]:
    """The two fields of every line."""
    lines = [line.split("\t") for line in file.read_text(encoding="utf-8").removesuffix("\n").split("\n")]
    wrong = next((number for number, line in enumerate(lines, start=1) if len(line) != 2), None)
    if wrong is not None:
        raise DataError(f"{file}, line {wrong}: expected two fields separated by a tab")
    return lines
