"""The collection as the learning core sees it, and its features as float32 batches."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from model.training import TrainingError

# Standardised features up to this size are kept in memory for the whole training.
RESIDENT_BYTES = 2 * 1024**3
_CHUNK_ROWS = 4096

Transform = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Pairs:
    """N image-caption pairs. Equal ids mean the same content, so such pairs are never negatives."""

    # Anything with len, .shape and indexing by an int64 array that gives (n, D) floats.
    images: Any
    captions: Any
    image_ids: npt.NDArray[np.int64]  # (N,)
    caption_ids: npt.NDArray[np.int64]  # (N,)

    def __post_init__(self) -> None:
        if not len(self.images) == len(self.captions) == len(self.image_ids) == len(self.caption_ids):
            raise ValueError("images, captions, image_ids and caption_ids must have the same length")

    def __len__(self) -> int:
        return len(self.image_ids)


def gather(features: Any, rows: npt.NDArray[np.int64]) -> Tensor:
    """The named rows as a float32 tensor of their own, whatever the store holds."""
    values = torch.from_numpy(np.array(features[rows], dtype=np.float32))
    is_usable = torch.isfinite(values).flatten(start_dim=1).all(dim=1)
    if not is_usable.all():
        raise TrainingError(f"the features of pair {rows[int((~is_usable).nonzero()[0])]} are not finite")
    return values


class Side:
    """One side of the collection, standardised: from memory where it fits, else batch by batch."""

    def __init__(self, features: Any, transform: Transform, width: int, device: torch.device) -> None:
        self._features = features
        self._transform = transform
        self._device = device
        self._resident: Tensor | None = None
        if len(features) * width * 4 <= RESIDENT_BYTES:
            rows = np.arange(len(features), dtype=np.int64)
            chunks = [self._read(rows[at : at + _CHUNK_ROWS]) for at in range(0, len(rows), _CHUNK_ROWS)]
            self._resident = torch.cat(chunks)

    def __getitem__(self, rows: Tensor) -> Tensor:
        if self._resident is not None:
            return self._resident[rows.to(self._device)]
        return self._read(rows.numpy())

    def _read(self, rows: npt.NDArray[np.int64]) -> Tensor:
        return self._transform(gather(self._features, rows).to(self._device))


class Identity:
    """Which pairs of a batch share content: True where (i, j) may not be used as a negative."""

    def __init__(self, pairs: Pairs, device: torch.device) -> None:
        self._images = torch.from_numpy(np.asarray(pairs.image_ids, dtype=np.int64)).to(device)
        self._captions = torch.from_numpy(np.asarray(pairs.caption_ids, dtype=np.int64)).to(device)

    def forbidden(self, rows: Tensor) -> Tensor:
        """(B, B) mask, the diagonal included: a pair is not its own negative."""
        rows = rows.to(self._images.device)
        images, captions = self._images[rows], self._captions[rows]
        return (images[:, None] == images[None, :]) | (captions[:, None] == captions[None, :])
