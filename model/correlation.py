"""What a linear map says of a pair it never saw: canonical correlation of images and captions, cross-fitted.

Maps are fitted to trusted pairs in closed form (Hotelling 1936, with a ridge), so they memorise little, and a pair is
judged by one that was fitted without it. On few pairs that is worth more than what networks learn of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import normalize

from model.exchanges import exchange
from model.inputs import FeatureReader
from model.neighbours import all_threads
from model.pairs import Pairs
from model.positions import blocks, spread

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

NAMES = ("correlation", "correlation among look-alikes")
# Pairs that maps are fitted to: so many, evenly spread, know a larger collection well enough.
MOST_REFERENCES = 50_000
# Images and captions that those of a pair are compared with.
_NEGATIVES = 1000
# Of these the share that look most like the image of the pair, and the temperature of the odds against those alone.
_LOOK_ALIKE, _LOOK_ALIKE_TEMPERATURE = 0.03, 0.08
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
    """Log odds against other images and captions, and against those that look alike: of every pair, and of known
    mismatches, which no map saw either."""

    pairs: Floats  # (N, 2)
    mismatches: Floats  # (M, 2)
    kinds: npt.NDArray[np.int8]  # (M,) RANDOM or NEAR


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
        self.exchanges = exchange(pairs, count, sources, lambda rows: np.asarray(self._gathered(0, rows).numpy()))

    def asked(self, trust: Floats) -> Odds:
        """`trust` has a number for each reference."""
        made = self.exchanges
        found = np.zeros((len(self._pairs), len(NAMES)), np.float32)
        wrong = np.zeros((len(made.kinds), len(NAMES)), np.float32)
        weight = torch.from_numpy(trust)
        with all_threads(), torch.inference_mode():
            for repeat in range(_REPEATS):
                rng = np.random.default_rng(_SEED + repeat)
                fold = (rng.permutation(int(made.parties.max()) + 1) % _FOLDS)[made.parties]
                for part, maps in enumerate(self._maps(weight, fold[self.references])):
                    for rows in blocks(np.flatnonzero(fold == part)):
                        found[rows] += self._odds(maps, rows, rows) / _REPEATS
                    for some in blocks(np.flatnonzero(fold[made.shown] == part)):
                        wrong[some] += self._odds(maps, made.shown[some], made.said[some]) / _REPEATS
        return Odds(found, wrong, made.kinds)

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
        """(n, 2) of the images of some pairs with the captions of others, or of the same."""
        read = [self._read(side, rows) for side, rows in enumerate((shown, said))]
        others = [side[self._negatives] for side in self._known]
        is_same = self._is_same(shown, said)
        own, other = ([maps(side, vectors) for side, vectors in enumerate(both)] for both in (read, others))
        cosines = [
            (own[side] @ other[1 - side].T).masked_fill(is_same, -torch.inf) for side in (0, 1)
        ]  # (n, negatives)
        alike = (normalize(read[0], dim=1) @ normalize(others[0], dim=1).T).masked_fill(is_same, -torch.inf)
        nearest = alike.topk(max(1, round(_LOOK_ALIKE * len(self._negatives))), dim=1, sorted=False).indices
        cosine = (own[0] * own[1]).sum(dim=1)
        found = [
            _log_odds(cosine, cosines, _TEMPERATURE),
            _log_odds(cosine, [side.gather(1, nearest) for side in cosines], _LOOK_ALIKE_TEMPERATURE),
        ]
        return np.asarray(torch.stack(found, dim=1).masked_fill(is_same.all(dim=1)[:, None], 0.0).numpy())

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


def _inverse_root(covariance: Tensor) -> Tensor:
    values, vectors = torch.linalg.eigh(covariance)
    ridge = _RIDGE * values.clamp(min=0).mean() + 1e-12
    root: Tensor = (vectors / (values.clamp(min=0) + ridge).sqrt()) @ vectors.T
    return root


def _log_odds(cosine: Tensor, others: list[Tensor], temperature: float) -> Tensor:
    """Of (n,) cosines against those of the same images with other captions, and of the captions with other images."""
    against = [(side / temperature).logsumexp(dim=1) for side in others]
    return cosine / temperature - (against[0] + against[1]) / 2
