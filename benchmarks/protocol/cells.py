"""One cell of a table: one training on noisy pairs, and how well it detects mismatches and retrieves."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.protocol.flickr8k import Flickr8k
from benchmarks.protocol.trusted import own_figures, promised, trusted
from model import metrics
from model.config import ConfigError, RunConfig, config_hash, parse_run_config
from model.engine import Engine, TrainingError
from model.training import Scores

DETECTION_KEYS = (
    *("method", "backbone", "pairs", "noise", "hard", "seed", "auroc", "average_precision", "precision", "recall"),
    *("f1", "f1_best_cut", "ece", "noise_rate_true", "noise_rate_estimate", "seconds"),
)
RETRIEVAL_KEYS = (
    *("method", "backbone", "pairs", "noise", "seed", "i2t_r1", "i2t_r5", "i2t_r10", "t2i_r1", "t2i_r5", "t2i_r10"),
    *("rsum", "seconds"),
)
# What a method cannot do without on this data: it has no categories, so MRL makes its own.
NEEDED_OPTIONS: dict[str, dict[str, object]] = {"mrl": {"clusters": 64}}
AUTO = "auto"
_CHOSEN_ELSEWHERE = ("method", "backbone", "seed")

Result = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    config: RunConfig
    noise: float
    is_hard: bool = False
    is_quick: bool = False

    @property
    def is_trusted(self) -> bool:
        """Whether it is a whole run, with probes, fusion and calibration."""
        return self.config.method == AUTO

    @property
    def name(self) -> str:
        kind = "hard noise" if self.is_hard else "noise"
        return f"{self.config.method}, {self.config.backbone}, {kind} {self.noise:g}, seed {self.config.seed}"

    def identity(self, data: Flickr8k) -> Result:
        """What its result is filed under; the hash stands for all options."""
        return {
            "method": self.config.method,
            "backbone": self.config.backbone,
            "pairs": data.count(is_quick=self.is_quick),
            "noise": self.noise,
            "hard": self.is_hard,
            "seed": self.config.seed,
            "config": config_hash(self.config),
        }


def make_config(method: str, backbone: str, seed: int, settings: Mapping[str, Any]) -> RunConfig:
    """The run of one cell: defaults, what the method needs here, then `settings` as POST /runs takes them."""
    for name in _CHOSEN_ELSEWHERE:
        if name in settings:
            raise ConfigError(name, f"is chosen with --{name}s")
    chosen = settings.get("method_options", {})
    options = {**NEEDED_OPTIONS.get(method, {}), **chosen} if isinstance(chosen, Mapping) else chosen
    given = {**settings, "method": method, "backbone": backbone, "seed": seed, "method_options": options}
    return parse_run_config(given)


@lru_cache(maxsize=1)
def opened(folder: Path) -> Flickr8k:
    """Once per process: the cells of a table share it."""
    return Flickr8k(folder)


def measure(
    cell: Cell,
    folder: Path,
    *,
    with_retrieval: bool,
    device: str = "cpu",
    on_progress: Callable[[float], None] = lambda fraction: None,
) -> Result:
    """Train the cell and judge it; one that cannot be trained says why under `error`."""
    data = opened(folder)
    backbone = cell.config.backbone_options
    pairs, is_mismatch = data.training(
        cell.noise,
        cell.config.seed,
        is_hard=cell.is_hard,
        is_quick=cell.is_quick,
        with_regions=backbone.reads_regions,
    )
    began = time.perf_counter()
    peers: dict[str, Scores] = {}
    promises: Result = {}
    try:
        if cell.is_trusted:
            engine, verdict, peers = trusted(pairs, cell.config, device, on_progress)
            scores, promises = verdict.scores, promised(verdict, is_mismatch)
        else:
            engine = Engine(pairs, cell.config, device=device, on_progress=lambda seen: on_progress(seen.fraction))
            engine.fit()
            scores = engine.scores()
    except TrainingError as error:
        return {**cell.identity(data), "error": str(error), "seconds": round(time.perf_counter() - began, 2)}
    result = {**cell.identity(data), "seconds": round(time.perf_counter() - began, 2)}
    result |= detected(scores, is_mismatch) | promises
    if peers:
        result["peers"] = [{"method": name, **detected(peer, is_mismatch)} for name, peer in peers.items()]
    if with_retrieval:
        unseen = data.unseen(with_regions=backbone.reads_regions, with_words=backbone.reads_words)
        similarity = engine.similarities(unseen.images, unseen.captions)
        result |= _retrieval(similarity, unseen.image_of_caption)
    return result


def detected(scores: Scores, is_mismatch: npt.NDArray[np.bool_]) -> Result:
    confidence = scores.clean_confidence
    cut = metrics.detection(scores.is_clean, is_mismatch)
    return rounded(
        {
            "auroc": metrics.auroc(confidence, is_mismatch),
            "average_precision": metrics.average_precision(confidence, is_mismatch),
            "precision": cut.precision,
            "recall": cut.recall,
            "f1": cut.f1,
            "f1_best_cut": metrics.best_cut_f1(confidence, is_mismatch),
            "ece": metrics.expected_calibration_error(confidence, is_mismatch),
            "noise_rate_true": float(is_mismatch.mean()),
            "noise_rate_estimate": scores.noise_rate,
            **own_figures(scores, is_mismatch),
        }
    )


def _retrieval(similarity: npt.NDArray[np.float32], image_of_caption: npt.NDArray[np.int64]) -> Result:
    found = metrics.retrieval(similarity, image_of_caption)
    recalls = dict(zip(("i2t_r1", "i2t_r5", "i2t_r10"), found.image_to_text, strict=True))
    recalls |= dict(zip(("t2i_r1", "t2i_r5", "t2i_r10"), found.text_to_image, strict=True))
    medians = {"i2t_median_rank": found.image_to_text_median, "t2i_median_rank": found.text_to_image_median}
    return rounded({**recalls, "rsum": found.rsum, **medians})


def rounded(values: dict[str, float]) -> Result:
    """Six digits; JSON has no NaN, which an AUROC without mismatches is."""
    return {name: round(value, 6) if math.isfinite(value) else None for name, value in values.items()}
