"""Collections whose scores and truth are simulated, calibrated."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from model.calibration import NOTHING, Beforehand, Calibration, calibrate

# Of the bootstrap; fewer than in earnest, for time.
DRAWS = 40
SHARES = ("precision", "recall", "flagged_precision", "flagged_recall")


@dataclass(frozen=True)
class Case:
    scores: npt.NDArray[np.float64]
    probes: npt.NDArray[np.float64]
    is_mismatch: npt.NDArray[np.bool_]
    calibration: Calibration

    @property
    def rate(self) -> float:
        return float(self.is_mismatch.mean())

    def real(self, cut: float) -> dict[str, float]:
        """What a cut of the confidence does in truth."""
        kept, match = self.calibration.confidence(self.scores) >= cut, ~self.is_mismatch
        return {
            "kept_share": kept.mean(),
            "precision": match[kept].mean(),
            "recall": kept[match].mean(),
            "flagged_precision": self.is_mismatch[~kept].mean(),
            "flagged_recall": (~kept)[self.is_mismatch].mean(),
        }


def simulate(rate: float, seed: int, count: int = 4000, apart: float = 3.0) -> Case:
    """Normal scores of spread 1, matches `apart` from mismatches: at 3, one in fifteen of each is past the middle."""
    rng = np.random.default_rng(seed)
    is_mismatch = rng.random(count) < rate
    scores = np.where(is_mismatch, 0.0, apart) + rng.normal(size=count)
    probes = rng.normal(size=max(200, count // 20))
    return Case(scores, probes, is_mismatch, calibrated(scores, probes))


def calibrated(
    scores: npt.NDArray[np.float64],
    probes: npt.NDArray[np.float64],
    weight: npt.NDArray[np.float64] | None = None,
    seed: int = 0,
    known: Beforehand = NOTHING,
    anchors: npt.NDArray[np.int8] | None = None,
) -> Calibration:
    return calibrate(scores, probes, np.ones(len(probes)) if weight is None else weight, seed, DRAWS, known, anchors)


def row_at(calibration: Calibration, cut: float) -> dict[str, Any]:
    """The row of the curve whose cut is nearest."""
    return min(calibration.curve, key=lambda row: abs((row["cut"] or 0.0) - cut))
