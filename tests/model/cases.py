"""What the tests of the methods share: small runs, surveys whose answers are given, what every score must be."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from model.config import RunConfig, parse_run_config
from model.engine import Engine, Pairs, Scores
from model.training import Batch, Method, Phase
from tests.model.collections import make_pairs

SMALL = {"hidden_size": 64, "output_size": 32, "dropout": 0.1}


def config_of(method: str, method_options: dict[str, Any] | None = None, **options: Any) -> RunConfig:
    given = {"method": method, "batch_size": 64, "backbone_options": SMALL, "method_options": method_options or {}}
    return parse_run_config({**given, **options})


def pairs_of(count: int) -> Pairs:
    return make_pairs(count, 0.0)[0]


def fitted(pairs: Pairs, config: RunConfig, folder: Path | None = None) -> Scores:
    engine = Engine(pairs, config, folder)
    engine.fit()
    return engine.scores()


def batch_of(similarity: Tensor) -> Batch:
    size = len(similarity)
    return Batch(torch.arange(size), similarity, torch.eye(size, dtype=torch.bool), signed=similarity)


def survey(method: Method, columns: list[list[list[float]]], phase: Phase | None = None) -> None:
    """Let the method judge the collection, with the answers of both networks given."""
    chosen = phase or list(method.phases())[-1]
    method.survey(chosen, lambda network, judge: torch.tensor(columns[network]))


def assert_valid(scores: Scores, count: int) -> None:
    for name in ("clean_confidence", "confidence_a", "confidence_b", "rectified_correspondence", "similarity"):
        values = getattr(scores, name)
        assert values.shape == (count,)
        assert values.dtype == np.float32
        assert np.isfinite(values).all()
        assert values.min() >= (-1 if name == "similarity" else 0)
        assert values.max() <= 1
    assert scores.is_clean.dtype == np.bool_
    assert np.array_equal(scores.is_clean, scores.clean_confidence > scores.threshold)
    assert 0 <= scores.noise_rate <= 1


def alone(size: int) -> Tensor:
    """The mask of a batch without repeated content: only the diagonal is forbidden."""
    return torch.eye(size, dtype=torch.bool)


def repeated() -> Tensor:
    """Pairs 0 and 1 of three share their image."""
    mask = alone(3)
    mask[0, 1] = mask[1, 0] = True
    return mask
