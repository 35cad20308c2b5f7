"""What to expect of every cut: precision, recall and kept share of pairs whose P(match) is known, with intervals."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Curve = list[dict[str, float | None]]

# A kept pair costs as much when it is a mismatch as a matching one that is lost.
EQUAL_COSTS = 0.5
# Wider than 2.5 to 97.5: draws know nothing of how the score itself was learned, nor of a score that is not quite a log
# odds. On simulated collections these cover the noise rate in 94 to 95 of 100.
PERCENTILES = (1.0, 99.0)
_ROWS = 101


@dataclass(frozen=True)
class Interval:
    estimate: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Floats) -> "Interval":
        """Of the first value, by the others."""
        low, high = np.percentile(values[1:], PERCENTILES)
        estimate = float(values[0])
        return cls(estimate, min(estimate, float(low)), max(estimate, float(high)))


def curve_of(matching: Floats, pairs: Floats) -> Curve:
    """What to expect of cuts that keep everything, then ever less. `pairs` counts them by rising P(match), `matching`
    (1 + draws, bins) has that probability, and as it might as well have been."""
    confidence = matching[0]  # rising with the bin
    # Behind the last bin nothing is kept any more.
    kept = np.append(np.cumsum(pairs[::-1])[::-1], 0.0)
    matched = np.cumsum((matching * pairs)[:, ::-1], axis=1)[:, ::-1]
    matched = np.hstack([matched, np.zeros((len(matched), 1))])  # (1 + draws, bins + 1) matches kept from this bin on
    total = kept[0]
    shares = {
        "precision": (matched, kept),
        "recall": (matched, matched[:, :1]),
        "flagged_precision": ((total - kept) - (matched[:, :1] - matched), total - kept),
        "flagged_recall": ((total - kept) - (matched[:, :1] - matched), total - matched[:, :1]),
    }
    curve = []
    for cut, row in _cuts(confidence, kept):
        entry: dict[str, float | None] = {"cut": cut, "kept_share": float(kept[row] / total)}
        for name, (part, whole) in shares.items():
            entry |= _share(name, part[:, row], np.broadcast_to(whole, part.shape)[:, row])
        curve.append(entry)
    return curve


def _cuts(confidence: Floats, kept: Floats) -> list[tuple[float, int]]:
    """Rising cuts, each with the first bin that it keeps: evenly by kept share, and the automatic one, also where that
    keeps everything or nothing."""
    rows = np.searchsorted(-kept, -np.linspace(1, 0, _ROWS) * kept[0]).clip(0, len(confidence) - 1)
    automatic = int(np.searchsorted(confidence, EQUAL_COSTS))
    others = {(float(confidence[row]), int(row)) for row in rows if row not in (0, automatic)}
    return sorted({(0.0, 0), (EQUAL_COSTS, automatic)} | others)


def without_evidence(rate: Interval, curve: Curve) -> tuple[Interval, Curve]:
    """Where no mismatch is evident there may as well be none."""
    ends = {"precision_high": 1.0, "flagged_precision_low": 0.0}
    changed = [row | {name: end for name, end in ends.items() if row[name] is not None} for row in curve]
    return replace(rate, low=0.0), changed


def _share(name: str, part: Floats, whole: Floats) -> dict[str, float | None]:
    """A share with its interval; None where there is nothing that it could be a share of."""
    keys = (name, f"{name}_low", f"{name}_high")
    if whole[0] <= 0:
        return dict.fromkeys(keys)
    found = Interval.of(np.clip(part / np.maximum(whole, 1e-12), 0, 1))
    return dict(zip(keys, (found.estimate, found.low, found.high), strict=True))
