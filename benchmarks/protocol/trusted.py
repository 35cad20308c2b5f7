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

NEIGHBOURS = "neighbours alone"


def trusted(
    pairs: Pairs, config: RunConfig, device: str, on_progress: Callable[[float], None]
) -> tuple[Engine, Scores, dict[str, Scores]]:
    """The trained engine, the calibrated scores, and by name the scores to compare with."""
    run = judged(pairs, config, device, on_progress)
    return run.engine, run.verdict.scores, {NEIGHBOURS: neighbour_scores(pairs)}


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
