"""Trained networks -> one set of scores and what a report shows of them, kept as files until they are published."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from model.config import run_config_to_dict
from model.engine import Engine, Scores
from model.report import describe
from model.trust import Verdict, judge
from service.storage import written_whole
from worker.stages.context import StageContext
from worker.stages.train import load_learned, make_engine

SCORES_FILE = "scores.npz"
REPORT_FILE = "report.json"  # what is known without the database
STEPS = 1_000


def run(context: StageContext) -> None:
    folder = context.storage.run(context.run_id)
    rows, pairs, probes = load_learned(context)
    engine = make_engine(context, pairs)
    engine.fit()  # finished in the stage before: loads the last checkpoint
    verdict, scores = None, engine.scores()
    if len(probes):

        def show(fraction: float) -> None:
            context.lease.check()
            context.lease.progress(round(fraction * STEPS), STEPS, "comparing with neighbours and known mismatches")

        verdict = judge(engine, pairs, probes, show)
        scores = verdict.scores
    save_scores(folder, rows, scores)
    save_report(folder, engine, scores, verdict)
    context.lease.progress(STEPS, STEPS)
    with context.lease.completing():
        pass


def save_report(folder: Path, engine: Engine, scores: Scores, verdict: Verdict | None) -> None:
    known = verdict.probes if verdict else None
    shown = describe(
        scores.loss,
        scores.clean_confidence,
        scores.confidence_a,
        scores.confidence_b,
        scores.is_clean,
        known.loss if known else None,
        known.clean_confidence if known else None,
        known.names if known else None,
        engine.config.division,
        scores.noisy_mean,
    )
    recipe = {"why": engine.reasons, **run_config_to_dict(engine.config)}
    report = {"calibration": verdict.to_dict() if verdict else None, "described": shown, "recipe": recipe}
    with written_whole(folder / REPORT_FILE) as file:
        file.write(json.dumps(report, allow_nan=False).encode())


def load_report(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / REPORT_FILE).read_bytes()))


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
