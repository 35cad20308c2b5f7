"""New pairs, judged without training by a run over others: a sixth of the photographs, which no training saw."""

import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from benchmarks.protocol.cells import AUTO, Result, detected, make_config, opened, rounded
from benchmarks.protocol.judged import judged
from model.judge import Judge
from model.metrics import auroc, expected_calibration_error, noise_rate_error
from model.pairs import Pairs
from model.positions import blocks
from model.trained import Trained
from model.training import Scores
from model.transfer import LEAST_CALIBRATED, judge_new

# One of so many photographs is new.
_EVERY = 6
# Of the progress, training; the rest is judging.
_TRAINING = 0.95
NEW_COLUMNS = {
    "auroc": ("AUROC", 4),
    "f1": ("F1", 3),
    "ece": ("ECE", 3),
    "noise_error": ("error of the noise rate", 3),
    "network_auroc": ("AUROC of a network alone", 4),
    "neighbours_auroc": ("of neighbours alone", 4),
    "few_auroc": (f"{LEAST_CALIBRATED - 1} at a time: AUROC", 4),
    "few_ece": ("ECE", 3),
    "few_noise_error": ("error of the noise rate", 3),
    "seconds": ("seconds", 0),
}
NEW_KEYS = ("pairs", "new", "noise", "hard", "seed", *NEW_COLUMNS)


def measure_new(
    folder: Path, noise: float, seed: int, *, is_quick: bool, is_hard: bool, on_progress: Callable[[float], None]
) -> Result:
    """The same share of both is mismatched. Beside all new pairs at once, which are calibrated among themselves, as
    many of them at a time as are not."""
    data = opened(folder)
    first = data.count(is_quick=True) // _EVERY * (_EVERY - 1)
    (own, _), (new, is_mismatch) = (
        data.training(noise, seed, is_quick=is_quick, is_hard=is_hard, part=part)
        for part in (slice(first), slice(first, None))
    )
    began = time.perf_counter()
    with TemporaryDirectory() as kept:
        run = judged(
            own,
            make_config(AUTO, "head", seed, {}),
            on_progress=lambda share: on_progress(_TRAINING * share),
            folder=Path(kept),
        )
        trained = Trained.load(Path(kept), run.engine.config, len(run.pairs))
    judge = Judge.fit(trained, own, run.verdict.scores.clean_confidence)
    scores = judge_new(judge, new, lambda share: on_progress(_TRAINING + (1 - _TRAINING) * share)).verdict.scores
    few = [judge_new(judge, some).verdict.scores.clean_confidence for some in _portions(new)]
    result = {"pairs": len(own), "new": len(new), "noise": noise, "hard": is_hard, "seed": seed}
    result["seconds"] = round(time.perf_counter() - began, 2)
    return result | detected(scores, is_mismatch) | _alone(scores, is_mismatch) | _few(few, is_mismatch)


def _alone(scores: Scores, is_mismatch: npt.NDArray[np.bool_]) -> Result:
    networks = [auroc(confidence, is_mismatch) for confidence in (scores.confidence_a, scores.confidence_b)]
    assert scores.neighbour_agreement is not None
    agreement = auroc(scores.neighbour_agreement, is_mismatch)
    return rounded({"network_auroc": float(np.mean(networks)), "neighbours_auroc": agreement})


def _few(portions: list[npt.NDArray[np.float32]], is_mismatch: npt.NDArray[np.bool_]) -> Result:
    """Of all portions together: one by one they are too few to measure."""
    confidence = np.concatenate(portions)
    rate = float(1 - confidence.mean(dtype=np.float64))
    return rounded(
        {
            "few_auroc": auroc(confidence, is_mismatch),
            "few_ece": expected_calibration_error(confidence, is_mismatch),
            "few_noise_error": noise_rate_error(rate, is_mismatch),
        }
    )


def _portions(pairs: Pairs) -> list[Pairs]:
    return [pairs.taken(rows) for rows in blocks(np.arange(len(pairs)), LEAST_CALIBRATED - 1)]
