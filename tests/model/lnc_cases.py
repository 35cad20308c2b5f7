"""What the tests of NCR and LNC share: small runs, and surveys whose answers are given."""

from typing import Any

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


def fitted(pairs: Pairs, config: RunConfig) -> Scores:
    engine = Engine(pairs, config)
    engine.fit()
    return engine.scores()


def batch_of(similarity: Tensor) -> Batch:
    size = len(similarity)
    return Batch(torch.arange(size), similarity, torch.eye(size, dtype=torch.bool), signed=similarity)


def survey(method: Method, columns: list[list[list[float]]], phase: Phase | None = None) -> None:
    """Let the method judge the collection, with the answers of both networks given."""
    chosen = phase or list(method.phases())[-1]
    method.survey(chosen, lambda network, judge: torch.tensor(columns[network]))
