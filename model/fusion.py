"""One confidence from many kinds of evidence, learned from probes against all other pairs, without a label.

With x the evidence of a pair, P(mismatch | x) = sigmoid(-(w.x + b)). Probes are drawn like mismatches, so their density
is that of all pairs times P(mismatch | x) / pi, pi being the noise rate (Elkan and Noto 2008, Eq. 1-3):

    odds(probe : other pair | x) = (probes / others) * sigmoid(-(w.x + b)) / pi

The odds level off where every pair is a mismatch; the height of that plateau tells pi. The likelihood of who is a
probe gives w, b and pi together.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_expit

from model.fitting import minimise
from model.positions import blocks

Floats = npt.NDArray[np.float64]
Table = npt.NDArray[np.floating]  # (N, F) evidence: float32 where there is a row for every pair of a collection
Bools = npt.NDArray[np.bool_]

# What pi may be: below the first there is no evidence of any mismatch.
RATES = (0.001, 0.97)
FOLDS = 5
# Mean and spread of a weight before the fit: every kind of evidence is worth a little. With the 150 probes of a small
# collection that is much better than nothing (seed 10: the noise rate .37 instead of .33 where .40 is true).
MEAN, SPREAD = 0.25, 0.3
# Evidence that tells probes from pairs by less than so many standard errors is worth nothing before the fit, and
# little after it: a spread of this share at least. None of that is believed where even the best evidence has a lead of
# less than the first of the others, and all of it from the second on: with few probes and much noise the luckiest
# evidence would be taken for the best (simulated: 200 probes, 80 % mismatched).
_STANDARD_ERRORS, _LEAST_SPREAD = 2.0, 0.1
_BELIEVED = (4.0, 8.0)
# Before the fit the leader counts so many times what all other evidence does together, give or take so many times what
# they may: with few probes it leads, with many the probes decide. Flickr8k, seed 10, AUROC of the correlation alone,
# then fused with 1 and 1, 3 and 2, 4 and 4: 6,000 pairs, 80 %, .9669, .9642, .9663, .9614; 60 %, .9719, .9727, .9729,
# .9707; 30,000 pairs, 80 %, .9778, .9837, .9835, .9835; 60 %, .9808, .9901, .9900, .9902.
LEAD, _LEADER_SPREAD = 3.0, 2.0
# It does not lead where it tells probes from pairs less well than the best evidence does, chance allowed for: not at
# all below the first share of what that one tells, fully from the second on.
_LEADING = (0.5, 0.8)
# Where evidence may speak against itself it is not known which way it speaks.
SIGNED_PRIOR = (0.0, 1.0)
# Pairs that a fit looks at; more would not change the weights in a way that matters.
MOST_FITTED = 50_000
# Keeps samples apart from what others draw with the same seed: a benchmark's noise would be taken whole.
SAMPLE_SEED = 32_452_843


@dataclass(frozen=True)
class Leader:
    """Evidence that counts for more than all other before the fit."""

    column: int
    times: float = LEAD  # as much as all other does together


@dataclass(frozen=True)
class Fusion:
    """`weights` are of standardised evidence."""

    weights: Floats  # (F,)
    offset: float
    noise_rate: float
    likelihood: float

    def score(self, evidence: Table) -> Floats:
        """Log odds that a pair matches."""
        out = np.empty(len(evidence))
        for rows in blocks(np.arange(len(evidence))):
            out[rows] = evidence[rows] @ self.weights + self.offset
        return out


def fit(
    evidence: Table,
    is_probe: Bools,
    weight: Floats,
    anchors: npt.NDArray[np.int8] | None = None,
    *,
    is_signed: bool = False,
    leader: Leader | None = None,
    prior: tuple[float | Floats, float | Floats] | None = None,
) -> Fusion:
    """Evidence (N, F), standardised and high where a pair matches; `weight` counts some rows less than others.

    Pairs that people judged (`anchors`: 1 match, -1 mismatch) say what they are besides: the likelihood of that is
    P(mismatch | x) itself, however they were chosen by their evidence. Without `is_signed` no evidence may speak
    against itself: with a few hundred probes that is what keeps chance out. `leader` is evidence that counts for more
    than all other before the fit, unless the probes say that it knows little. `prior` is the mean and spread of a
    normal prior of the weights.
    """
    evidence = evidence.astype(np.float64)
    mean, spread = prior or (SIGNED_PRIOR if is_signed else expected(evidence, is_probe, weight, leader))
    said = np.zeros(len(evidence)) if anchors is None else anchors.astype(float)
    probes, others = float(weight[is_probe].sum()), float(weight[~is_probe].sum())
    scale, width = np.log(probes / others), evidence.shape[1]

    def cost(values: Floats) -> tuple[float, Floats]:
        w, offset, log_rate = values[:width], values[width], values[width + 1]
        score = evidence @ w + offset
        odds = scale - log_rate + log_expit(-score)
        likelihood = weight @ np.where(is_probe, log_expit(odds), log_expit(-odds))
        likelihood += np.abs(said) @ log_expit(said * score)
        slope = weight * np.where(is_probe, expit(-odds), -expit(odds))
        by_score = said * expit(-said * score) - slope * expit(score)
        away = (w - mean) / spread
        gradient = np.concatenate([away / spread - evidence.T @ by_score, [-by_score.sum(), slope.sum()]])
        return (0.5 * away @ away - likelihood) / probes, gradient / probes

    start = np.concatenate([np.maximum(np.broadcast_to(mean, width), 1 / width), [0.0, np.log(0.3)]])
    sign = (None if is_signed else 0.0, None)
    bounds = [sign] * width + [(None, None), (float(np.log(RATES[0])), float(np.log(RATES[1])))]
    found = minimise(cost, start, bounds)
    return Fusion(found.x[:width], float(found.x[width]), float(np.exp(found.x[-1])), -found.fun * probes)


def presumed(evidence: Table, is_probe: Bools, weight: Floats, leader: Leader | None = None) -> Fusion:
    """Without a fit, where probes are too few for one or look different from all that was learned by heart: all
    evidence counts as expected, and the leader leads whatever they say."""
    weights, _ = expected(evidence, is_probe, weight, leader, leads=1.0)
    return Fusion(weights, 0.0, float("nan"), float("nan"))


def expected(
    evidence: Table, is_probe: Bools, weight: Floats, leader: Leader | None = None, leads: float | None = None
) -> tuple[Floats, Floats]:
    """Mean and spread of each weight before the fit: by how well each kind of evidence tells probes from other pairs
    when asked alone, and shared among those that say the same. Copies of one opinion would else outvote a better one,
    and chance would count as much as knowledge. How much the leader `leads`, 0 to 1, is asked of the probes where it is
    not said."""
    pairs, counted = evidence[~is_probe], weight[~is_probe]
    lead = np.array([_lead(column, is_probe, weight) for column in evidence.T])
    error = (12 * weight[is_probe].sum()) ** -0.5  # of a lead where there is none
    sureness = np.clip(1 - np.square(_STANDARD_ERRORS * error / np.maximum(lead, 1e-9)), 0, 1)
    alike = np.square(np.maximum((pairs.T * counted) @ pairs / counted.sum(), 0))  # (F, F)
    worth = lead * sureness / np.maximum(alike @ (sureness > 0), 1)
    least, most = _BELIEVED
    belief = float(np.clip((lead.max() / error - least) / (most - least), 0, 1))
    share = belief * worth / max(worth.mean(), 1e-12) + 1 - belief
    mean, spread = MEAN * share, SPREAD * (belief * np.maximum(sureness, _LEAST_SPREAD) + 1 - belief)
    if leader is not None:
        column = leader.column
        if leads is None:
            told = (lead[column] + _STANDARD_ERRORS * error) / max(lead.max(), 1e-9)
            leads = float(np.clip((told - _LEADING[0]) / (_LEADING[1] - _LEADING[0]), 0, 1))
        mean[column] += leads * (leader.times * (mean.sum() - mean[column]) - mean[column])
        spread[column] *= 1 + leads * (_LEADER_SPREAD * len(mean) ** 0.5 - 1)
    return mean, spread


def _lead(values: npt.NDArray[np.floating], is_probe: Bools, weight: Floats) -> float:
    """How much more often than every second time a pair is above a probe; at least 0."""
    order = np.argsort(values[~is_probe])
    ordered, below = values[~is_probe][order], np.concatenate([[0.0], np.cumsum(weight[~is_probe][order])])
    probes = values[is_probe]
    shares = [below[np.searchsorted(ordered, probes, side)] / below[-1] for side in ("left", "right")]
    return max(0.0, 0.5 - float(np.average((shares[0] + shares[1]) / 2, weights=weight[is_probe])))


def cross_fitted(
    evidence: Table, is_probe: Bools, weight: Floats, anchors: npt.NDArray[np.int8], seed: int, *,
    is_signed: bool, leader: Leader | None = None,
) -> tuple[Floats, list[Fusion]]:  # fmt: skip
    """Every pair's score by a fit that did not see it, probes and others alike, on one scale; and the fits."""
    rng = np.random.default_rng(seed)
    fold = np.empty(len(evidence), dtype=np.int64)
    for part in (is_probe, ~is_probe):  # as many of each in every fold
        fold[part] = rng.permutation(np.arange(part.sum()) % FOLDS)
    scores, fits = np.empty(len(evidence)), []
    for number in range(FOLDS):
        rows = sampled(np.flatnonzero(fold != number), is_probe, rng)
        known = evidence[rows], is_probe[rows], weight[rows], anchors[rows]
        fits.append(fit(*known, is_signed=is_signed, leader=leader))
        every = fits[-1].score(evidence)
        # On one scale: how sure a fit is differs more from fold to fold than how it orders the pairs.
        every = (every - every[~is_probe].mean()) / max(float(every[~is_probe].std()), 1e-9)
        scores[fold == number] = every[fold == number]
    return scores, fits


def sampled(
    rows: npt.NDArray[np.int64], is_probe: Bools, rng: np.random.Generator, most: int = MOST_FITTED
) -> npt.NDArray[np.int64]:
    """All probes of these rows, and others up to `most`."""
    others = rows[~is_probe[rows]]
    if len(others) <= most:
        return rows
    return np.sort(np.concatenate([rows[is_probe[rows]], rng.choice(others, most, replace=False)]))


def standardised(columns: Iterable[npt.NDArray[np.floating]], is_probe: Bools) -> npt.NDArray[np.float32]:
    """(N, F) the columns with mean 0 and spread 1 over the pairs that are no probes; a constant one is 0."""
    return np.stack([_standardised(column, is_probe) for column in columns], axis=1)


def _standardised(column: npt.NDArray[np.floating], is_probe: Bools) -> npt.NDArray[np.float32]:
    pairs = column[~is_probe].astype(np.float64)
    spread = pairs.std()
    return np.asarray((column - pairs.mean()) / (spread if spread > 1e-12 else np.inf), np.float32)
