"""What linear maps say of pairs they never saw: every pair is judged by maps (model/linear_maps.py) that were fitted
without it. On few pairs that is worth more than what networks learn of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from model.calibration import calibrate
from model.exchanges import Exchanges, exchange
from model.inputs import FeatureReader
from model.linear_maps import NAMES, LastingMaps, Maps
from model.neighbours import all_threads
from model.pairs import Pairs
from model.positions import blocks, spread
from model.probes import RANDOM

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# Pairs that maps are fitted to: so many, evenly spread, know a larger collection well enough.
MOST_REFERENCES = 50_000
# Images and captions that those of a pair are compared with.
_NEGATIVES = 1000
_COMPONENTS = 256  # that are read; chosen as the settings of model/linear_maps.py were
# Parts that a collection is divided into, and how often anew: the more, the less it matters which map judges a pair.
# Where there are more pairs than references all maps are much the same.
_FOLDS, _REPEATS = 10, 2
# Strangers come to trust each other in so many rounds and parts, by so many negatives. Flickr8k, 6,000 pairs, 90 %
# mismatched, seeds 10 to 13, AUROC and noise rate after four rounds, six and eight (five folds and parts): .919 and
# .920, .929 and .916, .932 and .913; after six with ten folds and four parts .935 and .909.
_ROUNDS, _PARTS, _COMPARED = 6, 4, 300
# Probes that are judged at a time, as a share of the pairs: each ties its two sources together, and more of them would
# tie all of a small collection into one, of which no part could be left out.
_TYING_SHARE = 0.5
_SEED = 86_028_121


@dataclass(frozen=True)
class Odds:
    """Log odds against other images and captions, and against those that look alike: of every pair, and of known
    mismatches, which no map saw either."""

    pairs: Floats  # (N, 2)
    mismatches: Floats  # (M, 2)
    kinds: npt.NDArray[np.int8]  # (M,) RANDOM or NEAR


@dataclass(frozen=True)
class _Division:
    """A way to divide the collection: what belongs together, and whom that allows to judge."""

    made: Exchanges
    is_judged: Bools  # (N,) of pairs and probes


class Correlation:
    """Asked again whenever it is known better whom to trust."""

    def __init__(self, pairs: Pairs, count: int, sources: tuple[Ints, Ints]) -> None:
        """The first `count` pairs are learned from; behind them are probes. `sources` are the pairs that the image and
        the caption of each came from: no map that judges a probe has seen these, for they would contradict it, as
        nothing contradicts a real mismatch."""
        self._pairs, self._sides = pairs, (pairs.images, pairs.captions)
        components = min(_COMPONENTS, max(1, count - 1))  # more have no meaning, and cost time
        self._readers = [FeatureReader.fit(side, is_pooled=True, components=components) for side in self._sides]
        self.references = spread(count, MOST_REFERENCES)
        self._known = [self._gathered(side, self.references) for side in (0, 1)]
        # Where every pair is a reference its vectors are there already, and so are those of a probe.
        self._places = sources if len(self.references) == count else None
        self._negatives = spread(len(self.references), _NEGATIVES)
        divisions = [self._division(count, sources, tying) for tying in _portions(count, len(pairs) - count)]
        is_repeated = len(divisions) == 1 and self._places is not None
        self._divisions = divisions * (_REPEATS if is_repeated else 1)
        self._by_strangers: Odds | None = None

    @property
    def exchanges(self) -> Exchanges:
        """The mismatches whose odds are told."""
        return self._divisions[0].made

    def asked(self, trust: Floats) -> Odds:
        """`trust` has a number for each reference."""
        weight = torch.from_numpy(trust)
        return self._judged(self._divisions, lambda division, fold: self._maps(weight, fold[self.references], _FOLDS))

    def asked_strangers(self, heed: Callable[[], None] = lambda: None) -> Odds:
        """For every part of the collection the others come to trust each other anew, from no knowledge. Real mismatches
        score exactly like known ones then: any trust of somebody who saw them all knows of a mismatch that was learned,
        and nothing of those that never were."""
        if self._by_strangers is None:
            self._by_strangers = self._judged(
                self._divisions[:1] if self._divisions[0].is_judged.all() else self._divisions,
                lambda division, fold: self._maps_of_strangers(division, fold, heed),
            )
        return self._by_strangers

    def _judged(self, divisions: list[_Division], maps_of: Callable[[_Division, Ints], Iterator[Maps]]) -> Odds:
        known = self.exchanges
        found = np.zeros((len(self._pairs), len(NAMES)), np.float32)
        wrong = np.zeros((len(known.kinds), len(NAMES)), np.float32)
        times = np.sum([division.is_judged for division in divisions], axis=0)[:, None]
        with all_threads(len(self._pairs) * _NEGATIVES * _COMPONENTS), torch.inference_mode():
            for number, division in enumerate(divisions):
                fold = _parts(division, _FOLDS, number)
                for part, maps in enumerate(maps_of(division, fold)):
                    for rows in blocks(np.flatnonzero((fold == part) & division.is_judged)):
                        found[rows] += self._odds(maps, rows, rows) / times[rows]
                    if division.made is known:
                        for some in blocks(np.flatnonzero(fold[known.shown] == part)):
                            wrong[some] += self._odds(maps, known.shown[some], known.said[some])
        wrong /= sum(division.made is known for division in divisions)
        return Odds(found, wrong, known.kinds)

    def lasting(self, trust: Floats) -> LastingMaps:
        """For pairs that come later: no fold has to be left out."""
        with all_threads(len(self.references) * _COMPONENTS**2), torch.inference_mode():
            maps = Maps.fit(self._moments(torch.from_numpy(trust), slice(None)), self._known[0].shape[1])
        images, captions = (side[self._negatives] for side in self._known)
        return LastingMaps(maps, (self._readers[0], self._readers[1]), (images, captions))

    def _division(self, count: int, sources: tuple[Ints, Ints], tying: Bools) -> _Division:
        """Only these probes are tied to their sources, and judged."""
        rows = np.arange(len(self._pairs))
        is_judged = rows < count
        is_judged[count:] = tying
        images, captions = (np.where(is_judged, source, rows) for source in sources)
        made = exchange(
            self._pairs, count, (images, captions), lambda some: np.asarray(self._gathered(0, some).numpy())
        )
        return _Division(made, is_judged)

    def _maps(self, trust: Tensor, fold: Ints, parts: int) -> Iterator[Maps]:
        """For every part of the references maps that are fitted to all others."""
        width = self._known[0].shape[1]
        moments = [self._moments(trust, torch.from_numpy(np.flatnonzero(fold == part))) for part in range(parts)]
        whole = torch.stack(moments).sum(dim=0)
        for own in moments:
            yield Maps.fit(whole - own, width)

    def _maps_of_strangers(self, division: _Division, fold: Ints, heed: Callable[[], None]) -> Iterator[Maps]:
        width, among = self._known[0].shape[1], _parts(division, _PARTS, _FOLDS)
        for part in range(_FOLDS):
            heed()
            trust = self._come_to_trust(division.made, np.where(fold == part, -1, among))
            yield Maps.fit(self._moments(trust, slice(None)), width)

    def _come_to_trust(self, made: Exchanges, among: Ints) -> Tensor:
        """(R,) how far each reference is trusted by those in other parts; not at all where its part is -1."""
        own, negatives = among[self.references], spread(len(self._negatives), _COMPARED)
        is_asked = own >= 0
        known = np.flatnonzero((made.kinds == RANDOM) & (among[made.shown] >= 0))
        odds, wrong = np.zeros(len(own)), np.zeros(len(made.kinds))

        def trusted(confidence: npt.NDArray[np.floating]) -> Tensor:
            return torch.from_numpy(self._pairs.as_reviewed(confidence, self.references) * is_asked)

        trust = trusted(np.ones(len(own)))
        for _ in range(_ROUNDS if len(known) else 0):
            for part, maps in enumerate(self._maps(trust, own, _PARTS)):
                for some in blocks(np.flatnonzero(own == part)):
                    odds[some] = self._odds(maps, self.references[some], self.references[some], negatives)[:, 0]
                for some in blocks(known[among[made.shown[known]] == part]):
                    wrong[some] = self._odds(maps, made.shown[some], made.said[some], negatives)[:, 0]
            found = calibrate(odds[is_asked], wrong[known], np.ones(len(known)), _SEED, draws=1)
            trust = trusted(found.confidence(odds))
        return trust

    def _moments(self, trust: Tensor, rows: Tensor | slice) -> Tensor:
        """Of some references, as `Maps.fit` takes them."""
        weight = trust[rows, None]
        both = torch.cat([torch.ones_like(weight), *(side[rows] for side in self._known)], dim=1)
        return ((both * weight).T @ both).double()

    def _odds(self, maps: Maps, shown: Ints, said: Ints, some: Ints | slice = slice(None)) -> Floats:
        """(n, 2) of the images of some pairs with the captions of others, or of the same, against some negatives."""
        negatives = self._negatives[some]
        images, captions = (self._read(side, rows) for side, rows in enumerate((shown, said)))
        others = self._known[0][negatives], self._known[1][negatives]
        return maps.odds((images, captions), others, self._is_same(shown, said, negatives))

    def _is_same(self, shown: Ints, said: Ints, negatives: Ints) -> Tensor:
        """(n, negatives), True for one that shows or says the same: it is no negative."""
        images, captions = self._pairs.image_ids, self._pairs.caption_ids
        others = self.references[negatives]
        same = (images[shown][:, None] == images[others]) | (captions[said][:, None] == captions[others])
        return torch.from_numpy(same)

    def _read(self, side: int, rows: Ints) -> Tensor:
        return self._gathered(side, rows) if self._places is None else self._known[side][self._places[side][rows]]

    def _gathered(self, side: int, rows: Ints) -> Tensor:
        return torch.cat([self._readers[side](self._sides[side], some)[0] for some in blocks(rows)])


def _parts(division: _Division, parts: int, number: int) -> Ints:
    """(N,) the part of each; different numbers divide differently."""
    parties = division.made.parties
    return (np.random.default_rng(_SEED + number).permutation(int(parties.max()) + 1) % parts)[parties]


def _portions(count: int, probes: int) -> list[Bools]:
    """Which probes are judged at a time beside `count` pairs: all, or where they are many a part of them in turn."""
    parts = max(1, -(-probes // max(1, round(_TYING_SHARE * count))))
    return [np.arange(probes) % parts == number for number in range(parts)]
