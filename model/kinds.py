"""Which kinds of mismatch a collection has: any other image, or one that resembles the right one.

Both kinds of probes are at hand, but a near miss looks much like a doubtful match. Counting it among the mismatches
where there are none would flag doubtful matches; so near misses count only where the likelihood asks for them.
"""

import numpy as np
import numpy.typing as npt

from model.fitting import minimise
from model.fusion import RATES, SAMPLE_SEED, sampled
from model.probes import NEAR, RANDOM

Floats = npt.NDArray[np.float64]

# What near misses must add to the log likelihood. On Flickr8k (seed 10; 6,000 and 30,000 pairs) they added 28 where
# they were there, and at most 1.4 where they were not.
LEAST_GAIN = 5.0
_MOST_FITTED = 15_000


def kind_weights(evidence: Floats, kinds: npt.NDArray[np.int8], seed: int) -> tuple[float, float]:
    """How much a random and a near probe stand for the mismatches of this collection; `kinds` is -1 for its pairs."""
    if not (kinds == NEAR).any():
        return 1.0, 0.0
    if not (kinds == RANDOM).any():
        return 0.0, 1.0
    rows = sampled(np.arange(len(kinds)), kinds >= 0, np.random.default_rng(seed + SAMPLE_SEED), _MOST_FITTED)
    evidence, kinds = evidence[rows], kinds[rows]
    rates, likelihood = _fit(evidence, kinds, RATES[1])
    _, without = _fit(evidence, kinds, RATES[0])
    if likelihood - without < LEAST_GAIN:
        return 1.0, 0.0
    counts = np.array([(kinds == RANDOM).sum(), (kinds == NEAR).sum()])
    weights = rates / rates.sum() * counts.sum() / counts
    return float(weights[0]), float(weights[1])


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
