"""Clean confidence from per-pair losses: a two-component Gaussian mixture (LNC Eq. 3; the division of NCR).

Fitted by EM on a histogram, so the cost hardly grows with the collection; the start is fixed, so the result
is too. A lower loss never gets a lower confidence. `fit` chooses between this and the beta mixture.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from model.division_beta import fit_beta_mixture
from model.histogram import BLOCK, Floats, checked_losses, counted, two_means

_ITERATIONS = 500
_TOLERANCE = 1e-8
# Least variance on the [0, 1] scale, so that a spike of equal losses cannot become a component of its own.
_LEAST_VARIANCE = 5e-4
# exp of no more than this is finite.
_LARGEST_LOG_ODDS = 700.0


class Division(Protocol):
    """What every mixture gives."""

    def confidence(self, losses: npt.ArrayLike) -> Floats:
        """Posterior of the clean component, one per loss; never higher for a higher loss."""


@dataclass(frozen=True)
class Mixture:
    """The fitted components on the losses' own scale; index 0 is the clean one (the lower mean)."""

    weights: tuple[float, float]
    means: tuple[float, float]
    variances: tuple[float, float]

    def confidence(self, losses: npt.ArrayLike) -> Floats:
        """Posterior of the clean component, one per loss."""
        x = checked_losses(losses)
        if self.means[0] == self.means[1]:
            return np.full(len(x), self.weights[0])
        out = np.empty(len(x))
        for at in range(0, len(x), BLOCK):
            self._posterior(x[at : at + BLOCK], out[at : at + BLOCK])
        return out

    def _posterior(self, x: Floats, out: Floats) -> None:
        (clean, noisy), (low, high) = self.means, self.variances
        # The log odds are a parabola. Beyond its vertex they would turn: there the value of the vertex holds,
        # which is what makes the confidence monotone.
        if low != high:
            vertex = (clean / low - noisy / high) / (1 / low - 1 / high)
            x = np.maximum(x, vertex) if low < high else np.minimum(x, vertex)
        odds = np.square(x - noisy) / high  # twice the log odds, up to a constant
        odds -= np.square(x - clean) / low
        weights = [max(weight, 1e-300) for weight in self.weights]
        odds += 2 * np.log(weights[0] / weights[1]) - np.log(low / high)
        odds *= -0.5
        np.exp(np.clip(odds, -_LARGEST_LOG_ODDS, _LARGEST_LOG_ODDS, out=odds), out=odds)
        odds += 1
        np.divide(1.0, odds, out=out)


def fit(losses: npt.ArrayLike, kind: str = "gaussian", noisy_mean: float | None = None) -> Division:
    """The mixture of this kind; `noisy_mean` is the loss of a mismatch, where a method knows it."""
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}")
    return KINDS[kind](losses, noisy_mean)


def fit_mixture(losses: npt.ArrayLike, noisy_mean: float | None = None) -> Mixture:
    """The mixture of these losses; where all are equal nothing stands out and every pair counts as clean.

    `noisy_mean`, at least the largest loss, holds the noisy component there: for a bounded loss whose value for a
    mismatch is known. Free, it would settle on the tail of the clean pairs where mismatches are few. Where all
    losses are equal to it, every pair counts as noisy.
    """
    x = checked_losses(losses)
    start, top = float(x.min()), float(x.max())
    if noisy_mean is not None and noisy_mean < top:
        raise ValueError("noisy_mean must not be below the largest loss")
    least, span = 1e-12 * max(1.0, abs(start)), top - start
    if span <= least:
        clean = float(noisy_mean is None or noisy_mean - start > least)
        return Mixture((clean, 1 - clean), (start, start), (1.0, 1.0))
    centres, counts = counted(x, start, span)
    held = None if noisy_mean is None else (noisy_mean - start) / span
    weights, means, variances = _expectation_maximisation(centres, counts, held)
    order = np.argsort(means, kind="stable")
    means, variances = means[order] * span + start, variances[order] * span**2
    return Mixture(_pair(weights[order]), _pair(means), _pair(variances))


def _expectation_maximisation(x: Floats, counts: Floats, held: float | None) -> tuple[Floats, Floats, Floats]:
    members = two_means(x, counts)  # (2, bins)
    x_squared, before = x * x, -np.inf
    for _ in range(_ITERATIONS):
        mass = counts * members
        totals = np.maximum(mass.sum(axis=1), 1e-12)
        weights = totals / totals.sum()
        first, second = (mass * x).sum(axis=1) / totals, (mass * x_squared).sum(axis=1) / totals
        means = first.copy()
        if held is not None:
            means[1] = held
        # E[(x - mean)^2]; x is in [0, 1] and the least variance far above what the cancellation costs.
        variances = np.maximum(second - 2 * means * first + means**2, _LEAST_VARIANCE)
        constants = np.log(weights) - 0.5 * np.log(variances)
        log_joint = constants[:, None] - np.square(x - means[:, None]) * (0.5 / variances)[:, None]
        larger = np.maximum(log_joint[0], log_joint[1])
        members = np.exp(log_joint - larger)
        total = members.sum(axis=0)
        members /= total
        likelihood = float((counts * (larger + np.log(total))).sum() / counts.sum())
        if abs(likelihood - before) < _TOLERANCE:
            break
        before = likelihood
    return weights, means, variances


def _pair(values: Floats) -> tuple[float, float]:
    return float(values[0]), float(values[1])


KINDS: dict[str, Callable[[npt.ArrayLike, float | None], Division]] = {
    "gaussian": fit_mixture,
    "beta": fit_beta_mixture,
}
