"""From scores of pairs and of probes to P(match), the noise rate, and what to expect of every cut: without a label.

The model is that of model/fusion.py with the score as its only evidence, on a histogram, and held to be sure of the
lowest probes: P(mismatch) and the noise rate could otherwise shrink together. Its bootstrap gives intervals.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_expit, logit, ndtri

from model.expectations import EQUAL_COSTS, PERCENTILES, Curve, Interval, curve_of, without_evidence
from model.fitting import minimise
from model.fusion import RATES

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Below this share of the probes a score speaks for a mismatch: there the log likelihood ratio is at most so high. With
# few probes near misses are not told as surely: on Flickr8k (6,000 pairs, 40 % near misses, seeds 10 and 11) -4.5, -2
# and 0 gave a calibration error of .17, .06 and .06. With five times the probes they are (30,000 pairs, seed 10: -4.5
# and -2 gave .020 and .037).
_LOWEST_SHARE, LOWEST_RATIO, LOWEST_RATIO_NEAR = 0.25, -4.5, -2.0
# How much higher it may be as well: where scores tell matches from mismatches poorly nothing else says how sure the
# lowest probes are, so the draws take any value up to there. Simulated (200 probes among 1,500 pairs, two normal
# distributions): intervals of the noise rate hold the truth in 8 of 8 where these are 3 apart, 7 to 8 of 8 at 2, 6 to 7
# at 1.5 (2 to 4 of 10 at 2 without), and 0 % is evidence of mismatch in none of 8 at 2 and 2 of 8 at 1.5 (10 of 10).
_LOWEST_DOUBT = 2.5
# Where the fit starts: log odds per standard deviation of the scores. The likelihood may have two summits.
_STARTS = (2.0, 6.0)
# A lower end of the noise rate below this is no evidence of mismatch: doubtful matches alone may reach it.
LEAST_EVIDENT = 0.01
_BINS = 300
_DRAWS = 200
# What is told of the noise rate is not more exact than this share of it: scores are never quite log odds.
_LEAST_ERROR = 0.01
# No rate is higher as log odds; and above the first a share of it is as many of these as there.
_HIGH, _MOST = 0.9, 0.999
# Log odds beyond this grow by their logarithm only. A float32 has no number between 1 - 6e-8 and 1: far from the
# mismatches all pairs would be equal, the near misses among them too.
_SURE = 7.0


@dataclass(frozen=True)
class Calibration:
    """P(match) of every score, and how sure that is."""

    slope: float
    offset: float
    noise_rate: Interval
    has_evidence: bool  # of any mismatch
    curve: Curve
    threshold: float = EQUAL_COSTS
    # The same if the lowest probes are as sure as they mostly are. A training goes by that: of 500 pairs with 10 % of
    # mismatches (Flickr8k, seeds 13 and 14) AUROC is .956 and .950 so, and .927 and .904 by what is evident.
    is_likely: bool = True

    def confidence(self, scores: Floats) -> Floats:
        return probability(self.slope * scores + self.offset)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Beforehand:
    """What is known before any score is looked at."""

    noise_rate: Interval | None = None  # as others tell it
    doubt: float = 0.0  # how far that may be off, as a share of it, where it is not as exact as its interval says
    lowest_ratio: float = LOWEST_RATIO  # how sure the lowest probes must be
    may_be_none: bool = False  # whether it may as well be any lower rate

    @property
    def estimate(self) -> float:
        """Of the noise rate; none where nobody tells."""
        return self.noise_rate.estimate if self.noise_rate else 0.0


NOTHING = Beforehand()


def calibrate(
    scores: Floats,
    probes: Floats,
    weight: Floats,
    seed: int,
    draws: int | None = None,
    known: Beforehand = NOTHING,
    anchors: npt.NDArray[np.int8] | None = None,
) -> Calibration:
    """`scores` of the collection's pairs and of probes, high where a pair matches; `weight` counts the probes. What
    people said of pairs (`anchors`: 1 match, -1 mismatch) is counted as they said, and calibrates no other pair."""
    is_open = np.ones(len(scores), bool) if anchors is None else anchors == 0
    shown = _Histogram.of(scores[is_open] if is_open.any() else scores, probes, weight, known)
    best = shown.fit([np.log([start, 0.3, 0.3]) for start in _STARTS])
    slope, offset = shown.line(best)
    pairs, rng = shown.pairs if is_open.any() else np.zeros_like(shown.pairs), np.random.default_rng(seed)

    def drawn(doubt: float) -> tuple[Floats, Floats]:
        """(1 + draws, bins) P(match) in every bin, first as it is, then as it might as well be; and the pairs in it."""
        again = (shown.resampled(rng, doubt) for _ in range(draws or _DRAWS))
        lines = np.array([(slope, offset), *(one.line(one.fit([best])) for one in again)])
        matching = probability(lines[:, :1] * shown.centres + lines[:, 1:])
        if anchors is None or not anchors.any():
            return matching, pairs
        return _with_answers(matching, pairs, anchors)

    matching, counted = drawn(_LOWEST_DOUBT)
    noise_rate, curve = _noise_rate(matching, counted), curve_of(matching, counted)
    if noise_rate.low > LEAST_EVIDENT:
        return Calibration(slope, offset, noise_rate, True, curve)
    noise_rate, curve = without_evidence(noise_rate, curve)
    is_likely = _noise_rate(*drawn(0.0)).low > LEAST_EVIDENT
    return Calibration(slope, offset, noise_rate, False, curve, is_likely=is_likely)


def _noise_rate(matching: Floats, pairs: Floats) -> Interval:
    return Interval.of(((1 - matching) @ pairs) / pairs.sum())


def _with_answers(matching: Floats, pairs: Floats, anchors: npt.NDArray[np.int8]) -> tuple[Floats, Floats]:
    """The bins with one before them for what people called mismatches, and one behind them for matches."""
    answers = np.broadcast_to([0.0, 1.0], (len(matching), 2))
    counted = [(anchors < 0).sum()], pairs, [(anchors > 0).sum()]
    return np.hstack([answers[:, :1], matching, answers[:, 1:]]), np.concatenate(counted)


def probability(log_odds: Floats) -> Floats:
    """The logistic up to .999; beyond it less sure, so that different log odds stay different as float32."""
    beyond = np.maximum(np.abs(log_odds) - _SURE, 0)
    return np.asarray(expit(np.sign(log_odds) * (np.minimum(np.abs(log_odds), _SURE) + np.log1p(beyond))))


def _places(values: Floats, edges: Floats) -> Ints:
    return np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)


@dataclass(frozen=True)
class _Told:
    """What is known of the noise rate before any score is looked at, as its log odds: .91 may be .93, but not .99."""

    mean: float
    error: float  # how closely a fit is held to it
    doubt: float  # how far it may be off itself
    may_be_none: bool

    @classmethod
    def of(cls, known: Beforehand) -> "_Told | None":
        told = known.noise_rate
        if told is None:
            return None
        estimate, low, high = np.clip([told.estimate, told.low, told.high], RATES[0], _MOST)
        width = (logit(high) - logit(low)) / (ndtri(PERCENTILES[1] / 100) - ndtri(PERCENTILES[0] / 100))
        # Shares of the rate, as log odds; of a rate near 1 that would be any.
        least, doubt = (share / max(1 - estimate, 1 - _HIGH) for share in (_LEAST_ERROR, known.doubt))
        error = max(float(width), float(least))
        return cls(float(logit(estimate)), error, max(error, float(doubt)), known.may_be_none)

    def resampled(self, rng: np.random.Generator, *, is_doubted: bool) -> "_Told":
        mean = rng.normal(self.mean, self.doubt if is_doubted else self.error)
        if is_doubted and self.may_be_none and rng.random() < 0.5:  # the other half keeps the upper end
            mean = rng.uniform(logit(RATES[0]), max(mean, logit(RATES[0])))
        return replace(self, mean=float(mean))


class _Histogram:
    """Counts of pairs and of probes by score."""

    def __init__(
        self, centres: Floats, pairs: Floats, known: Floats, lowest_ratio: float, expected: _Told | None
    ) -> None:
        self.centres, self.pairs, self.known, self.expected = centres, pairs, known, expected
        self.lowest_ratio = lowest_ratio
        share = np.cumsum(known) / known.sum()
        self.lowest = float(centres[np.searchsorted(share, _LOWEST_SHARE)])
        mean = (pairs @ centres) / pairs.sum()
        self.spread = float(np.sqrt(pairs @ np.square(centres - mean) / pairs.sum())) or 1.0

    @classmethod
    def of(cls, scores: Floats, probes: Floats, weight: Floats, known: Beforehand) -> "_Histogram":
        edges = np.unique(np.quantile(np.concatenate([scores, probes]), np.linspace(0, 1, _BINS + 1)))
        bins = len(edges) - 1
        if bins < 1:  # all scores are equal
            edges, bins = np.array([edges[0], edges[0] + 1.0]), 1
        pairs = np.bincount(_places(scores, edges), minlength=bins).astype(float)
        mismatched = np.bincount(_places(probes, edges), weights=weight, minlength=bins).astype(float)
        expected = _Told.of(known)
        return cls(np.array((edges[:-1] + edges[1:]) / 2), pairs, mismatched, known.lowest_ratio, expected)

    def resampled(self, rng: np.random.Generator, doubt: float) -> "_Histogram":
        """Another collection and other probes, as they might as well have been, these less sure by up to `doubt`."""
        pairs, known = _resampled(self.pairs, self.known, rng)
        ratio = rng.uniform(self.lowest_ratio, self.lowest_ratio + doubt)
        expected = self.expected and self.expected.resampled(rng, is_doubted=doubt > 0)
        return _Histogram(self.centres, pairs, known, ratio, expected)

    def fit(self, starts: Sequence[Floats]) -> Floats:
        """Logarithms of the slope per spread, of how far below the highest the likelihood ratio of the lowest probes
        is, and of the noise rate."""
        bounds = [(-3.0, 6.0), (-12.0, 4.0), (float(np.log(RATES[0])), float(np.log(RATES[1])))]
        found = [minimise(self._cost, start, bounds) for start in starts]
        return np.asarray(min(found, key=lambda one: one.fun).x)

    def line(self, values: Floats) -> tuple[float, float]:
        """Slope and offset of the log odds of a match: its likelihood ratio, times the odds before any evidence."""
        slope = float(np.exp(values[0])) / self.spread
        before = float(np.log1p(-np.exp(values[2])) - values[2])
        return slope, self.lowest_ratio - slope * self.lowest - float(np.exp(values[1])) + before

    def _cost(self, values: Floats) -> tuple[float, Floats]:
        slope, offset = self.line(values)
        score, probes = offset + slope * self.centres, self.known.sum()
        odds = np.log(probes / self.pairs.sum()) - values[2] + log_expit(-score)
        likelihood = self.known @ log_expit(odds) + self.pairs @ log_expit(-odds)
        by_odds = self.known * expit(-odds) - self.pairs * expit(odds)
        by_score = -by_odds * expit(score)
        if self.expected is not None:
            mismatched = self.pairs * expit(-score)
            # Where all pairs match as well as can be there is none left to count.
            count = float(self.pairs.sum())
            total = min(max(float(mismatched.sum()), RATES[0]), _MOST * count)
            away = (np.log(total / (count - total)) - self.expected.mean) / self.expected.error
            likelihood -= 0.5 * away**2
            by_score += away / self.expected.error * mismatched * expit(score) * count / (total * (count - total))
        by_slope = by_score @ (self.centres - self.lowest) * slope
        by_rate = by_odds.sum() + by_score.sum() / (1 - np.exp(values[2]))
        gradient = np.array([-by_slope, by_score.sum() * np.exp(values[1]), by_rate])
        return -likelihood / probes, gradient / probes


def _resampled(pairs: Floats, known: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    total = known.sum()
    again = rng.multinomial(round(total), known / total) if total else known
    return rng.multinomial(round(pairs.sum()), pairs / pairs.sum()).astype(float), again * (total / max(1, again.sum()))
