"""What the networks read: features as standardised float32 tensors, captions as numbered words.

A reader is fitted on the collection once and saved with the networks; a Side keeps what it has read in memory
where that fits.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from model.backbones.base import Items
from model.errors import TrainingError
from model.pairs import gather
from model.positions import spread
from model.words import PAD, Vocabulary

# What is read up to this size is kept in memory for the whole training.
RESIDENT_BYTES = 2 * 1024**3
_CHUNK_ROWS = 4096
# So many rows tell how large all would be.
_PROBE_ROWS = 64
# More rows than this do not change the components; evenly spaced, so the choice is the same every time.
_FIT_ROWS = 8192

Rows = npt.NDArray[np.int64]


class FeatureReader:
    """Centred features: pooled onto their principal components, regions only brought to a common scale.

    Components keep their own scale: whitening them raises what is mere noise in the encoder.
    """

    def __init__(self, mean: Tensor, basis: Tensor, is_pooled: bool) -> None:
        self.mean = mean  # (D,)
        self.basis = basis  # (D, components), or one number that scales all
        self.is_pooled = is_pooled

    @classmethod
    def fit(cls, features: Any, is_pooled: bool, components: int) -> "FeatureReader":
        """From (a fixed sample of) the collection; no gradient, no labels."""
        count = len(features)
        rows = spread(count, _FIT_ROWS)
        sample = _shaped(gather(features, rows), is_pooled).double().flatten(end_dim=-2)
        mean = sample.mean(dim=0)
        if not is_pooled:
            deviation = (sample - mean).square().mean().sqrt()
            return cls(mean.float(), (1 / deviation.clamp(min=1e-6)).float(), is_pooled)
        values, vectors = torch.linalg.eigh(torch.cov(sample.T))  # ascending
        kept = min(components, len(values), max(1, len(rows) - 1))
        basis = vectors.flip(1)[:, :kept]
        # eigh leaves the sign open; this makes it a function of the data alone.
        largest = basis.abs().argmax(dim=0)
        basis = basis * basis[largest, torch.arange(kept)].sign()
        deviation = values.flip(0)[:kept].clamp(min=0).mean().sqrt()
        return cls(mean.float(), (basis / deviation.clamp(min=1e-6)).float(), is_pooled)

    @classmethod
    def fit_scale(cls, features: Any) -> "FeatureReader":
        """Pooled features that are only centred and scaled: for both sides of a joint encoder, whose cosine is kept."""
        reader = cls.fit(features, is_pooled=True, components=2)
        size = len(reader.mean)
        return cls(reader.mean, torch.eye(size) * size**0.5, is_pooled=True)

    @property
    def width(self) -> int:
        return self.basis.shape[1] if self.basis.ndim else len(self.mean)

    def __call__(self, features: Any, rows: Rows) -> Items:
        centred = _shaped(gather(features, rows), self.is_pooled) - self.mean
        return (centred @ self.basis if self.basis.ndim else centred * self.basis,)

    def state(self) -> dict[str, Any]:
        return {"mean": self.mean, "basis": self.basis, "is_pooled": self.is_pooled}


class WordReader:
    """Captions as padded word numbers (n, L) and their lengths (n,)."""

    def __init__(self, words: Sequence[str], longest: int) -> None:
        self.vocabulary = Vocabulary(words)
        self._longest = longest

    @property
    def width(self) -> int:
        return len(self.vocabulary)

    def __call__(self, texts: Sequence[str], rows: Rows) -> Items:
        tokens = [torch.tensor(self.vocabulary.encode(texts[int(row)], self._longest)) for row in rows]
        lengths = torch.tensor([len(entry) for entry in tokens])
        return pad_sequence(tokens, batch_first=True, padding_value=PAD), lengths

    def state(self) -> dict[str, Any]:
        return {"words": list(self.vocabulary.words), "longest": self._longest}


Reader = FeatureReader | WordReader


def load_reader(state: dict[str, Any]) -> Reader:
    return WordReader(**state) if "words" in state else FeatureReader(**state)


class Side:
    """One side of the collection as its reader gives it: from memory where it fits, else batch by batch.

    Equal ids mean equal content: what several pairs share is kept once.
    """

    def __init__(self, source: Any, reader: Reader, ids: Rows, device: torch.device) -> None:
        self._source = source
        self._reader = reader
        self._device = device
        self._resident: Items | None = None
        _, first, place = np.unique(ids, return_index=True, return_inverse=True)
        probe = reader(source, first[:_PROBE_ROWS])
        if sum(part.nbytes for part in probe) / len(probe[0]) * len(first) <= RESIDENT_BYTES:
            chunks = [reader(source, first[at : at + _CHUNK_ROWS]) for at in range(0, len(first), _CHUNK_ROWS)]
            self._resident = tuple(part.to(device) for part in _joined(chunks))
            self._place = torch.from_numpy(place)

    def __getitem__(self, rows: Tensor) -> Items:
        if self._resident is None:
            return tuple(part.to(self._device) for part in self._reader(self._source, rows.numpy()))
        places = self._place[rows].to(self._device)
        taken = tuple(part[places] for part in self._resident)
        if isinstance(self._reader, WordReader):  # as short as the longest caption of these
            tokens, lengths = taken
            return tokens[:, : int(lengths.max())], lengths
        return taken


def _joined(chunks: list[Items]) -> Items:
    if len(chunks[0]) == 1:
        return (torch.cat([chunk[0] for chunk in chunks]),)
    tokens = [row for chunk in chunks for row in chunk[0]]
    return pad_sequence(tokens, batch_first=True, padding_value=PAD), torch.cat([chunk[1] for chunk in chunks])


def _shaped(features: Tensor, is_pooled: bool) -> Tensor:
    """(n, D) for a backbone of pooled vectors, (n, R, D) for one of regions, whichever was given."""
    if features.ndim not in (2, 3):
        raise TrainingError(f"features of one item must be a vector or a list of regions, not {features.ndim - 1}-d")
    if is_pooled:
        return features.mean(dim=1) if features.ndim == 3 else features
    return features if features.ndim == 3 else features[:, None]
