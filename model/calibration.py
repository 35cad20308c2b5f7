"""From scores of pairs and of probes to P(match), the noise rate, and what to expect of every cut: without a label.

The model is that of model/fusion.py with the score as its only evidence, on a histogram, and held to be sure of the
lowest probes: P(mismatch) and the noise rate could otherwise shrink together. Its bootstrap gives intervals.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_expit, ndtri

from model.fitting import minimise
from model.fusion import RATES

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# A kept pair costs as much when it is a mismatch as a matching one that is lost.
EQUAL_COSTS = 0.5
# Below this share of the probes a score speaks for a mismatch: there the log likelihood ratio is at most so high. With
# few probes near misses are not told as surely: on Flickr8k (6,000 pairs, 40 % near misses, seeds 10 and 11) -4.5, -2
# and 0 gave a calibration error of .17, .06 and .06. With five times the probes they are (30,000 pairs, seed 10: -4.5
# and -2 gave .020 and .037).
_LOWEST_SHARE, LOWEST_RATIO, LOWEST_RATIO_NEAR = 0.25, -4.5, -2.0
# Where the fit starts: log odds per standard deviation of the scores. The likelihood may have two summits.
_STARTS = (2.0, 6.0)
# A lower end of the noise rate below this is no evidence of mismatch: doubtful matches alone may reach it.
LEAST_EVIDENT = 0.01
_BINS = 300
_DRAWS = 200
# Wider than 2.5 to 97.5: the bootstrap knows nothing of how the score itself was learned, nor of a score that is not
# quite a log odds. On simulated collections these cover the noise rate in 94 to 95 of 100.
_PERCENTILES = (1.0, 99.0)
_CURVE_ROWS = 101
# What is told of the noise rate is not more exact than this share of it: scores are never quite log odds.
_LEAST_ERROR = 0.01
# Log odds beyond this grow by their logarithm only. A float32 has no number between 1 - 6e-8 and 1: far from the
# mismatches all pairs would be equal, the near misses among them too.
_SURE = 7.0


@dataclass(frozen=True)
class Interval:
    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class Calibration:
    """P(match) of every score, and how sure that is."""

    slope: float
    offset: float
    noise_rate: Interval
    has_evidence: bool  # of any mismatch
    curve: list[dict[str, float | None]]
    threshold: float = EQUAL_COSTS

    def confidence(self, scores: Floats) -> Floats:
        return probability(self.slope * scores + self.offset)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def calibrate(
    scores: Floats, probes: Floats, weight: Floats, seed: int, draws: int | None = None, told: Interval | None = None,
    lowest_ratio: float = LOWEST_RATIO,
) -> Calibration:  # fmt: skip
    """`scores` of the collection's pairs and of probes, high where a pair matches; `weight` counts the probes.

    `told` is what is known of the noise rate from elsewhere, `lowest_ratio` how sure the lowest probes must be."""
    edges = np.unique(np.quantile(np.concatenate([scores, probes]), np.linspace(0, 1, _BINS + 1)))
    bins = len(edges) - 1
    if bins < 1:  # all scores are equal
        edges, bins = np.array([edges[0], edges[0] + 1.0]), 1
    centres = np.array((edges[:-1] + edges[1:]) / 2)
    pairs = np.bincount(_places(scores, edges), minlength=bins).astype(float)
    known = np.bincount(_places(probes, edges), weights=weight, minlength=bins).astype(float)
    expected = None if told is None else _LogNormal.of(told)
    shown = _Histogram(centres, pairs, known, lowest_ratio, expected)
    best = shown.fit([np.log([start, 0.3, 0.3]) for start in _STARTS])
    slope, offset = shown.line(best)
    rng = np.random.default_rng(seed)
    again = (
        _Histogram(centres, *_resampled(pairs, known, rng), lowest_ratio, expected and expected.resampled(rng))
        for _ in range(draws or _DRAWS)
    )
    drawn = [one.line(one.fit([best])) for one in again]
    lines = np.array([(slope, offset), *drawn])  # (1 + draws, 2)
    matching = probability(lines[:, :1] * centres + lines[:, 1:])  # (1 + draws, bins)
    rates = ((1 - matching) @ pairs) / pairs.sum()
    noise_rate = _interval(rates)
    has_evidence = noise_rate.low > LEAST_EVIDENT
    if not has_evidence:
        noise_rate = replace(noise_rate, low=0.0)
    return Calibration(slope, offset, noise_rate, has_evidence, _curve(matching, pairs))


def probability(log_odds: Floats) -> Floats:
    """The logistic up to .999; beyond it less sure, so that different log odds stay different as float32."""
    beyond = np.maximum(np.abs(log_odds) - _SURE, 0)
    return np.asarray(expit(np.sign(log_odds) * (np.minimum(np.abs(log_odds), _SURE) + np.log1p(beyond))))


def _places(values: Floats, edges: Floats) -> Ints:
    return np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)


@dataclass(frozen=True)
class _LogNormal:
    """What is known of the noise rate before any score is looked at."""

    mean: float
    error: float

    @classmethod
    def of(cls, told: Interval) -> "_LogNormal":
        width = np.log(told.high / max(told.low, RATES[0])) / (
            ndtri(_PERCENTILES[1] / 100) - ndtri(_PERCENTILES[0] / 100)
        )
        return cls(float(np.log(told.estimate)), max(float(width), _LEAST_ERROR))

    def resampled(self, rng: np.random.Generator) -> "_LogNormal":
        return replace(self, mean=float(rng.normal(self.mean, self.error)))


class _Histogram:
    """Counts of pairs and of probes by score."""

    def __init__(
        self, centres: Floats, pairs: Floats, known: Floats, lowest_ratio: float, expected: _LogNormal | None
    ) -> None:
        self.centres, self.pairs, self.known, self.expected = centres, pairs, known, expected
        self.lowest_ratio = lowest_ratio
        share = np.cumsum(known) / known.sum()
        self.lowest = float(centres[np.searchsorted(share, _LOWEST_SHARE)])
        mean = (pairs @ centres) / pairs.sum()
        self.spread = float(np.sqrt(pairs @ np.square(centres - mean) / pairs.sum())) or 1.0

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
            away = (np.log(mismatched.sum() / self.pairs.sum()) - self.expected.mean) / self.expected.error
            likelihood -= 0.5 * away**2
            by_score += away / self.expected.error * mismatched * expit(score) / mismatched.sum()
        by_slope = by_score @ (self.centres - self.lowest) * slope
        by_rate = by_odds.sum() + by_score.sum() / (1 - np.exp(values[2]))
        gradient = np.array([-by_slope, by_score.sum() * np.exp(values[1]), by_rate])
        return -likelihood / probes, gradient / probes


def _resampled(pairs: Floats, known: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Another collection and other probes, as they might as well have been."""
    total = known.sum()
    again = rng.multinomial(round(total), known / total) if total else known
    return rng.multinomial(round(pairs.sum()), pairs / pairs.sum()).astype(float), again * (total / max(1, again.sum()))


