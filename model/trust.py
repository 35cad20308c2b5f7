"""What a training and its probes say of every pair: evidence, fused into one score, calibrated into P(match).

The pairs of a collection come first, its probes behind them (model/probes.py); only the pairs leave this file.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from model.calibration import Calibration
from model.correlation import Correlation
from model.engine import Adviser, Engine
from model.pairs import Pairs
from model.probes import KIND_NAMES, NEAR, Probes
from model.training import Scores
from model.weighing import FEW_DRAWS, weigh

Floats = npt.NDArray[np.float64]


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
    kind_weights: tuple[float, float] | None  # what random and near probes stood for; None where too few pairs tell

    @property
    def near_share(self) -> float | None:
        """Of the mismatches, those that are near misses."""
        if self.kind_weights is None:
            return None
        counted = np.bincount(self.probes.kinds, minlength=len(KIND_NAMES)) * np.array(self.kind_weights)
        return float(counted[NEAR] / max(counted.sum(), 1e-12))

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
            "near_share": None if self.near_share is None else round(self.near_share, 4),
        }


def judge(
    engine: Engine, pairs: Pairs, probes: Probes, on_progress: Callable[[float], None] = lambda fraction: None
) -> Verdict:
    """`engine` was trained on `pairs`, which are a collection with these probes behind it."""
    weighed = weigh(engine, pairs, probes, correlation_of(pairs, probes), on_progress)
    count, base, score, calibration = len(pairs) - len(probes), weighed.base, weighed.score, weighed.calibration
    if not calibration.is_likely:
        # Where no mismatch is like the probes they teach no order; the method's own is the better one then.
        score[:count] = _in_order_of(base.clean_confidence[:count], score[:count])
    confidence = calibration.confidence(score).astype(np.float32)
    scores = _published(base, pairs.as_reviewed(confidence)[:count], weighed.agreement, calibration, count)
    if weighed.joint is not None:
        scores = replace(scores, clip_similarity=weighed.joint[:count])
    known = ProbeScores(probes.kinds, confidence[count:], None if base.loss is None else base.loss[count:])
    weights = np.mean([one.weights for one in weighed.fits], axis=0)
    return Verdict(scores, calibration, known, weighed.names, weights, weighed.kind_weights)


def advise(
    engine: Engine,
    pairs: Pairs,
    probes: Probes,
    correlation: Correlation,
    on_progress: Callable[[float], None] = lambda fraction: None,
) -> Floats | None:
    """P(match) of every pair and probe, for a training that goes on; None where no mismatch is evident."""
    weighed = weigh(engine, pairs, probes, correlation, on_progress, FEW_DRAWS)
    calibration = weighed.calibration
    return calibration.confidence(weighed.score) if calibration.is_likely else None


def adviser(pairs: Pairs, probes: Probes) -> Adviser | None:
    """For an engine that learns these pairs; there is none without probes."""
    if not len(probes):
        return None
    correlation = cache(lambda: correlation_of(pairs, probes))  # once, and only if it is asked
    return lambda engine, on_progress: advise(engine, pairs, probes, correlation(), on_progress)


def correlation_of(pairs: Pairs, probes: Probes) -> Correlation:
    """Of a collection with these probes behind it."""
    count = len(pairs) - len(probes)
    return Correlation(pairs, count, probes.sources(count))


def _published(
    base: Scores, confidence: npt.NDArray[np.float32], agreement: npt.NDArray[np.float32],
    calibration: Calibration, count: int,
) -> Scores:  # fmt: skip
    """Scores of the collection's pairs alone."""
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
