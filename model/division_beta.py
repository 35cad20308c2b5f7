"""Clean confidence from per-pair losses: a two-component beta mixture (Arazo et al. 2019, section 3.1; BiCro).

Losses are brought to (0, 1) by their range; the M-step is the method of moments. Fitted on a histogram with a
fixed start; a lower loss never gets a lower confidence.
"""

from dataclasses import dataclass
from math import lgamma

import numpy as np
import numpy.typing as npt

from model.histogram import BLOCK, Floats, checked_losses, counted, two_means

# The distance that is kept from 0 and 1, where a density may be infinite, as the papers have it.
_EDGE = 1e-4
# The papers stop after ten iterations from Beta(1, 2) and Beta(2, 1): on made-up losses that is far from settled,
# and where many losses are 0 the two components become one. From exact two-means they stay apart.
_ITERATIONS = 200
_TOLERANCE = 1e-6
# Bounds of alpha + beta; the upper one is a variance of 5e-4 in the middle, the least of the Gaussian mixture.
_CONCENTRATION = (1e-3, 500.0)
_LARGEST_LOG_ODDS = 700.0


@dataclass(frozen=True)
class BetaMixture:
    """The fitted components over (loss - start) / span; index 0 is the clean one (the lower mean)."""

    weights: tuple[float, float]
    alphas: tuple[float, float]
    betas: tuple[float, float]
    start: float
    span: float

    @property
    def means(self) -> tuple[float, float]:
        """On the losses' own scale."""
        first, second = (a / (a + b) for a, b in zip(self.alphas, self.betas, strict=True))
        return self.start + first * self.span, self.start + second * self.span

    def confidence(self, losses: npt.ArrayLike) -> Floats:
        """Posterior of the clean component, one per loss."""
        x = checked_losses(losses)
        if self.span == 0:
            return np.full(len(x), self.weights[0])
        out = np.empty(len(x))
        for at in range(0, len(x), BLOCK):
            scaled = np.clip((x[at : at + BLOCK] - self.start) / self.span, _EDGE, 1 - _EDGE)
            odds = np.clip(self._log_odds(scaled), -_LARGEST_LOG_ODDS, _LARGEST_LOG_ODDS)
            np.divide(1.0, 1 + np.exp(-odds), out=out[at : at + BLOCK])
        return out

    def _log_odds(self, x: Floats) -> Floats:
        """Of clean against noisy. They turn at most once, and beyond that point its value holds."""
        rise, fall = self.alphas[0] - self.alphas[1], self.betas[0] - self.betas[1]
        if rise > 0 and fall > 0:
            x = np.maximum(x, rise / (rise + fall))
        elif rise < 0 and fall < 0:
            x = np.minimum(x, rise / (rise + fall))
        weights = [max(weight, 1e-300) for weight in self.weights]
        norms = [lgamma(a + b) - lgamma(a) - lgamma(b) for a, b in zip(self.alphas, self.betas, strict=True)]
        constant = np.log(weights[0] / weights[1]) + norms[0] - norms[1]
        return np.asarray(rise * np.log(x) + fall * np.log1p(-x) + constant)


def fit_beta_mixture(losses: npt.ArrayLike, noisy_mean: float | None = None) -> BetaMixture:
    """The mixture of these losses; where all are equal nothing stands out and every pair counts as clean.

    `noisy_mean`, at least the largest loss, becomes the upper end of the scale: there the noisy component may peak.
    Where all losses are equal to it, every pair counts as noisy.
    """
    x = checked_losses(losses)
    start, top = float(x.min()), float(x.max())
    if noisy_mean is not None and noisy_mean < top:
        raise ValueError("noisy_mean must not be below the largest loss")
    least, end = 1e-12 * max(1.0, abs(start)), top if noisy_mean is None else noisy_mean
    centres, counts = counted(x, start, max(end - start, least))
    if top - start <= least or len(centres) == 1:  # of one bin: next to nothing on the scale up to a mismatch
        clean = float(noisy_mean is None or noisy_mean - start > least)
        return BetaMixture((clean, 1 - clean), (1.0, 1.0), (1.0, 1.0), start, 0.0)
    weights, alphas, betas = _moments_and_memberships(np.clip(centres, _EDGE, 1 - _EDGE), counts)
    order = np.argsort(alphas / (alphas + betas), kind="stable")
    low, high = (int(index) for index in order)
    return BetaMixture(
        (float(weights[low]), float(weights[high])),
        (float(alphas[low]), float(alphas[high])),
        (float(betas[low]), float(betas[high])),
        start,
        end - start,
    )


def _moments_and_memberships(x: Floats, counts: Floats) -> tuple[Floats, Floats, Floats]:
    members = two_means(x, counts)  # (2, bins)
    log_x, log_rest = np.log(x), np.log1p(-x)
    for _ in range(_ITERATIONS):
        mass = counts * members
        totals = np.maximum(mass.sum(axis=1), 1e-12)
        weights = totals / totals.sum()
        means = np.clip((mass * x).sum(axis=1) / totals, _EDGE, 1 - _EDGE)
        variances = (mass * np.square(x - means[:, None])).sum(axis=1) / totals
        spread = means * (1 - means)
        concentration = np.clip(spread / np.maximum(variances, 1e-12) - 1, *_CONCENTRATION)
        alphas, betas = means * concentration, (1 - means) * concentration
        norms = np.array([lgamma(a + b) - lgamma(a) - lgamma(b) for a, b in zip(alphas, betas, strict=True)])
        log_joint = (alphas - 1)[:, None] * log_x + (betas - 1)[:, None] * log_rest
        log_joint += (np.log(weights) + norms)[:, None]
        before, members = members, np.exp(log_joint - log_joint.max(axis=0))
        members /= members.sum(axis=0)
        if np.abs(members - before).max() < _TOLERANCE:
            break
    return weights, alphas, betas
