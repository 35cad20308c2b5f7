"""What linear maps say of pairs they never saw: every pair is judged by maps (model/linear_maps.py) that were fitted
without it. On few pairs that is worth more than what networks learn of them."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from model.exchanges import exchange
from model.inputs import FeatureReader
from model.linear_maps import NAMES, LastingMaps, Maps
from model.neighbours import all_threads
from model.pairs import Pairs
from model.positions import blocks, spread

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

# Pairs that maps are fitted to: so many, evenly spread, know a larger collection well enough.
MOST_REFERENCES = 50_000
# Images and captions that those of a pair are compared with.
_NEGATIVES = 1000
_COMPONENTS = 256  # that are read; chosen as the settings of model/linear_maps.py were
# Parts that a collection is divided into, and how often anew: the more, the less it matters which map judges a pair.
_FOLDS, _REPEATS = 10, 2
_SEED = 86_028_121


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

    def lasting(self, trust: Floats) -> LastingMaps:
        """For pairs that come later: no fold has to be left out."""
        with all_threads(), torch.inference_mode():
            maps = Maps.fit(self._moments(torch.from_numpy(trust), slice(None)), self._known[0].shape[1])
        images, captions = (side[self._negatives] for side in self._known)
        return LastingMaps(maps, (self._readers[0], self._readers[1]), (images, captions))

    def _maps(self, trust: Tensor, fold: Ints) -> Iterator[Maps]:
        """For every part of the collection maps that are fitted to all others."""
        width = self._known[0].shape[1]
        parts = [self._moments(trust, torch.from_numpy(np.flatnonzero(fold == part))) for part in range(_FOLDS)]
        whole = torch.stack(parts).sum(dim=0)
        for own in parts:
            yield Maps.fit(whole - own, width)

    def _moments(self, trust: Tensor, rows: Tensor | slice) -> Tensor:
        """Of some references, as `Maps.fit` takes them."""
        weight = trust[rows, None]
        both = torch.cat([torch.ones_like(weight), *(side[rows] for side in self._known)], dim=1)
        return ((both * weight).T @ both).double()

    def _odds(self, maps: Maps, shown: Ints, said: Ints) -> Floats:
        """(n, 2) of the images of some pairs with the captions of others, or of the same."""
        images, captions = (self._read(side, rows) for side, rows in enumerate((shown, said)))
        others = self._known[0][self._negatives], self._known[1][self._negatives]
        return maps.odds((images, captions), others, self._is_same(shown, said))

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
