"""What a run has found out, as files in its folder until it is published: the scores, and what a report shows of them
that is known without the database."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from model.config import RunConfig, run_config_to_dict
from model.report import describe
from model.training import Scores
from model.trust import Verdict
from service.storage import written_whole

SCORES_FILE = "scores.npz"
REPORT_FILE = "report.json"


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


def save_report(
    folder: Path,
    config: RunConfig,
    why: list[str],
    scores: Scores,
    verdict: Verdict | None,
    drift: dict[str, Any] | None = None,
) -> None:
    """`config` is what was run, `why` the reasons for it; `drift` of pairs that other networks judged."""
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
        config.division,
        scores.noisy_mean,
    )
    report = {
        "calibration": verdict.to_dict() if verdict else None,
        "described": shown,
        "recipe": {"why": why, **run_config_to_dict(config)},
        "drift": drift,
    }
    with written_whole(folder / REPORT_FILE) as file:
        file.write(json.dumps(report, allow_nan=False).encode())


def load_report(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / REPORT_FILE).read_bytes()))
