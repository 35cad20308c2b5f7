"""What a linear map says of a pair it never saw: canonical correlation of images and captions, cross-fitted.

Maps are fitted to trusted pairs in closed form (Hotelling 1936, with a ridge), so they memorise little, and a pair is
judged by one that was fitted without it. On few pairs that is worth more than what networks learn of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from torch import Tensor
from torch.nn.functional import normalize

from model.inputs import FeatureReader
from model.neighbours import all_threads
from model.pairs import Pairs
from model.positions import blocks, spread

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

NAME = "correlation"
# Pairs that maps are fitted to: so many, evenly spread, know a larger collection well enough.
MOST_REFERENCES = 50_000
# Images and captions that those of a pair are compared with.
_NEGATIVES = 1000
# Known mismatches that are judged too.
_MOST_MISMATCHES = 10_000
# Chosen on Flickr8k, seed 10, 6,000 pairs: components read and kept, the ridge as a share of the mean variance, and
# the temperature of the odds. Half or twice as much costs .003 of AUROC at most.
_COMPONENTS, _KEPT, _RIDGE, _TEMPERATURE = 256, 128, 1.0, 0.05
# Parts that a collection is divided into, and how often anew: the more, the less it matters which map judges a pair.
_FOLDS, _REPEATS = 10, 2
_SEED = 86_028_121


@dataclass(frozen=True)
class Maps:
    """Both sides into one space, where what belongs together points the same way."""

    means: tuple[Tensor, Tensor]  # (D,)
    bases: tuple[Tensor, Tensor]  # (D, kept)

    @classmethod
    def fit(cls, moments: Tensor, width: int) -> "Maps":
        """`moments` are sums of products of (1, image, caption) with itself; `width` is that of an image."""
        moments = moments / moments[0, 0].clamp(min=1e-9)
        mean = moments[0, 1:]
        covariance = moments[1:, 1:] - torch.outer(mean, mean)
        images, captions = slice(None, width), slice(width, None)
        roots = [_inverse_root(covariance[side, side]) for side in (images, captions)]
        left, strength, right = torch.linalg.svd(roots[0] @ covariance[images, captions] @ roots[1])
        kept = slice(None, min(_KEPT, len(strength)))
        # Directions count by how strongly they correlate.
        bases = [
            (root @ vectors[:, kept] * strength[kept]).float()
            for root, vectors in zip(roots, (left, right.T), strict=True)
        ]
        return cls((mean[images].float(), mean[captions].float()), (bases[0], bases[1]))

    def __call__(self, side: int, vectors: Tensor) -> Tensor:
        """(n, kept) unit vectors."""
        return normalize((vectors - self.means[side]) @ self.bases[side], dim=1)


@dataclass(frozen=True)
class Odds:
    """Log odds against other images and captions: of every pair, and of known mismatches, which no map saw either."""

    pairs: Floats  # (N,)
    mismatches: Floats  # (M,)


class Correlation:
    """Asked again whenever it is known better whom to trust."""

    def __init__(self, pairs: Pairs, count: int, sources: tuple[Ints, Ints]) -> None:
        """The first `count` pairs are learned from; behind them are probes. `sources` are the pairs that the image and
        the caption of each came from: no map that judges a probe has seen these, for they would contradict it, as
        nothing contradicts a real mismatch."""
        self._pairs, self._sides = pairs, (pairs.images, pairs.captions)
        self._readers = [FeatureReader.fit(side, is_pooled=True, components=_COMPONENTS) for side in self._sides]
        self.references = spread(count, MOST_REFERENCES)
        self._known = [self._gathered(side, self.references) for side in (0, 1)]
        # Where every pair is a reference its vectors are there already, and so are those of a probe.
        self._places = sources if len(self.references) == count else None
        self._negatives = spread(len(self.references), _NEGATIVES)
        groups = _groups(pairs, sources)
        # Groups go to the parts of the collection by twos, so that the image of one and the caption of the other are a
        # mismatch that can be judged as every pair is.
        _, first = np.unique(groups[:count], return_index=True)
        order = np.random.default_rng(_SEED).permutation(len(first))
        self._couples = (order // 2)[groups]
        self._shown, self._said = _mismatches(pairs, first, order)

    def asked(self, trust: Floats) -> Odds:
        """`trust` has a number for each reference."""
        found = np.zeros(len(self._pairs), np.float32)
        wrong = np.zeros(len(self._shown), np.float32)
        weight = torch.from_numpy(trust)
        with all_threads(), torch.inference_mode():
            for repeat in range(_REPEATS):
                rng = np.random.default_rng(_SEED + repeat + 1)
                fold = (rng.permutation(int(self._couples.max()) + 1) % _FOLDS)[self._couples]
                for part, maps in enumerate(self._maps(weight, fold[self.references])):
                    for rows in blocks(np.flatnonzero(fold == part)):
                        found[rows] += self._odds(maps, rows, rows) / _REPEATS
                    for some in blocks(np.flatnonzero(fold[self._shown] == part)):
                        wrong[some] += self._odds(maps, self._shown[some], self._said[some]) / _REPEATS
        return Odds(found, wrong)

    def _maps(self, trust: Tensor, fold: Ints) -> Iterator[Maps]:
        """For every part of the collection maps that are fitted to all others."""
        width = self._known[0].shape[1]
        parts = []
        for part in range(_FOLDS):
            rows = torch.from_numpy(np.flatnonzero(fold == part))
            both = torch.cat([torch.ones(len(rows), 1), *(side[rows] for side in self._known)], dim=1)
            parts.append(((both * trust[rows, None]).T @ both).double())
        whole = torch.stack(parts).sum(dim=0)
        for own in parts:
            yield Maps.fit(whole - own, width)

    def _odds(self, maps: Maps, shown: Ints, said: Ints) -> Floats:
        """Of the images of some pairs with the captions of others, or of the same."""
        own = [maps(side, self._read(side, rows)) for side, rows in enumerate((shown, said))]
        others = [maps(side, self._known[side][self._negatives]) for side in (1, 0)]
        is_same = self._is_same(shown, said)
        against = [
            (mine @ other.T / _TEMPERATURE).masked_fill(is_same, -torch.inf).logsumexp(dim=1)
            for mine, other in zip(own, others, strict=True)
        ]
        odds = (own[0] * own[1]).sum(dim=1) / _TEMPERATURE - (against[0] + against[1]) / 2
        return np.asarray(odds.masked_fill(is_same.all(dim=1), 0.0).numpy())

    def _is_same(self, shown: Ints, said: Ints) -> Tensor:
        """(n, negatives), True for one that shows or says the same: it is no negative."""
        images, captions = self._pairs.image_ids, self._pairs.caption_ids
        others = self.references[self._negatives]
        same = (images[shown][:, None] == images[others]) | (captions[said][:, None] == captions[others])
        return torch.from_numpy(same)

    def _read(self, side: int, rows: Ints) -> Tensor:
        return self._gathered(side, rows) if self._places is None else self._known[side][self._places[side][rows]]

    def _gathered(self, side: int, rows: Ints) -> Tensor:
        return torch.cat([self._readers[side](self._sides[side], some)[0] for some in blocks(rows)])


def _groups(pairs: Pairs, sources: tuple[Ints, Ints]) -> Ints:
    """(N,) a number for all that must be judged by the same maps: copies of a pair, and a probe with its sources."""
    _, images = np.unique(pairs.image_ids, return_inverse=True)
    _, copies = np.unique(images * (int(pairs.caption_ids.max()) + 1) + pairs.caption_ids, return_inverse=True)
    rows = np.arange(len(pairs))
    links = [(rows, len(pairs) + copies), *((rows[part != rows], part[part != rows]) for part in sources)]
    ends = [np.concatenate(end) for end in zip(*links, strict=True)]
    size = len(pairs) + int(copies.max()) + 1
    graph = coo_matrix((np.ones(len(ends[0]), np.int8), ends), shape=(size, size))
    _, groups = connected_components(graph, directed=False)
    _, numbered = np.unique(groups[: len(pairs)], return_inverse=True)
    return np.asarray(numbered, np.int64)


def _mismatches(pairs: Pairs, first: Ints, order: Ints) -> tuple[Ints, Ints]:
    """Images and captions of pairs, one of each group, exchanged between the groups 2k and 2k + 1 of the order."""
    shown = first[np.argsort(order)][: min(_MOST_MISMATCHES, len(first)) // 2 * 2]
    said = shown.reshape(-1, 2)[:, ::-1].ravel()
    is_wrong = (pairs.image_ids[shown] != pairs.image_ids[said]) & (pairs.caption_ids[shown] != pairs.caption_ids[said])
    return shown[is_wrong], said[is_wrong]


def _inverse_root(covariance: Tensor) -> Tensor:
    values, vectors = torch.linalg.eigh(covariance)
    ridge = _RIDGE * values.clamp(min=0).mean() + 1e-12
    root: Tensor = (vectors / (values.clamp(min=0) + ridge).sqrt()) @ vectors.T
    return root
