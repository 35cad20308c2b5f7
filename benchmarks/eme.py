"""Elements, the EME score and shifted files against known truth, beside the bars they are held to.

`pairsift bench eme` runs it; running this module is the same with --json. Without a folder only the demo's scenes are
measured, which it draws itself.
"""

import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.protocol.elements import Figures, flickr_figures
from benchmarks.protocol.elements_demo import demo_figures
from benchmarks.protocol.shifts import shift_figures

DEMO, RANDOM, HARD, SHIFTED = "demo scenes", "flickr8k, 40 % random", "flickr8k, 40 % hard", "flickr8k, shifted blocks"

OnProgress = Callable[[str, float], None]


@dataclass(frozen=True)
class Bar:
    collection: str
    figure: str
    limit: float  # at least, except for times
    is_most: bool = False

    def is_met(self, value: float | None) -> bool:
        return value is not None and (value <= self.limit if self.is_most else value >= self.limit)


BARS = (
    Bar(DEMO, "caption_precision", 0.8),
    Bar(DEMO, "caption_recall", 0.8),
    Bar(DEMO, "image_precision", 0.8),
    Bar(DEMO, "image_recall", 0.8),
    Bar(DEMO, "auroc_near_soft", 0.85),
    Bar(DEMO, "named_of_flagged", 0.7),
    Bar(RANDOM, "auroc_eme_soft", 0.9),
    Bar(RANDOM, "processor_seconds_100k", 1200.0, is_most=True),  # ten minutes of two cores
    Bar(HARD, "gain_by_eme", -0.001),  # it "does not lose"
    Bar(SHIFTED, "precision", 0.95),
    Bar(SHIFTED, "recall", 0.95),
)


def main() -> int:
    command = [sys.executable, "-m", "cli.main", "bench", "eme", "--json", *sys.argv[1:]]
    return subprocess.run(command, check=False).returncode


def measure(data: Path | None, seeds: Sequence[int], *, is_quick: bool, on_progress: OnProgress) -> dict[str, Any]:
    """Figures of every collection and seed, and how their means compare with the bars."""
    measured = []
    for seed in seeds:
        for name, figures in _collections(data, seed, is_quick=is_quick).items():
            found = figures(on_progress=partial(on_progress, f"{name}, seed {seed}"))
            if name == HARD:
                found["gain_by_eme"] = _difference(found["auroc_fusion_with_eme"], found["auroc_fusion"])
            measured.append({"collection": name, "seed": seed} | found)
    bars = [compared(bar, measured) for bar in BARS if any(one["collection"] == bar.collection for one in measured)]
    return {"benchmark": "eme", "measured": measured, "bars": bars, "is_reached": all(bar["is_met"] for bar in bars)}


def _collections(data: Path | None, seed: int, *, is_quick: bool) -> dict[str, Callable[..., Figures]]:
    found: dict[str, Callable[..., Figures]] = {DEMO: partial(demo_figures, seed)}
    if data is not None:
        found[RANDOM] = partial(flickr_figures, data, seed, is_quick=is_quick)
        found[HARD] = partial(flickr_figures, data, seed, is_hard=True, is_quick=is_quick)
        found[SHIFTED] = partial(shift_figures, data, seed)
    return found


def _difference(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else round(one - other, 4)


def compared(bar: Bar, measured: Sequence[dict[str, Any]]) -> dict[str, Any]:
    values = [one[bar.figure] for one in measured if one["collection"] == bar.collection]
    known = [value for value in values if value is not None]
    mean = round(statistics.fmean(known), 4) if known else None
    return {
        "collection": bar.collection,
        "figure": bar.figure,
        "mean": mean,
        "seeds": len(known),
        "limit": bar.limit,
        "is_met": bar.is_met(mean),
    }


if __name__ == "__main__":
    sys.exit(main())
