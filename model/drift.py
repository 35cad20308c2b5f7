"""Whether new pairs look like those that a run learned from: by how far they are from all of them, side by side.

How well new pairs match says nothing about that (they may be noisier), so the evidence is compared but decides nothing.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

Floats = npt.NDArray[np.floating]

# A pair lies outside when its nearest is farther than that of all but this share of the run's own.
OUTSIDE = 0.01
# Other data has at least this share outside, and more than chance would put there if several times OUTSIDE were usual.
_LEAST_SHARE, _USUAL, _CHANCE = 0.10, 0.03, 0.001
_STEPS = 200
_SIDES = ("images", "captions")


@dataclass(frozen=True)
class Familiar:
    """What the run's own pairs look like; no more than a few thousand numbers."""

    nearest: Floats  # (2,) of images and captions: the cosine that all but OUTSIDE of them have with their nearest
    evidence: Floats  # (_STEPS + 1, F) quantiles

    @classmethod
    def of(cls, nearest: Floats, evidence: Floats) -> "Familiar":
        steps = np.linspace(0, 1, _STEPS + 1)
        return cls(np.quantile(nearest, OUTSIDE, axis=0), np.quantile(evidence, steps, axis=0))

    def outside(self, nearest: Floats) -> npt.NDArray[np.int64]:
        """(2,) how many images and captions are farther from everything known than the run's own are."""
        return np.asarray((nearest < self.nearest).sum(axis=0))

    def compare(self, outside: npt.NDArray[np.int64], count: int, evidence: Floats, names: list[str]) -> dict[str, Any]:
        """`evidence` of a sample of the `count` new pairs."""
        shares = outside / count
        suspects = [side for side in (0, 1) if shares[side] >= _LEAST_SHARE]
        strange = [side for side in suspects if binom.sf(outside[side] - 1, count, _USUAL) < _CHANCE]
        distances = [distance(self.evidence[:, column], evidence[:, column]) for column in range(len(names))]
        return {
            "images": round(float(shares[0]), 4),
            "captions": round(float(shares[1]), 4),
            "evidence": {name: round(value, 4) for name, value in zip(names, distances, strict=True)},
            "looks_different": bool(strange),
            "explanation": _sentence(shares, suspects, strange),
        }


def distance(quantiles: Floats, values: Floats) -> float:
    """Kolmogorov-Smirnov: the largest difference of the two distribution functions."""
    ordered = np.sort(values)
    steps = np.linspace(0, 1, len(quantiles))
    # Of tied quantiles the last is the share of values up to there.
    known = steps[np.searchsorted(quantiles, quantiles, side="right") - 1]
    return float(np.abs(np.searchsorted(ordered, quantiles, side="right") / len(ordered) - known).max())


def _sentence(shares: Floats, suspects: list[int], strange: list[int]) -> str:
    measured = (
        f"{shares[0]:.1%} of the images and {shares[1]:.1%} of the captions are farther from all that the run learned "
        f"from than {1 - OUTSIDE:.0%} of its own were"
    )
    if not suspects:
        return f"The new pairs look like those of the run: {measured}."
    if not strange:
        return f"There are too few new pairs to tell whether they look like those of the run: {measured}."
    named = " and ".join(_SIDES[side] for side in strange)
    return (
        f"The {named} no longer look like those of the run: {measured}. Do not rely on these scores; "
        "start a run of its own on the new pairs."
    )
