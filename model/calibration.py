"""From scores of pairs and of probes to P(match), the noise rate, and what to expect of every cut: without a label.

The model is that of model/fusion.py with the score as its only evidence, on a histogram; its bootstrap gives intervals.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from model.fusion import RATES, fit

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# A kept pair costs as much when it is a mismatch as a matching one that is lost.
EQUAL_COSTS = 0.5
# A score is already a log odds, so its slope should be 1.
_SLOPE = (1.0, 0.2)
_BINS = 300
_DRAWS = 200
_PERCENTILES = (2.5, 97.5)
_CURVE_ROWS = 101


@dataclass(frozen=True)
class Interval:
    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class Calibration:
    """P(match) of every score, and how sure that is."""

    slope: float
    offset: float
    noise_rate: Interval
    has_evidence: bool  # of any mismatch
    curve: list[dict[str, float | None]]
    threshold: float = EQUAL_COSTS

    def confidence(self, scores: Floats) -> Floats:
        return np.asarray(expit(self.slope * scores + self.offset))

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def calibrate(scores: Floats, probes: Floats, weight: Floats, seed: int) -> Calibration:
    """`scores` of the collection's pairs and of probes, high where a pair matches; `weight` counts the probes."""
    edges = np.unique(np.quantile(np.concatenate([scores, probes]), np.linspace(0, 1, _BINS + 1)))
    bins = len(edges) - 1
    if bins < 1:  # all scores are equal
        edges, bins = np.array([edges[0], edges[0] + 1.0]), 1
    centres = np.array((edges[:-1] + edges[1:]) / 2)
    pairs = np.bincount(_places(scores, edges), minlength=bins).astype(float)
    known = np.bincount(_places(probes, edges), weights=weight, minlength=bins).astype(float)
    slope, offset = _fitted(centres, pairs, known)
    rng = np.random.default_rng(seed)
    drawn = [_fitted(centres, *_resampled(pairs, known, rng)) for _ in range(_DRAWS)]
    matching = expit(np.array([slope * centres + offset] + [a * centres + b for a, b in drawn]))  # (1 + draws, bins)
    rates = ((1 - matching) @ pairs) / pairs.sum()
    noise_rate = _interval(rates)
    # Without mismatches the fit stands at the lowest rate it may have, and so does a share of the draws.
    has_evidence = noise_rate.low > 2 * RATES[0]
    return Calibration(slope, offset, noise_rate, has_evidence, _curve(matching, pairs))


def _places(values: Floats, edges: Floats) -> Ints:
    return np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)


def _fitted(centres: Floats, pairs: Floats, known: Floats) -> tuple[float, float]:
    evidence = np.concatenate([centres, centres])[:, None]
    is_probe = np.arange(len(evidence)) >= len(centres)
    found = fit(evidence, is_probe, np.concatenate([pairs, known]), prior=_SLOPE)
    return float(found.weights[0]), found.offset


def _resampled(pairs: Floats, known: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Another collection and other probes, as they might as well have been."""
    total = known.sum()
    again = rng.multinomial(round(total), known / total) if total else known
    return rng.multinomial(round(pairs.sum()), pairs / pairs.sum()).astype(float), again * (total / max(1, again.sum()))


def _interval(values: Floats) -> Interval:
    """Of the first value, by the others."""
    low, high = np.percentile(values[1:], _PERCENTILES)
    estimate = float(values[0])
    return Interval(estimate, min(estimate, float(low)), max(estimate, float(high)))


def _curve(matching: Floats, pairs: Floats) -> list[dict[str, float | None]]:
    """What to expect of cuts that keep everything, then ever less."""
    confidence = matching[0]  # rising with the bin
    kept = np.cumsum(pairs[::-1])[::-1]
    matched = np.cumsum((matching * pairs)[:, ::-1], axis=1)[:, ::-1]  # (1 + draws, bins) matches kept from this bin on
    total = kept[0]
    shares = {
        "precision": (matched, kept),
        "recall": (matched, matched[:, :1]),
        "flagged_precision": ((total - kept) - (matched[:, :1] - matched), total - kept),
        "flagged_recall": ((total - kept) - (matched[:, :1] - matched), total - matched[:, :1]),
    }
    rows = np.unique(np.searchsorted(-kept, -np.linspace(1, 0, _CURVE_ROWS) * total).clip(0, len(pairs) - 1))
    curve = []
    for row in rows:
        entry: dict[str, float | None] = {"cut": float(confidence[row]) if row else 0.0}
        entry["kept_share"] = float(kept[row] / total)
        for name, (part, whole) in shares.items():
            entry |= _share(name, part[:, row], np.broadcast_to(whole, part.shape)[:, row])
        curve.append(entry)
    return curve


def _share(name: str, part: Floats, whole: Floats) -> dict[str, float | None]:
    """A share with its interval; None where there is nothing that it could be a share of."""
    keys = (name, f"{name}_low", f"{name}_high")
    if whole[0] <= 0:
        return dict.fromkeys(keys)
    found = _interval(np.clip(part / np.maximum(whole, 1e-12), 0, 1))
    return dict(zip(keys, (found.estimate, found.low, found.high), strict=True))
