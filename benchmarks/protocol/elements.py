"""How well the exactly-matched-element score tells mismatches, on Flickr8k and on the demo's scenes.

`flickr_figures` and `demo_figures` each train one collection with one seed, explain it and return plain numbers.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.protocol.cells import opened
from benchmarks.protocol.judged import judged
from model import metrics
from model.agreement import Agreement
from model.config import parse_run_config
from model.elements.eme import Explanation
from model.elements.explain import Explainer
from model.engine import Engine
from model.fusion import cross_fitted, standardised
from model.pairs import Pairs
from model.probes import NEAR, Probes
from model.trust import Verdict
from model.weighing import columns

Figures = dict[str, float | None]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# Pairs that the speed is told for.
_PAIRS = 100_000
_NO_ELEMENTS = 0.5  # a pair without any is neither good nor bad


@dataclass(frozen=True)
class Explained:
    """A trained collection and the reasons for all of its pairs; behind them its probes."""

    pairs: Pairs
    probes: Probes
    engine: Engine
    verdict: Verdict
    explainer: Explainer
    found: list[Explanation]
    seconds: float  # of processor time, for learning and explaining

    @property
    def count(self) -> int:
        return len(self.pairs) - len(self.probes)

    def scores(self, *, is_hard: bool) -> Floats:
        values = [one.eme if is_hard else one.eme_soft for one in self.found]
        return np.array([_NO_ELEMENTS if value is None else value for value in values])


def explained(pairs: Pairs, seed: int, on_progress: Callable[[float], None] = lambda fraction: None) -> Explained:
    """A whole run with probes, then its reasons."""
    run = judged(pairs, parse_run_config({"seed": seed}), on_progress=lambda part: on_progress(0.9 * part))
    began = time.process_time()
    explainer = Explainer.fit(run.pairs, run.verdict.scores.clean_confidence, run.engine.vectors())
    found = explainer.explain(np.arange(len(run.pairs)))
    seconds = time.process_time() - began
    on_progress(1.0)
    return Explained(run.pairs, run.probes, run.engine, run.verdict, explainer, found, seconds)


def flickr_figures(
    folder: Path,
    seed: int,
    *,
    noise: float = 0.4,
    is_hard: bool = False,
    is_quick: bool = True,
    on_progress: Callable[[float], None] = lambda fraction: None,
) -> Figures:
    """AUROC of the score alone, and of the fusion without and with it."""
    pairs, is_mismatch = opened(folder).training(noise, seed, is_hard=is_hard, is_quick=is_quick)
    return rounded(collection_figures(explained(pairs, seed, on_progress), is_mismatch, seed))


def collection_figures(run: Explained, is_mismatch: Bools, seed: int) -> dict[str, float]:
    soft, hard = run.scores(is_hard=False), run.scores(is_hard=True)
    confidence = run.verdict.scores.clean_confidence
    without, with_eme = _fused(run, soft, seed)
    count = run.count
    return {
        "pairs": count,
        "auroc_eme_soft": metrics.auroc(soft[:count], is_mismatch),
        "auroc_eme": metrics.auroc(hard[:count], is_mismatch),
        "auroc_run": metrics.auroc(confidence.astype(np.float64), is_mismatch),
        "auroc_fusion": metrics.auroc(without, is_mismatch),
        "auroc_fusion_with_eme": metrics.auroc(with_eme, is_mismatch),
        "caption_elements": float(np.mean([len(one.caption_elements) for one in run.found])),
        "image_elements": float(np.mean([len(one.image_elements) for one in run.found])),
        "processor_seconds_100k": run.seconds / len(run.found) * _PAIRS,
    }


def _fused(run: Explained, eme: Floats, seed: int) -> tuple[Floats, Floats]:
    """Score of the pairs by all evidence of the run, without and with the element score among it."""
    count, probes = run.count, run.probes
    neighbours = Agreement(run.pairs, count, probes.sources(count), run.engine.vectors())
    said = neighbours.asked(run.verdict.scores.clean_confidence[neighbours.references])
    networks = columns(run.engine.scores(), run.engine.dynamics())
    is_probe = np.arange(len(run.pairs)) >= count
    kind_weights = run.verdict.kind_weights or (1.0, 0.0)
    weight = np.ones(len(run.pairs))
    weight[count:] = np.take(kind_weights, probes.kinds)
    anchors = np.zeros(len(run.pairs), np.int8)
    known = [*networks.values(), *said.T]
    without, with_eme = (
        cross_fitted(
            standardised(table, is_probe),
            is_probe,
            weight,
            anchors,
            seed,
            is_signed=kind_weights[NEAR] > 0,
        )[0][:count]
        for table in (known, [*known, eme])
    )
    return without, with_eme


def rounded(values: dict[str, float]) -> Figures:
    """Four digits; JSON has no NaN."""
    return {name: None if value != value else round(float(value), 4) for name, value in values.items()}
