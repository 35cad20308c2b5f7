"""The collection as the learning core sees it, and its features as float32 batches."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from model.errors import TrainingError


@dataclass(frozen=True)
class Pairs:
    """N image-caption pairs. Equal ids mean the same content, so such pairs are never negatives."""

    # Anything with len, .shape and indexing by an int64 array that gives (n, D) floats; images also (n, R, D).
    images: Any
    captions: Any
    image_ids: npt.NDArray[np.int64]  # (N,)
    caption_ids: npt.NDArray[np.int64]  # (N,)
    texts: Sequence[str] | None = None  # the captions themselves, for backbones that read words
    labels: npt.NDArray[np.int64] | None = None  # (N,) category of each pair, from 0; for MRL
    anchors: npt.NDArray[np.int8] | None = None  # (N,) what people said: 1 match, -1 mismatch, 0 nothing
    is_joint: bool = False  # one encoder made both sides in one space, so that their cosine means something
    probes: int = 0  # how many of them, the last ones, are known mismatches made of the others (model/probes.py)

    def __post_init__(self) -> None:
        numbers = ("is_joint", "probes")
        parts = {name: value for name, value in vars(self).items() if value is not None and name not in numbers}
        if len({len(value) for value in parts.values()}) != 1:
            raise ValueError(f"{', '.join(parts)} must have the same length")

    def __len__(self) -> int:
        return len(self.image_ids)

    @property
    def own(self) -> int:
        """How many are the collection's own: what users are told, and limits they are held to, are of these alone."""
        return len(self) - self.probes

    def contents(self) -> npt.NDArray[np.int64]:
        """(N,) a number for each image with each caption: the same for all pairs that show and say the same."""
        _, images = np.unique(self.image_ids, return_inverse=True)
        _, numbers = np.unique(images * (int(self.caption_ids.max()) + 1) + self.caption_ids, return_inverse=True)
        return np.asarray(numbers, np.int64)

    def learnable(self) -> npt.NDArray[np.bool_]:
        """(N,) False for what a person called a mismatch, and for repeats: a mismatch that is listed twice would be
        learned by heart in half the time."""
        rows = np.arange(len(self)) if self.anchors is None else np.flatnonzero(self.anchors >= 0)
        content = self.contents()
        if self.labels is not None:  # the same with another label is something else to learn
            content = content * (int(self.labels.max()) + 2) + self.labels + 1
        _, first = np.unique(content[rows], return_index=True)
        found = np.zeros(len(self), np.bool_)
        found[rows[first]] = True
        return found

    def as_reviewed(
        self, values: npt.NDArray[np.floating], rows: npt.NDArray[np.int64] | slice = slice(None)
    ) -> npt.NDArray[np.float32]:
        """How far each of these pairs is believed to match; a person's word is final."""
        if self.anchors is None:
            return np.asarray(values, np.float32)
        anchors = self.anchors[rows]
        return np.where(anchors == 0, values, anchors > 0).astype(np.float32)

    def taken(self, rows: npt.NDArray[np.int64]) -> "Pairs":
        """Some of them; nothing is copied but numbers."""
        return replace(
            self,
            images=Placed(self.images, rows),
            captions=Placed(self.captions, rows),
            image_ids=self.image_ids[rows],
            caption_ids=self.caption_ids[rows],
            texts=None if self.texts is None else PlacedTexts(self.texts, rows),
            labels=None if self.labels is None else self.labels[rows],
            anchors=None if self.anchors is None else self.anchors[rows],
            probes=int(np.count_nonzero(rows >= self.own)),
        )


class Placed:
    """Rows of an array as other numbers name them: an array that many pairs share, read where it lies."""

    def __init__(self, array: Any, places: npt.NDArray[np.int64]) -> None:
        self._array = array
        self._places = places

    @property
    def shape(self) -> tuple[int, ...]:
        return len(self._places), *self._array.shape[1:]

    def __len__(self) -> int:
        return len(self._places)

    def place(self, row: int) -> int:
        return int(self._places[row])

    def __getitem__(self, rows: npt.NDArray[np.int64] | slice) -> npt.NDArray[Any]:
        taken: npt.NDArray[Any] = self._array[self._places[rows]]
        return taken


class PlacedTexts(Sequence[str]):
    """The same for texts."""

    def __init__(self, texts: Sequence[str], places: npt.NDArray[np.int64]) -> None:
        self._texts = texts
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return [self._texts[int(place)] for place in self._places[row]]
        return self._texts[int(self._places[row])]


def gather(features: Any, rows: npt.NDArray[np.int64]) -> Tensor:
    """The named rows as a float32 tensor of their own, whatever the store holds."""
    values = torch.from_numpy(np.array(features[rows], dtype=np.float32))
    is_usable = torch.isfinite(values).flatten(start_dim=1).all(dim=1)
    if not is_usable.all():
        row = int(rows[int((~is_usable).nonzero()[0])])
        # A probe has the features of a pair, and that is the one to look at.
        pair = features.place(row) if isinstance(features, Placed) else row
        raise TrainingError(f"the features of pair {pair} are not finite")
    return values


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
