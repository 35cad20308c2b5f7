"""What a training and its probes say of every pair: evidence, fused into one score, calibrated into P(match).

The pairs of a collection come first, its probes behind them (model/probes.py); only the pairs leave this file.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logit

from model.agreement import Agreement
from model.calibration import Calibration, Interval, calibrate
from model.correlation import NAME as CORRELATION
from model.correlation import Correlation, Odds
from model.dynamics import Dynamics
from model.engine import Adviser, Engine
from model.fusion import SAMPLE_SEED, Fusion, cross_fitted, fit, sampled, standardised
from model.joint import joint_similarity
from model.kinds import kind_weights
from model.pairs import Pairs
from model.probes import KIND_NAMES, NEAR, Probes
from model.training import Scores

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Probabilities are compared as log odds; what is closer to 0 or 1 than this is as good as there.
_LEAST_PROBABILITY = 1e-4
# Of the bootstrap where it only tells whether there is any evidence.
_ADVICE_DRAWS = 50


@dataclass(frozen=True)
class ProbeScores:
    """What became of the probes; the only trace they leave."""

    kinds: npt.NDArray[np.int8]
    clean_confidence: npt.NDArray[np.float32]
    loss: npt.NDArray[np.float32] | None

    @property
    def names(self) -> npt.NDArray[np.str_]:
        return np.array(KIND_NAMES)[self.kinds]


@dataclass(frozen=True)
class Verdict:
    """Scores of the pairs, and how far to trust them."""

    scores: Scores
    calibration: Calibration
    probes: ProbeScores
    names: list[str]  # of the kinds of evidence
    weights: Floats  # what each counted, of standardised evidence
    kind_weights: tuple[float, float]  # what random and near probes stood for

    def to_dict(self) -> dict[str, object]:
        """For a report: no arrays of the collection's length."""
        flagged = self.probes.clean_confidence < self.calibration.threshold
        return self.calibration.to_dict() | {
            "probes": {
                name: {"count": int(part.sum()), "flagged_share": float(flagged[part].mean()) if part.any() else None}
                for number, name in enumerate(KIND_NAMES)
                for part in [self.probes.kinds == number]
            },
            "evidence": {name: round(float(weight), 4) for name, weight in zip(self.names, self.weights, strict=True)},
            "near_misses_count": self.kind_weights[1] > 0,
        }


def judge(
    engine: Engine, pairs: Pairs, probes: Probes, on_progress: Callable[[float], None] = lambda fraction: None
) -> Verdict:
    """`engine` was trained on `pairs`, which are a collection with these probes behind it."""
    weighed = _weigh(engine, pairs, probes, on_progress)
    count, base, score = len(pairs) - len(probes), weighed.base, weighed.score
    calibration = calibrate(
        score[:count], score[count:], weighed.counted[count:], engine.config.seed, told=weighed.noise_rate
    )
    if not calibration.has_evidence:
        # Where no mismatch is like the probes they teach no order; the method's own is the better one then.
        score[:count] = _in_order_of(base.clean_confidence[:count], score[:count])
    confidence = calibration.confidence(score).astype(np.float32)
    scores = _published(base, confidence, weighed.agreement, calibration, weighed.anchors, count)
    if weighed.joint is not None:
        scores = replace(scores, clip_similarity=weighed.joint[:count].astype(np.float32))
    known = ProbeScores(probes.kinds, confidence[count:], None if base.loss is None else base.loss[count:])
    weights = np.mean([one.weights for one in weighed.fits], axis=0)
    return Verdict(scores, calibration, known, weighed.names, weights, weighed.kind_weights)


def advise(
    engine: Engine, pairs: Pairs, probes: Probes, on_progress: Callable[[float], None] = lambda fraction: None
) -> Floats | None:
    """P(match) of every pair and probe, for a training that goes on; None where no mismatch is evident."""
    weighed = _weigh(engine, pairs, probes, on_progress)
    count, score = len(pairs) - len(probes), weighed.score
    calibration = calibrate(
        score[:count], score[count:], weighed.counted[count:], engine.config.seed, _ADVICE_DRAWS, weighed.noise_rate
    )
    return calibration.confidence(score) if calibration.has_evidence else None


def adviser(pairs: Pairs, probes: Probes) -> Adviser | None:
    """For an engine that learns these pairs; there is none without probes."""
    if not len(probes):
        return None
    return lambda engine, heed: advise(engine, pairs, probes, lambda fraction: heed())


@dataclass(frozen=True)
class _Weighed:
    """All evidence in one number per pair and probe, and what it was made of."""

    score: Floats
    counted: Floats  # how much each counts
    fits: list[Fusion]
    kind_weights: tuple[float, float]
    names: list[str]
    base: Scores  # the method's own
    agreement: npt.NDArray[np.float32]
    joint: Floats | None
    anchors: npt.NDArray[np.int8]
    noise_rate: Interval | None  # as far as it is known before the score is looked at


