"""Every method with every backbone that it can use: learns, finds mismatches, resumes to the last bit."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from model.config import BACKBONE_CONFIGS, METHOD_CONFIGS, MIN_PAIRS, ConfigError, RunConfig, parse_run_config
from model.engine import Pairs
from model.methods import METHODS
from model.metrics import auroc
from tests.model.cases import assert_valid, fitted
from tests.model.collections import make_scenes, mislabel

COUNT = 256
SMALL: dict[str, dict[str, Any]] = {
    "head": {"hidden_size": 64, "output_size": 32},
    "gated": {"output_size": 32},
    "vse_infinity": {"word_size": 16, "embed_size": 32, "hidden_size": 32, "position_size": 8},
    "scan": {"word_size": 16, "embed_size": 32},
    "sgr": {"word_size": 16, "embed_size": 32, "similarity_size": 16},
    "saf": {"word_size": 16, "embed_size": 32, "similarity_size": 16},
    "sgraf": {"word_size": 16, "embed_size": 32, "similarity_size": 16},
}
# Few steps have to do, so they are large ones, and larger for those that start slowly; CRCL's pieces are cut short.
RATE_FACTORS = {"sgr": 12.0, "saf": 12.0, "sgraf": 12.0}
RATE_FACTOR = 4.0
LENGTHS = {"crcl": {"piece_epochs": [3, 3], "freeze_epochs": 1}}
FLOOR = 0.7
# A filter that judges after a few epochs judges by networks that have not learned yet.
LOW_FLOORS = {("filter-then-train", backbone): 0.6 for backbone in ("sgr", "saf", "sgraf")}
COMBINATIONS = [
    (method, backbone)
    for method in METHODS
    for backbone, options in BACKBONE_CONFIGS.items()
    if options.gives_vectors or not METHOD_CONFIGS[method].needs_vectors
]


def config_of(method: str, backbone: str, **options: Any) -> RunConfig:
    # Co-teaching does not depend on the backbone; the slowest do without it.
    networks = 1 if backbone in ("sgr", "saf", "sgraf") else 2
    common = {"method": method, "backbone": backbone, "batch_size": 16, "score_draws": 2, "networks": networks}
    sizes = {**SMALL[backbone], "learning_rate_factor": RATE_FACTORS.get(backbone, RATE_FACTOR)}
    return parse_run_config({**common, "method_options": LENGTHS.get(method, {}), "backbone_options": sizes, **options})


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
        scores = fitted(pairs, config, tmp_path)
        assert_valid(scores, COUNT)
        assert auroc(scores.clean_confidence, mismatched) > LOW_FLOORS.get((method, backbone), FLOOR)
        max(tmp_path.glob("checkpoint-*.pt")).unlink()  # as if it had been killed in the last epoch
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
