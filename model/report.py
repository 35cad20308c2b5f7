"""What a report shows of a run: histograms of loss and confidence with the fitted mixture and the known mismatches
(probes), and how far the two networks agree. Arrays in, a dict of plain numbers out; beside the fit of the
mixture nothing here grows with the number of pairs."""

from collections.abc import Iterator
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, ndtr

from model.division import Mixture, fit
from model.division_beta import BetaMixture
from model.histogram import BLOCK

Array = npt.NDArray[Any]

BINS = 60
GRID = 20
_SAMPLE = 100_000  # losses looked at for the range of their histogram
_TAIL = 0.001  # of the losses on either side are drawn in the outermost bins: one outlier must not flatten the rest
_LEAST_VARIANCE = 1e-12  # of a network's confidences; below it they are all one and correlate with nothing


def describe(
    loss: Array | None,
    confidence: Array,
    confidence_a: Array,
    confidence_b: Array,
    is_clean: Array,
    probe_loss: Array | None,
    probe_confidence: Array | None,
    probe_kind: Array | None,
    division: str = "gaussian",
    noisy_mean: float | None = None,
) -> dict[str, Any]:
    """`loss` is None for methods without one, the probes' arrays for a run without probes. `probe_kind` names the kind
    of each probe. `division` and `noisy_mean` are what the method divided its losses with (`model.division.fit`)."""
    kinds = np.empty(0, "U1") if probe_kind is None else probe_kind
    shown = None
    if loss is not None:
        edges = _loss_edges(loss)
        shown = _histogram(edges, loss, is_clean, probe_loss, kinds)
        shown["mixture"] = _mixture(edges, loss, division, noisy_mean)
    confidences = _histogram(np.linspace(0, 1, BINS + 1), confidence, is_clean, probe_confidence, kinds)
    return {
        "histograms": {"loss": shown, "confidence": confidences},
        "agreement": _agreement(confidence_a, confidence_b),
    }


def _histogram(edges: Array, values: Array, is_clean: Array, probes: Array | None, kinds: Array) -> dict[str, Any]:
    known = np.empty(0) if probes is None else probes
    return {
        "edges": edges.tolist(),
        "pairs": _counts(edges, values).tolist(),
        "kept": _counts(edges, values, is_clean).tolist(),
        "probes": _counts(edges, known).tolist(),
        "probe_kinds": {
            str(kind): _counts(edges, known, kinds == kind).tolist() for kind in np.unique(kinds) if len(known)
        },
    }


def _counts(edges: Array, values: Array, chosen: Array | None = None) -> npt.NDArray[np.int64]:
    """How many of the chosen values each bin holds; the outermost bins take what lies beyond them."""
    counts = np.zeros(len(edges) - 1, np.int64)
    for part in _parts(len(values)):
        some = values[part] if chosen is None else values[part][chosen[part]]
        counts += np.bincount(_bins(some, edges[0], edges[-1], len(counts)), minlength=len(counts))
    return counts


def _parts(count: int) -> Iterator[slice]:
    return (slice(start, start + BLOCK) for start in range(0, count, BLOCK))


def _bins(values: Array, start: float, end: float, count: int) -> npt.NDArray[np.int64]:
    places = (values.astype(np.float64) - start) / (end - start) * count
    return np.clip(places, 0, count - 1).astype(np.int64)


def _loss_edges(loss: Array) -> Array:
    sample = loss[:: -(-len(loss) // _SAMPLE)].astype(np.float64)
    start = float(np.quantile(sample, _TAIL, method="lower"))
    end = float(np.quantile(sample, 1 - _TAIL, method="higher"))
    if end - start <= 1e-9 * max(1.0, abs(start)):  # all equal: one bar in the middle
        start, end = start - 0.5, start + 0.5
    return np.linspace(start, end, BINS + 1)


def _mixture(edges: Array, loss: Array, division: str, noisy_mean: float | None) -> dict[str, Any] | None:
    """The fitted components with their share of every bin as a density; None where all losses are equal."""
    fitted = fit(loss, division, noisy_mean)
    if isinstance(fitted, Mixture):
        variances = fitted.variances
        below = [ndtr((edges - mean) / sqrt(v)) for mean, v in zip(fitted.means, variances, strict=True)]
    elif isinstance(fitted, BetaMixture):
        shapes = list(zip(fitted.alphas, fitted.betas, strict=True))
        first, second = (a * b / ((a + b) ** 2 * (a + b + 1)) * fitted.span**2 for a, b in shapes)
        variances = first, second
        scaled = np.clip((edges - fitted.start) / (fitted.span or 1.0), 0, 1)
        below = [betainc(a, b, scaled) for a, b in shapes]
    else:
        raise TypeError(f"there is no density for a {type(fitted).__name__}")
    if fitted.means[0] == fitted.means[1]:
        return None
    width = edges[1] - edges[0]
    densities = []
    for weight, share in zip(fitted.weights, below, strict=True):
        share[0], share[-1] = 0.0, 1.0  # as with the losses, the outermost bins take what lies beyond them
        densities.append((weight * np.diff(share) / width).tolist())
    return {
        "weights": list(fitted.weights),
        "means": list(fitted.means),
        "variances": list(variances),
        "clean": densities[0],
        "noisy": densities[1],
    }


def _agreement(confidence_a: Array, confidence_b: Array) -> dict[str, Any]:
    """Row i, column j of the grid counts the pairs that network A puts in bin i and network B in bin j."""
    grid, sides, moments = np.zeros(GRID * GRID, np.int64), np.zeros(4, np.int64), np.zeros((3, 3))
    for part in _parts(len(confidence_a)):
        a, b = confidence_a[part].astype(np.float64), confidence_b[part].astype(np.float64)
        grid += np.bincount(_bins(a, 0, 1, GRID) * GRID + _bins(b, 0, 1, GRID), minlength=GRID * GRID)
        sides += np.bincount(2 * (a >= 0.5) + (b >= 0.5), minlength=4)
        columns = np.stack([np.ones_like(a), a, b])
        moments += columns @ columns.T
    return {
        "correlation": _correlation(moments / max(moments[0, 0], 1.0)),
        "both_clean": int(sides[3]),
        "both_noisy": int(sides[0]),
        "only_a_clean": int(sides[2]),
        "only_b_clean": int(sides[1]),
        "grid": grid.reshape(GRID, GRID).tolist(),
    }


def _correlation(moments: Array) -> float | None:
    """From E[x y] of (1, a, b); None where a network has the same confidence in every pair."""
    covariance = moments[1:, 1:] - np.outer(moments[0, 1:], moments[0, 1:])
    if min(covariance[0, 0], covariance[1, 1]) < _LEAST_VARIANCE:
        return None
    return float(np.clip(covariance[0, 1] / sqrt(covariance[0, 0] * covariance[1, 1]), -1, 1))