def _weigh(engine: Engine, pairs: Pairs, probes: Probes, on_progress: Callable[[float], None]) -> _Weighed:
    seed, count = engine.config.seed, len(pairs) - len(probes)
    base = engine.scores()
    is_probe = np.arange(len(pairs)) >= count
    own = columns(base, engine.dynamics())
    joint = joint_similarity(pairs) if pairs.is_joint else None
    # What leads, and only many probes may overrule: an encoder that was trained on both sides, for it has seen far more
    # pairs than a small collection has; else the correlation, which follows and has memorised least.
    leader = len(own)
    if joint is not None:
        own["encoder similarity"] = joint
    sources = probes.sources(count)
    neighbours = Agreement(pairs, count, sources, engine.vectors(), lambda part: on_progress(0.7 * part))
    correlation = Correlation(pairs, count, sources)
    kinds = np.concatenate([np.full(count, -1, np.int8), probes.kinds])
    anchors = np.zeros(len(pairs), np.int8) if pairs.anchors is None else pairs.anchors

    def evidence(trust: npt.NDArray[np.float32]) -> tuple[Floats, npt.NDArray[np.float32], Odds]:
        said = neighbours.asked(trust[neighbours.references])
        odds = correlation.asked(trust[correlation.references])
        table = np.column_stack([*own.values(), odds.pairs, said]).astype(np.float64)
        return standardised(table, is_probe), said, odds

    # First whom to trust among the neighbours, then the neighbours' word.
    table, _, _ = evidence(base.clean_confidence)
    weights = kind_weights(table, kinds, seed)
    counted = np.where(is_probe, np.take(weights, np.maximum(kinds, 0)), 1.0)
    is_signed = weights[NEAR] > 0
    rows = sampled(np.arange(len(pairs)), is_probe, np.random.default_rng(seed + SAMPLE_SEED))
    known = table[rows], is_probe[rows], counted[rows], anchors[rows]
    first = fit(*known, is_signed=is_signed, leader=leader)
    table, said, odds = evidence(_probability(first.score(table)))
    on_progress(0.8)
    score, fits = cross_fitted(table, is_probe, counted, anchors, seed, is_signed=is_signed, leader=leader)
    on_progress(0.9)
    names = [*own, CORRELATION, *neighbours.names]
    noise_rate = None if is_signed else _noise_rate(odds, count, seed)
    return _Weighed(score, counted, fits, weights, names, base, said.mean(axis=1), joint, anchors, noise_rate)


def _noise_rate(odds: Odds, count: int, seed: int) -> Interval | None:
    """The share of random mismatches: thousands of known ones tell it better than a few hundred probes."""
    if not len(odds.mismatches):
        return None
    pairs, mismatches = odds.pairs[:count].astype(np.float64), odds.mismatches.astype(np.float64)
    found = calibrate(pairs, mismatches, np.ones(len(mismatches)), seed, _ADVICE_DRAWS)
    return found.noise_rate if found.has_evidence else None


def columns(scores: Scores, dynamics: Dynamics) -> dict[str, Floats]:
    """Evidence of the networks themselves, each high where a pair matches."""
    found = {
        "confidence": _log_odds(scores.clean_confidence),
        "correspondence": _log_odds(scores.rectified_correspondence),
    }
    if scores.uncertainty is not None:
        found["certainty"] = -_log_odds(scores.uncertainty)
    last, first, mean = (getattr(dynamics, name).double().numpy() for name in ("last", "first", "mean"))
    for network in range(len(last)):
        found[f"similarity {'ab'[network]}"] = last[network, 0]
        found[f"probability {'ab'[network]}"] = _log_odds(last[network, 1])
    for name, values in (("first", first), ("mean", mean)):
        found[f"{name} similarity"] = values[:, 0].mean(axis=0)
        found[f"{name} probability"] = _log_odds(values[:, 1].mean(axis=0))
    return found


def _published(
    base: Scores, confidence: npt.NDArray[np.float32], agreement: npt.NDArray[np.float32],
    calibration: Calibration, anchors: npt.NDArray[np.int8], count: int,
) -> Scores:  # fmt: skip
    """Scores of the collection's pairs; a person's word is final."""
    confidence = np.where(anchors == 0, confidence, (anchors > 0).astype(np.float32))[:count]
    taken: dict[str, Any] = {name: value[:count] for name, value in vars(base).items() if isinstance(value, np.ndarray)}
    is_clean = confidence >= np.float32(calibration.threshold)
    taken |= {
        "clean_confidence": confidence,
        "is_clean": is_clean,
        "noise_rate": calibration.noise_rate.estimate,
        "threshold": calibration.threshold,
        "neighbour_agreement": agreement[:count],
        "weight": sample_weights(confidence, taken["rectified_correspondence"], is_clean),
    }
    return replace(base, **taken)


def sample_weights(
    confidence: npt.NDArray[np.float32], correspondence: npt.NDArray[np.float32], is_clean: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float32]:
    """How much a pair should count in a training: P(match) and how well it matches, 1 on average over the kept."""
    raw = confidence.astype(np.float64) * np.sqrt(np.clip(correspondence, 0, 1))
    mean = raw[is_clean].mean() if is_clean.any() else raw.mean()
    return np.asarray(raw / max(mean, 1e-12), dtype=np.float32)


def _in_order_of(order: npt.NDArray[np.float32], values: Floats) -> Floats:
    """The same values, the lowest where `order` is lowest."""
    found = np.empty_like(values)
    found[np.argsort(order, kind="stable")] = np.sort(values)
    return found


def _log_odds(probability: npt.NDArray[np.floating]) -> Floats:
    return np.asarray(logit(np.clip(probability.astype(np.float64), _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)))


def _probability(score: Floats) -> npt.NDArray[np.float32]:
    return np.asarray(1 / (1 + np.exp(-np.clip(score, -30, 30))), dtype=np.float32)
