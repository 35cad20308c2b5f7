"""Two processes that train together give what one gives alone."""

import multiprocessing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import distributed

from model.config import RunConfig, parse_run_config, run_config_to_dict
from model.engine import Engine, Stopped
from tests.model.collections import make_scenes

COUNT = 210
# Dropout would be drawn for other items in each process; everything else is compared to the digit.
SIZES = {"hidden_size": 16, "output_size": 8, "dropout": 0.0}
WORD_SIZES = {"word_size": 8, "embed_size": 16, "dropout": 0.0}
SHORT = {"piece_epochs": [2], "freeze_epochs": 1}
CONFIG = parse_run_config(
    {"method": "crcl", "batch_size": 30, "score_draws": 2, "backbone_options": SIZES, "method_options": SHORT}
)
TOLERANCE = 2e-3


def train(config: RunConfig, folder: Path | None = None, stop_at: int = 0) -> dict[str, Any]:
    asked = 0

    def should_stop() -> bool:
        nonlocal asked
        asked += 1
        return asked == stop_at

    engine = Engine(make_scenes(COUNT, 0.3)[0], config, folder, should_stop=should_stop)
    try:
        engine.fit()
    except Stopped:
        return {"stopped": True}
    scores = engine.scores()
    return {"similarity": scores.similarity, "rectified": scores.rectified_correspondence}


def member(rank: int, size: int, meeting: str, config: dict[str, Any], folder: Path, stop_at: int) -> None:
    """One process of the fleet; only the process of rank 0 is ever asked to stop."""
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=size)
    result = train(parse_run_config(config), folder, stop_at if rank == 0 else 0)
    np.savez(folder / f"rank-{rank}.npz", **result)
    distributed.destroy_process_group()


def train_together(config: RunConfig, folder: Path, stop_at: int = 0) -> list[dict[str, Any]]:
    folder.mkdir(exist_ok=True)
    context = multiprocessing.get_context("spawn")
    meeting = folder / "meeting"
    meeting.unlink(missing_ok=True)
    options = run_config_to_dict(config)
    members = [
        context.Process(target=member, args=(rank, 2, str(meeting), options, folder, stop_at)) for rank in range(2)
    ]
    for process in members:
        process.start()
    for process in members:
        process.join(timeout=300)
    assert [process.exitcode for process in members] == [0, 0]
    return [dict(np.load(folder / f"rank-{rank}.npz")) for rank in range(2)]


class TestTwoProcesses:
    # MRL learns centres of its own; scan compares words, in shares of different length.
    @pytest.mark.parametrize(
        "options",
        [
            {"method": "ncr", "backbone_options": SIZES},
            {"method": "mrl", "backbone_options": SIZES, "method_options": {"epochs": 4}},
            {"method": "crcl", "backbone": "scan", "backbone_options": WORD_SIZES, "method_options": SHORT},
        ],
        ids=["ncr", "mrl", "crcl with scan"],
    )
    def test_give_the_scores_of_one(self, options: dict[str, Any], tmp_path: Path) -> None:
        config = parse_run_config({"batch_size": 30, "score_draws": 2, **options})
        alone = train(config)
        first, second = train_together(config, tmp_path)
        for name, value in alone.items():
            np.testing.assert_array_equal(first[name], second[name], err_msg=name)
            np.testing.assert_allclose(first[name], value, atol=TOLERANCE, err_msg=name)

    def test_share_batches_that_do_not_divide_evenly(self, tmp_path: Path) -> None:
        config = replace(CONFIG, batch_size=31)
        alone = train(config)
        first, _ = train_together(config, tmp_path)
        np.testing.assert_allclose(first["similarity"], alone["similarity"], atol=TOLERANCE)

    def test_stop_together_when_one_is_asked_and_resume(self, tmp_path: Path) -> None:
        stopped = train_together(CONFIG, tmp_path, stop_at=6)
        assert all("stopped" in result for result in stopped)
        assert list(tmp_path.glob("checkpoint-*.pt"))
        resumed = train_together(CONFIG, tmp_path)
        straight = train_together(CONFIG, tmp_path / "straight")
        np.testing.assert_array_equal(resumed[0]["similarity"], straight[0]["similarity"])
