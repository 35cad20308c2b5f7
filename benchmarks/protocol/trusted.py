"""One cell of `bench trust`: a whole run with probes, judged beside what needs no training."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from benchmarks.protocol.judged import judged
from model import metrics
from model.agreement import Agreement
from model.config import RunConfig
from model.division import fit
from model.engine import Engine
from model.pairs import Pairs
from model.training import CLEAN_ABOVE, Scores
from model.trust import Verdict

NEIGHBOURS = "neighbours alone"


def trusted(
    pairs: Pairs, config: RunConfig, device: str, on_progress: Callable[[float], None]
) -> tuple[Engine, Verdict, dict[str, Scores]]:
    """The trained engine, what it and its probes say, and by name the scores to compare with."""
    run = judged(pairs, config, device, on_progress)
    return run.engine, run.verdict, {NEIGHBOURS: neighbour_scores(pairs)}


def neighbour_scores(pairs: Pairs) -> Scores:
    """What the neighbours in the encoder's own spaces say, everybody trusted: no training at all."""
    count = len(pairs)
    rows = np.arange(count)
    asked = Agreement(pairs, count, (rows, rows)).asked(np.ones(count, np.float32))
    spread = np.maximum(asked.std(axis=0), 1e-9)
    value = ((asked - asked.mean(axis=0)) / spread).mean(axis=1).astype(np.float64)
    # The usual way to a cut: a mixture of two, here over the negated score.
    confidence = fit(-value).confidence(-value).astype(np.float32)
    rank = np.argsort(np.argsort(value)) / count
    ordered: npt.NDArray[np.float32] = (0.999 * confidence + 0.001 * rank).astype(np.float32)
    return Scores(
        clean_confidence=ordered,
        confidence_a=ordered,
        confidence_b=ordered,
        rectified_correspondence=ordered,
        similarity=value.astype(np.float32),
        is_clean=ordered >= CLEAN_ABOVE,
        noise_rate=float(1 - confidence.mean()),
        threshold=CLEAN_ABOVE,
    )


def own_figures(scores: Scores, is_mismatch: npt.NDArray[np.bool_]) -> dict[str, float]:
    """Beyond detection: F1 lost by the automatic cut, and the error of the noise rate."""
    cut = metrics.detection(scores.is_clean, is_mismatch)
    lost = metrics.best_cut_f1(scores.clean_confidence, is_mismatch) - cut.f1
    return {
        "f1_lost": lost,
        "noise_error": metrics.noise_rate_error(scores.noise_rate, is_mismatch),
        "flagged": float((~scores.is_clean).mean()),
    }


def promised(verdict: Verdict, is_mismatch: npt.NDArray[np.bool_]) -> dict[str, float | None]:
    """What was promised of the noise rate and of the automatic cut, and whether the truth was within."""
    rate, is_clean = verdict.calibration.noise_rate, verdict.scores.is_clean
    row = next(row for row in verdict.calibration.curve if row["cut"] == verdict.calibration.threshold)
    found: dict[str, float | None] = {
        "noise_low": rate.low,
        "noise_high": rate.high,
        "noise_held": _is_within(is_mismatch, rate.low, rate.high),
    }
    found |= {f"precision{end}": row[f"precision{end}"] for end in ("_low", "_high")}
    low, high = found["precision_low"], found["precision_high"]
    if is_clean.any() and low is not None and high is not None:
        found["precision_held"] = _is_within(~is_mismatch[is_clean], low, high)
    return found


def _is_within(values: npt.NDArray[np.bool_], low: float, high: float) -> float:
    return float(low <= values.mean() <= high)
