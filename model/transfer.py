"""Judges pairs that arrive after a training, by its networks and its pairs: no training, no labels.

Pairs that were learned look better than new ones that match, so new pairs are calibrated among themselves where there
are enough of them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from scipy.stats import beta

from model.calibration import LEAST_EVIDENT, Calibration, calibrate
from model.correlation import Odds
from model.expectations import Interval, curve_of, without_evidence
from model.judge import FRESH_SEED, Judge, followed
from model.linear_maps import NAMES as CORRELATIONS
from model.pairs import Pairs
from model.positions import spread
from model.probes import LEAST_PROBES, Probes, make_probes, with_probes
from model.training import Scores
from model.trust import ProbeScores, Verdict, sample_weights
from model.weighing import beforehand, kinds_among
from model.witnesses import Look

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# New pairs from which on they are calibrated among themselves. Flickr8k, seed 10, 40 % of new pairs mismatched: of 200
# the noise rate came out as .39 so, of 90 at a time as .42 by the calibration of the run.
LEAST_CALIBRATED = 100
# Mismatches made of the new pairs. With 1,000 of them the noise rate above hung on which were drawn.
_FRESH = 4_000
# New pairs whose whole evidence is kept for comparison; of all others only the result is.
_MOST_COMPARED = 10_000
_BLOCK = 2048
_COINS = 1_000


@dataclass(frozen=True)
class Judgement:
    verdict: Verdict
    drift: dict[str, Any]
    is_calibrated: bool  # on the new pairs themselves; else as the run's own pairs were


@dataclass
class _Seen:
    """Of every pair and probe a few numbers, of some all evidence."""

    scores: Floats  # (N + P, 1 + networks)
    odds: npt.NDArray[np.float32]  # (N + P, networks)
    similarity: npt.NDArray[np.float32]
    agreement: npt.NDArray[np.float32]
    joint: npt.NDArray[np.float32]
    has_joint: bool = False
    outside: Ints = field(default_factory=lambda: np.zeros(2, np.int64))
    pairs: list[Floats] = field(default_factory=list)
    probes: list[Floats] = field(default_factory=list)

    def take(self, rows: Ints, look: Look, scores: Floats) -> None:
        self.scores[rows], self.odds[rows] = scores, look.odds
        self.similarity[rows], self.agreement[rows] = look.similarity, look.agreement
        if look.joint is not None:
            self.has_joint, self.joint[rows] = True, look.joint


def judge_new(judge: Judge, pairs: Pairs, on_progress: Callable[[float], None] = lambda fraction: None) -> Judgement:
    """Pairs that were never trained on; as few as one."""
    count, seed = len(pairs), judge.witnesses.trained.config.seed + 2 * FRESH_SEED
    probes = make_probes(pairs, _FRESH / count if count >= LEAST_CALIBRATED else 0, seed)
    is_calibrated = len(probes) >= LEAST_PROBES  # else re-pairing gives the same again: there is little content
    probes = probes if is_calibrated else make_probes(pairs, 0, seed)
    seen = _look(judge, with_probes(pairs, probes), count, on_progress)
    names, weights = judge.names, judge.weights[0]
    drift = judge.familiar.compare(seen.outside, count, np.concatenate(seen.pairs), names)
    if is_calibrated:
        calibration, counts = _calibrated(seen, probes, pairs, seed)
        known = ProbeScores(probes.kinds, _float32(calibration.confidence(seen.scores[count:, 0])), None)
        scores = _published(seen, pairs, calibration, _followers(seen, count, calibration))
        return Judgement(Verdict(scores, calibration, known, names, weights, counts), drift, is_calibrated)
    known = ProbeScores(judge.probe_kinds, _float32(judge.calibration.confidence(judge.probe_scores)), None)
    calibration = _recounted(judge.calibration, _confidence(seen, pairs, judge.calibration), seed)
    scores = _published(seen, pairs, calibration, [(1.0, 0.0)] * seen.odds.shape[1])
    return Judgement(Verdict(scores, calibration, known, names, weights, None), drift, is_calibrated)


def _look(judge: Judge, pairs: Pairs, count: int, on_progress: Callable[[float], None]) -> _Seen:
    """Block by block; `pairs` are `count` new ones and probes of them."""
    total, networks = len(pairs), len(judge.offsets) - 1
    flat = np.empty((3, total), np.float32)
    seen = _Seen(np.empty((total, 1 + networks)), np.empty((total, networks), np.float32), *flat)
    compared = spread(count, _MOST_COMPARED)
    for at in range(0, total, _BLOCK):
        rows = np.arange(at, min(at + _BLOCK, total))
        look = judge.look(pairs, rows)
        seen.take(rows, look, look.table @ judge.weights.T + judge.offsets)
        seen.outside += judge.familiar.outside(look.nearest[rows < count])
        seen.pairs.append(look.table[np.isin(rows, compared)])
        seen.probes.append(look.table[rows >= count])
        on_progress((rows[-1] + 1) / total)
    return seen


def _calibrated(seen: _Seen, probes: Probes, pairs: Pairs, seed: int) -> tuple[Calibration, tuple[float, float]]:
    """On the new pairs; what counts how much stays as it was learned."""
    count = len(pairs)
    sample, known = (np.concatenate(part)[:, -len(CORRELATIONS) :] for part in (seen.pairs, seen.probes))
    odds = Odds(_float32(sample), _float32(known), probes.kinds)
    kinds = kinds_among(odds, len(sample), seed)
    counts = kinds.weights(probes.kinds)
    # Together they count no more than the pairs: however many were drawn, they are made of these.
    weight = np.take(counts, probes.kinds) * min(1.0, count / len(probes))
    scores, known_scores = seen.scores[:count, 0], seen.scores[count:, 0]
    told = beforehand(odds, kinds, np.arange(len(sample)), seed)
    return calibrate(scores, known_scores, weight, seed, known=told, anchors=pairs.anchors), counts


def _followers(seen: _Seen, count: int, calibration: Calibration) -> list[tuple[float, float]]:
    """Slope and offset of every network's own score."""
    confidence = calibration.confidence(seen.scores[:count, 0])
    found = [followed(scores[:count, None], confidence) for scores in seen.scores.T[1:]]
    return [(float(slope[0]), offset) for slope, offset in found]


