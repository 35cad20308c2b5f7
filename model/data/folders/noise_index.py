"""The noise index files of the papers: which image each caption was given instead of its own.

Two kinds exist: an image index for each caption, and a permutation of the images, all captions of an image together.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.data.folders.arrays import map_array
from model.data.folders.folder import Folder
from model.data.folders.listing import Listing
from model.data.rows import FileError

_BLOCK = 1 << 20


class NoiseIndex:
    """`images` rows are stored, each image `repeats` times in a row; `captions` captions belong to them."""

    def __init__(self, values: NDArray[Any], name: str, images: int, captions: int, repeats: int) -> None:
        distinct = images // repeats
        if values.ndim != 1 or values.dtype.kind not in "iu" or len(values) not in {captions, images, distinct}:
            raise FileError(
                "bad_noise_index",
                f"{name} holds {values.dtype} of shape {values.shape}; it must hold whole numbers, one for each of the "
                f"{captions:,} captions or one for each of the {distinct:,} images.",
            )
        low, high = _range(values)
        if low < 0 or high >= images:
            raise FileError(
                "bad_noise_index", f"{name} has values from {low:,} to {high:,}, but images are 0 to {images - 1:,}."
            )
        self.kind = "image per caption" if len(values) == captions else "permutation of images"
        self._values = values
        self._captions_each = captions // len(values)
        # Counted over distinct images although they are stored repeated: no value reaches the later rows.
        self._scale = repeats if repeats > 1 and high < distinct else 1

    def image_of(self, caption: int) -> int:
        return int(self._values[caption // self._captions_each]) * self._scale


def read_noise_index(
    folder: Folder, listing: Listing, given: str, images: int, captions: int, repeats: int
) -> NoiseIndex:
    """By the name of the member, or by the end of its path where only one fits."""
    fits = [name for name in listing.files if name == given or name.endswith(f"/{given}")]
    if len(fits) != 1:
        arrays = [name for name in sorted(listing.files) if name.endswith(".npy")]
        raise FileError(
            "no_noise_index",
            f"{folder.label} has {len(fits)} files named {given!r}; its arrays are {', '.join(arrays[:10]) or 'none'}.",
        )
    values = map_array(folder.locate(listing.files[fits[0]]), fits[0])
    return NoiseIndex(values, fits[0], images, captions, repeats)


def _range(values: NDArray[Any]) -> tuple[int, int]:
    blocks = [values[at : at + _BLOCK] for at in range(0, len(values), _BLOCK)]
    return min(int(np.min(block)) for block in blocks), max(int(np.max(block)) for block in blocks)
