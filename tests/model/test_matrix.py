"""Every method with every backbone that it can use: learns, finds mismatches, resumes to the last bit."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from model.config import BACKBONE_CONFIGS, METHOD_CONFIGS, MIN_PAIRS, ConfigError, RunConfig, parse_run_config
from model.engine import Engine, Pairs, Stopped
from model.metrics import auroc
from tests.model.cases import assert_valid, fitted
from tests.model.collections import make_scenes, mislabel

COUNT = 320
SMALL: dict[str, dict[str, Any]] = {
    "head": {"hidden_size": 64, "output_size": 32},
    "gated": {"output_size": 32},
    "vse_infinity": {"word_size": 16, "embed_size": 32, "hidden_size": 32, "position_size": 8},
    "scan": {"word_size": 16, "embed_size": 32},
    "sgr": {"word_size": 16, "embed_size": 32, "similarity_size": 16},
    "saf": {"word_size": 16, "embed_size": 32, "similarity_size": 16},
    "sgraf": {"word_size": 16, "embed_size": 32, "similarity_size": 16},
}
# Few steps have to do, so they are large ones; CRCL's pieces are cut short.
RATE_FACTOR = 4.0
LENGTHS = {"crcl": {"piece_epochs": [3, 3], "freeze_epochs": 1}}
FLOOR = 0.85
# What so few steps leave weak: reasoning over similarity vectors starts slowly, and a filter that judges after a few
# epochs judges by networks that have not learned yet.
LOW_FLOORS = {
    ("mrl", "vse_infinity"): 0.75,
    ("decl", "sgr"): 0.55,
    ("filter-then-train", "sgr"): 0.6,
    ("filter-then-train", "saf"): 0.6,
    ("filter-then-train", "sgraf"): 0.6,
}
COMBINATIONS = [
    (method, backbone)
    for method in METHOD_CONFIGS
    for backbone, options in BACKBONE_CONFIGS.items()
    if options.gives_vectors or not METHOD_CONFIGS[method].needs_vectors
]


def config_of(method: str, backbone: str, **options: Any) -> RunConfig:
    common = {"method": method, "backbone": backbone, "batch_size": 16, "score_draws": 2}
    sizes = {**SMALL[backbone], "learning_rate_factor": RATE_FACTOR}
    return parse_run_config({**common, "method_options": LENGTHS.get(method, {}), "backbone_options": sizes, **options})


def stopped_half_way(pairs: Pairs, config: RunConfig, folder: Path) -> None:
    shares: list[float] = [0.0]
    engine = Engine(
        pairs,
        config,
        folder,
        on_progress=lambda progress: shares.append(progress.fraction),
        should_stop=lambda: shares[-1] > 0.5,
    )
    with pytest.raises(Stopped):
        engine.fit()


@pytest.fixture(scope="module")
def collections() -> dict[bool, tuple[Pairs, np.ndarray]]:
    """With 40 % mismatched pairs; for methods that judge labels, with 40 % wrong labels instead."""
    return {False: make_scenes(COUNT, 0.4), True: mislabel(make_scenes(COUNT, 0.0)[0], 0.4)}


class TestEveryCombination:
    def test_small_options_exist_for_every_backbone(self) -> None:
        assert set(SMALL) == set(BACKBONE_CONFIGS)

    @pytest.mark.parametrize(("method", "backbone"), COMBINATIONS)
    def test_finds_what_is_wrong_and_resumes_to_the_last_bit(
        self, method: str, backbone: str, collections: dict[bool, tuple[Pairs, np.ndarray]], tmp_path: Path
    ) -> None:
        config = config_of(method, backbone)
        pairs, mismatched = collections[config.method_options.needs_labels]
        scores = fitted(pairs, config)
        assert_valid(scores, COUNT)
        assert auroc(scores.clean_confidence, mismatched) > LOW_FLOORS.get((method, backbone), FLOOR)
        stopped_half_way(pairs, config, tmp_path)
        resumed = fitted(pairs, config, tmp_path)
        for name, value in vars(scores).items():
            np.testing.assert_array_equal(getattr(resumed, name), value, err_msg=name)

    @pytest.mark.parametrize("backbone", SMALL)
    @pytest.mark.parametrize(("count", "mismatched"), [(MIN_PAIRS, 0.3), (200, 0.0)], ids=["tiny", "all clean"])
    def test_tiny_and_clean_collections_work(self, backbone: str, count: int, mismatched: float) -> None:
        pairs, _ = make_scenes(count, mismatched)
        assert_valid(fitted(pairs, config_of("crcl", backbone)), count)

    def test_category_method_refuses_backbones_without_vectors(self) -> None:
        with pytest.raises(ConfigError, match=r"backbone: .*head"):
            config_of("mrl", "sgr")
