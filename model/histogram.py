"""Per-pair losses as a histogram: what a mixture is fitted on, so that its cost does not grow with the collection."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

BINS = 2048
# Losses handled at once: few enough that all that is computed of them stays in the processor's cache.
BLOCK = 32768


def checked_losses(losses: npt.ArrayLike) -> Floats:
    x = np.asarray(losses, dtype=np.float64)
    if x.ndim != 1 or len(x) == 0:
        raise ValueError("losses must be a non-empty vector")
    if not np.isfinite(x).all():
        raise ValueError("losses must be finite")
    return x


def counted(x: Floats, start: float, span: float) -> tuple[Floats, Floats]:
    """Centres in [0, 1] of the bins of (x - start) / span that are not empty, and how many losses each holds."""
    counts = np.zeros(BINS, dtype=np.int64)
    for at in range(0, len(x), BLOCK):
        scaled = (x[at : at + BLOCK] - start) / span * BINS
        counts += np.bincount(np.minimum(scaled, BINS - 1).astype(np.int64), minlength=BINS)
    occupied = np.flatnonzero(counts)
    return (occupied + 0.5) / BINS, counts[occupied].astype(np.float64)


def two_means(x: Floats, counts: Floats) -> Floats:
    """Memberships of the split with the least variance inside both parts: exact two-means."""
    mass, moment = np.cumsum(counts), np.cumsum(counts * x)
    left, right = mass[:-1], mass[-1] - mass[:-1]
    between = left * right * (moment[:-1] / left - (moment[-1] - moment[:-1]) / right) ** 2
    is_left = np.arange(len(x)) <= int(np.argmax(between))
    return np.stack([is_left, ~is_left]).astype(np.float64)
