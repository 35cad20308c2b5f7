"""Trained networks -> one set of scores, kept as a file until it is published."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from model.engine import Scores
from service.storage import written_whole
from worker.stages.context import StageContext
from worker.stages.train import load_pairs, make_engine

SCORES_FILE = "scores.npz"


def run(context: StageContext) -> None:
    folder = context.storage.run(context.run_id)
    rows, pairs = load_pairs(context)
    engine = make_engine(context, pairs)
    engine.fit()  # finished in the stage before: loads the last checkpoint
    scores = engine.scores()
    save_scores(folder, rows, scores)
    context.lease.progress(len(rows), len(rows))
    with context.lease.completing():
        pass


def save_scores(folder: Path, rows: npt.NDArray[np.int64], scores: Scores) -> None:
    values = {field.name: getattr(scores, field.name) for field in fields(scores)}
    # What the method does not give is left out, and so is its default again when loaded.
    arrays: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
    with written_whole(folder / SCORES_FILE) as file:
        np.savez(file, row=rows, **arrays)


def load_scores(folder: Path) -> tuple[npt.NDArray[np.int64], Scores]:
    with np.load(folder / SCORES_FILE, allow_pickle=False) as arrays:
        loaded = {name: array if array.ndim else array.item() for name, array in arrays.items()}
    rows = loaded.pop("row")
    return rows, Scores(**loaded)
