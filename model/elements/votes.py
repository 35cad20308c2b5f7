"""What all trusted pairs say of an image: a ridge regression of what captions mention on the vectors of their images.

One closed form for all concepts at once, every pair counted by how far it is trusted. It is fitted once for each fold
of the images without that fold, so that no caption of an image ever speaks about that image. (And the same from
captions about what images show.)
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse

from model.inputs import FeatureReader

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

FOLDS = 5
# Vectors are brought to length 1 on average: so many pairs are worth as much as "nothing can be seen".
_RIDGE = 10.0
COMPONENTS = 512
_BLOCK = 8_192


class Reader:
    """Vectors of one side, centred, on their main components, of length 1 on average, with a constant behind them."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self._reader = FeatureReader.fit(source, is_pooled=True, components=COMPONENTS)

    def __call__(self, rows: Ints) -> Floats:
        found = self._reader(self._source, rows)[0].numpy() / np.sqrt(self._reader.width)
        return np.column_stack([found, np.ones(len(rows), np.float32)])

    def directions(self, vectors: npt.NDArray[np.floating]) -> Floats:
        """(n, D + 1) along which vectors of the same space lie: products with what is read order alike."""
        basis = self._reader.basis.numpy()
        found = vectors @ basis / np.square(basis).sum(axis=0) * np.sqrt(self._reader.width)
        return np.column_stack([found, np.zeros(len(found))]).astype(np.float32)


def fold_of(image_ids: Ints) -> Ints:
    """A fold for every content, equal ids in one fold."""
    mixed = image_ids.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray((mixed >> np.uint64(33)) % np.uint64(FOLDS), dtype=np.int64)


@dataclass(frozen=True)
class Votes:
    weights: Floats  # (FOLDS, concepts, D + 1)

    @classmethod
    def fit(
        cls, vectors: Floats, folds: Ints, mentions: sparse.csr_array, trust: Floats, prior: Floats | None = None
    ) -> "Votes":
        """`vectors` (n, D + 1), `mentions` (n, concepts); `prior` (concepts, D + 1) counts until pairs do."""
        width, concepts = vectors.shape[1], mentions.shape[1]
        seen = np.zeros((FOLDS, width, width))
        said = np.zeros((FOLDS, width, concepts), np.float32)
        for fold in range(FOLDS):
            rows = np.flatnonzero(folds == fold)
            for at in range(0, len(rows), _BLOCK):
                some = rows[at : at + _BLOCK]
                counted = vectors[some] * trust[some, None]
                seen[fold] += counted.T @ vectors[some]
                said[fold] += (mentions[some].T @ counted).T
        ridge = np.diag(np.r_[np.full(width - 1, _RIDGE), 1e-3])  # the constant is free
        weights = np.empty((FOLDS, concepts, width), np.float32)
        all_seen, all_said = seen.sum(axis=0) + ridge, said.sum(axis=0)
        if prior is not None:
            all_said = all_said + _RIDGE * prior.T
        for fold in range(FOLDS):
            weights[fold] = linalg.solve(all_seen - seen[fold], all_said - said[fold], assume_a="pos").T
        return cls(weights)

    def scores(self, vectors: Floats, folds: Ints) -> Floats:
        """(n, concepts)"""
        found = np.empty((len(vectors), self.weights.shape[1]), np.float32)
        for fold in range(FOLDS):
            found[folds == fold] = vectors[folds == fold] @ self.weights[fold].T
        return found


def prior_of(directions: Floats, vectors: Floats, mentions: sparse.csr_array, trust: Floats) -> Floats:
    """Directions (concepts, D + 1) as weights: as steep as mentions follow them, for all concepts together."""
    total = max(float(trust.sum()), 1e-9)
    share = (mentions.T @ trust) / total
    seen = vectors @ directions.T  # (n, concepts)
    mean = trust @ seen / total
    spread = np.sqrt(np.maximum(trust @ np.square(seen) / total - mean**2, 1e-12))
    said = np.sqrt(np.maximum(share * (1 - share), 1e-12))
    together = np.asarray(mentions.multiply(trust[:, None] * (seen - mean)).sum(axis=0)).ravel() / total
    correlation = float(np.average(together / (spread * said), weights=share + 1e-12))
    return np.asarray(max(correlation, 0.0) * (said / spread)[:, None] * directions, np.float32)