def _interval(values: Floats) -> Interval:
    """Of the first value, by the others."""
    low, high = np.percentile(values[1:], _PERCENTILES)
    estimate = float(values[0])
    return Interval(estimate, min(estimate, float(low)), max(estimate, float(high)))


def _curve(matching: Floats, pairs: Floats) -> list[dict[str, float | None]]:
    """What to expect of cuts that keep everything, then ever less."""
    confidence = matching[0]  # rising with the bin
    kept = np.cumsum(pairs[::-1])[::-1]
    matched = np.cumsum((matching * pairs)[:, ::-1], axis=1)[:, ::-1]  # (1 + draws, bins) matches kept from this bin on
    total = kept[0]
    shares = {
        "precision": (matched, kept),
        "recall": (matched, matched[:, :1]),
        "flagged_precision": ((total - kept) - (matched[:, :1] - matched), total - kept),
        "flagged_recall": ((total - kept) - (matched[:, :1] - matched), total - matched[:, :1]),
    }
    rows = np.searchsorted(-kept, -np.linspace(1, 0, _CURVE_ROWS) * total).clip(0, len(pairs) - 1)
    automatic = int(np.searchsorted(confidence, EQUAL_COSTS))
    curve = []
    for row in np.unique([*rows, *([automatic] if automatic < len(pairs) else [])]):
        cut = EQUAL_COSTS if row == automatic else float(confidence[row])
        entry: dict[str, float | None] = {"cut": cut if row else 0.0}
        entry["kept_share"] = float(kept[row] / total)
        for name, (part, whole) in shares.items():
            entry |= _share(name, part[:, row], np.broadcast_to(whole, part.shape)[:, row])
        curve.append(entry)
    return curve


def _share(name: str, part: Floats, whole: Floats) -> dict[str, float | None]:
    """A share with its interval; None where there is nothing that it could be a share of."""
    keys = (name, f"{name}_low", f"{name}_high")
    if whole[0] <= 0:
        return dict.fromkeys(keys)
    found = _interval(np.clip(part / np.maximum(whole, 1e-12), 0, 1))
    return dict(zip(keys, (found.estimate, found.low, found.high), strict=True))