def _published(seen: _Seen, pairs: Pairs, calibration: Calibration, alone: list[tuple[float, float]]) -> Scores:
    """Of the new pairs."""
    count, confidence = len(pairs), _confidence(seen, pairs, calibration)
    each = [_float32(expit(slope * seen.scores[:count, 1 + k] + offset)) for k, (slope, offset) in enumerate(alone)]
    correspondence = _float32(expit(seen.odds[:count]).mean(axis=1))
    is_clean = confidence >= np.float32(calibration.threshold)
    return Scores(
        clean_confidence=confidence,
        confidence_a=each[0],
        confidence_b=each[-1],
        rectified_correspondence=correspondence,
        similarity=seen.similarity[:count].clip(-1, 1),
        is_clean=is_clean,
        noise_rate=calibration.noise_rate.estimate,
        threshold=calibration.threshold,
        weight=sample_weights(confidence, correspondence, is_clean),
        neighbour_agreement=seen.agreement[:count],
        clip_similarity=seen.joint[:count] if seen.has_joint else None,
    )


def _confidence(seen: _Seen, pairs: Pairs, calibration: Calibration) -> npt.NDArray[np.float32]:
    return pairs.as_reviewed(calibration.confidence(seen.scores[: len(pairs), 0]))


def _recounted(calibration: Calibration, confidence: npt.NDArray[np.float32], seed: int) -> Calibration:
    """Few pairs have the calibration of the run, but how many of them match and what to expect of a cut is their own.
    Intervals are for their number alone: as many might match as of coins that fall so."""
    rate = _counted_rate(confidence)
    values, counts = np.unique(confidence.astype(np.float64), return_counts=True)
    drawn = np.random.default_rng(seed).binomial(counts, values, (_COINS, len(values))) / counts
    curve = curve_of(np.vstack([values, drawn]), counts.astype(np.float64))
    has_evidence = rate.low > LEAST_EVIDENT
    if not has_evidence:
        rate, curve = without_evidence(rate, curve)
    return replace(calibration, noise_rate=rate, has_evidence=has_evidence, curve=curve)


def _counted_rate(confidence: npt.NDArray[np.float32]) -> Interval:
    """Of few pairs: the mean, with an interval for their number alone (Jeffreys)."""
    count, estimate = len(confidence), float(1 - confidence.mean(dtype=np.float64))
    low, high = beta.ppf((0.025, 0.975), count * estimate + 0.5, count * (1 - estimate) + 0.5)
    return Interval(estimate, min(estimate, float(low)), max(estimate, float(high)))


def _float32(values: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    return np.asarray(values, dtype=np.float32)
