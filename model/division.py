"""Clean confidence from per-pair losses: a two-component Gaussian mixture (LNC Eq. 3; the division of NCR).

Fitted by EM on a histogram, so the cost does not grow with the collection; the start is fixed, so the result
is too. A lower loss never gets a lower confidence.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_BINS = 2048
_ITERATIONS = 500
_TOLERANCE = 1e-8
# Least variance on the [0, 1] scale, so that a spike of equal losses cannot become a component of its own.
_LEAST_VARIANCE = 5e-4


@dataclass(frozen=True)
class Mixture:
    """The fitted components on the losses' own scale; index 0 is the clean one (the lower mean)."""

    weights: tuple[float, float]
    means: tuple[float, float]
    variances: tuple[float, float]

    def confidence(self, losses: npt.ArrayLike) -> Floats:
        """Posterior of the clean component, one per loss."""
        x = _checked(losses)
        (clean, noisy), (low, high) = self.means, self.variances
        if clean == noisy:
            return np.full(len(x), self.weights[0])
        # The log odds are a parabola. Beyond its vertex they would turn: there the value of the vertex holds,
        # which is what makes the confidence monotone.
        if low != high:
            vertex = (clean / low - noisy / high) / (1 / low - 1 / high)
            x = np.maximum(x, vertex) if low < high else np.minimum(x, vertex)
        odds = _log_density(x, self, 0) - _log_density(x, self, 1)
        return np.asarray(1 / (1 + np.exp(-np.clip(odds, -700, 700))))


def fit_mixture(losses: npt.ArrayLike, noisy_mean: float | None = None) -> Mixture:
    """The mixture of these losses; where all are equal nothing stands out and every pair counts as clean.

    `noisy_mean`, at least the largest loss, holds the noisy component there: for a bounded loss whose value for a
    mismatch is known. Free, it would settle on the tail of the clean pairs where mismatches are few.
    """
    x = _checked(losses)
    if noisy_mean is not None and noisy_mean < x.max():
        raise ValueError("noisy_mean must not be below the largest loss")
    start, span = float(x.min()), float(np.ptp(x))
    if span <= 1e-12 * max(1.0, abs(start)):
        return Mixture((1.0, 0.0), (start, start), (1.0, 1.0))
    counts, edges = np.histogram((x - start) / span, bins=_BINS, range=(0.0, 1.0))
    centres = (edges[:-1] + edges[1:]) / 2
    occupied = counts > 0
    held = None if noisy_mean is None else (noisy_mean - start) / span
    weights, means, variances = _expectation_maximisation(centres[occupied], counts[occupied].astype(np.float64), held)
    order = np.argsort(means, kind="stable")
    means, variances = means[order] * span + start, variances[order] * span**2
    return Mixture(_pair(weights[order]), _pair(means), _pair(variances))


def _expectation_maximisation(x: Floats, counts: Floats, held: float | None) -> tuple[Floats, Floats, Floats]:
    members = _two_means(x, counts)  # (bins, 2)
    before = -np.inf
    for _ in range(_ITERATIONS):
        mass = counts[:, None] * members
        totals = np.maximum(mass.sum(axis=0), 1e-12)
        weights = totals / totals.sum()
        means = (mass * x[:, None]).sum(axis=0) / totals
        if held is not None:
            means[1] = held
        variances = np.maximum((mass * (x[:, None] - means) ** 2).sum(axis=0) / totals, _LEAST_VARIANCE)
        log_joint = np.log(weights) - 0.5 * ((x[:, None] - means) ** 2 / variances + np.log(variances))
        log_total = np.logaddexp(log_joint[:, 0], log_joint[:, 1])
        members = np.exp(log_joint - log_total[:, None])
        likelihood = float((counts * log_total).sum() / counts.sum())
        if abs(likelihood - before) < _TOLERANCE:
            break
        before = likelihood
    return weights, means, variances


def _two_means(x: Floats, counts: Floats) -> Floats:
    """Memberships of the split with the least variance inside both parts: exact two-means."""
    mass, moment = np.cumsum(counts), np.cumsum(counts * x)
    left, right = mass[:-1], mass[-1] - mass[:-1]
    between = left * right * (moment[:-1] / left - (moment[-1] - moment[:-1]) / right) ** 2
    is_left = np.arange(len(x)) <= int(np.argmax(between))
    return np.stack([is_left, ~is_left], axis=1).astype(np.float64)


def _log_density(x: Floats, mixture: Mixture, component: int) -> Floats:
    variance, mean = mixture.variances[component], mixture.means[component]
    weight = max(mixture.weights[component], 1e-300)
    return np.asarray(np.log(weight) - 0.5 * (np.log(variance) + (x - mean) ** 2 / variance))


def _checked(losses: npt.ArrayLike) -> Floats:
    x = np.asarray(losses, dtype=np.float64)
    if x.ndim != 1 or len(x) == 0:
        raise ValueError("losses must be a non-empty vector")
    if not np.isfinite(x).all():
        raise ValueError("losses must be finite")
    return x


def _pair(values: Floats) -> tuple[float, float]:
    return float(values[0]), float(values[1])
