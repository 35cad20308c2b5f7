"""Which kinds of mismatch a collection has: any other image, or one that resembles the right one.

Both kinds of probes are at hand, but a near miss looks much like a doubtful match. Counting it among the mismatches
where there are none would flag doubtful matches; so near misses count only where the likelihood asks for them.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from model.fitting import minimise
from model.fusion import RATES, SAMPLE_SEED, Table, sampled
from model.probes import NEAR, RANDOM

Floats = npt.NDArray[np.float64]

# What near misses must add to the log likelihood, at least and for each known near miss. On Flickr8k (seeds 10 to 12,
# 6,000 and 30,000 pairs) they added .004 to .016 for each of the thousands that are known where they were 10 to 60 % of
# the pairs, and at most .0016 where they were not there: scores are never quite log odds.
_LEAST_GAIN, _LEAST_GAIN_EACH = 5.0, 0.003
_MOST_FITTED = 15_000


@dataclass(frozen=True)
class Kinds:
    """Shares of a collection's pairs that are mismatches of either kind; relative ones where only one kind is known."""

    random: float
    near: float

    @property
    def has_near(self) -> bool:
        return self.near > 0

    def weights(self, kinds: npt.NDArray[np.int8]) -> tuple[float, float]:
        """How much a random and a near one of these known mismatches stand for those of the collection."""
        counts = np.array([(kinds == RANDOM).sum(), (kinds == NEAR).sum()])
        shares = np.array([self.random, self.near]) * (counts > 0)
        if not shares.any():  # those that would count are not there
            shares = (counts > 0).astype(float)
        weights = shares / max(shares.sum(), 1e-12) * counts[shares > 0].sum() / np.maximum(counts, 1)
        return float(weights[0]), float(weights[1])


def kinds_of(evidence: Table, kinds: npt.NDArray[np.int8], seed: int) -> Kinds:
    """From standardised evidence of pairs (`kinds` is -1) and of known mismatches."""
    if not (kinds == NEAR).any():
        return Kinds(1.0, 0.0)
    if not (kinds == RANDOM).any():
        return Kinds(0.0, 1.0)
    rows = sampled(np.arange(len(kinds)), kinds >= 0, np.random.default_rng(seed + SAMPLE_SEED), _MOST_FITTED)
    some, kinds = evidence[rows].astype(np.float64), kinds[rows]
    rates, likelihood = _fit(some, kinds, RATES[1])
    alone, without = _fit(some, kinds, RATES[0])
    if likelihood - without < max(_LEAST_GAIN, _LEAST_GAIN_EACH * (kinds == NEAR).sum()):
        return Kinds(float(alone[0]), 0.0)
    return Kinds(float(rates[0]), float(rates[1]))


def _fit(evidence: Floats, kinds: npt.NDArray[np.int8], most_near: float) -> tuple[Floats, float]:
    """Rates of both kinds, and the log likelihood: model/fusion.py with two kinds of mismatch beside the match.

    P(kind | x) is a softmax over linear scores, 0 for a match, and the odds of a probe of that kind against another
    pair at x are (its probes / others) * P(kind | x) / pi of the kind.
    """
    width, columns = evidence.shape[1], np.ascontiguousarray(evidence.T)  # (F, N): sums over kinds run along memory
    observed = (np.array([[RANDOM], [NEAR]]) == kinds).astype(float)  # (2, N)
    is_pair = 1 - observed.sum(axis=0)
    scale = np.log(observed.sum(axis=1) / is_pair.sum())
    probes = observed.sum()

    def cost(values: Floats) -> tuple[float, Floats]:
        weights = values[: 2 * width].reshape(2, width)
        offset, log_rate = values[2 * width : 2 * width + 2], values[-2:]
        log_kind, _ = _against_zero(offset[:, None] - weights @ columns)
        log_who, log_pair = _against_zero((scale - log_rate)[:, None] + log_kind)
        likelihood = (observed * log_who).sum() + is_pair @ log_pair
        slope = observed - np.exp(log_who)
        by_score = slope - np.exp(log_kind) * slope.sum(axis=0)
        gradient = [(weights + by_score @ evidence).ravel(), -by_score.sum(axis=1), slope.sum(axis=1)]
        return (0.5 * np.square(weights).sum() - likelihood) / probes, np.concatenate(gradient) / probes

    start = np.concatenate([np.full(2 * width, 1 / width), [-1.0, -1.0], np.log([0.3, min(0.1, most_near)])])
    log_least = float(np.log(RATES[0]))
    rates = [(log_least, float(np.log(RATES[1]))), (log_least, float(np.log(most_near)))]
    bounds = [(None, None)] * (2 * width + 2) + rates
    found = minimise(cost, start, bounds)
    return np.exp(found.x[-2:]), -found.fun * probes


def _against_zero(scores: Floats) -> tuple[Floats, Floats]:
    """Log softmax of (2, N) scores beside a third that is 0, and that of the third."""
    top = np.maximum(np.maximum(scores[0], scores[1]), 0)
    third = -top - np.log(np.exp(-top) + np.exp(scores - top).sum(axis=0))
    return scores + third, third
