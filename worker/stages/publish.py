"""Scores and explanations of a run -> its rows in PostgreSQL, in one transaction with the end of the run. Until it
commits nobody sees any of them; after it nothing changes them."""

from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from model import metrics
from model.engine import Scores
from service.db.states import JobState
from service.db.tables import Collection, Pair, Run, Score
from worker.stages import explain_files
from worker.stages.borrow import why_not_lent
from worker.stages.context import StageContext, lift_time_limit
from worker.stages.frozen import load_label_names
from worker.stages.publish_rows import COLUMNS, COPY_HEADER, COPY_TRAILER, binary_rows
from worker.stages.report import build_report
from worker.stages.results import load_report, load_scores

CHUNK = 50_000
TRUTH_CHUNK = 5_000  # rows that are Python objects at a time


def run(context: StageContext) -> None:
    rows, scores = load_scores(context.storage.run(context.run_id))
    with context.lease.completing() as session:
        lift_time_limit(session)
        _copy(context, session, rows, scores)
        _copy_explanations(context, session)
        written = session.scalar(select(func.count()).select_from(Score).where(Score.run_id == context.run_id))
        if written != len(rows):
            raise RuntimeError(f"{written} scores were written where {len(rows)} were expected")
        _publish(session, context, rows, scores)


def _copy(context: StageContext, session: Session, rows: npt.NDArray[np.int64], scores: Scores) -> None:
    folder = context.storage.run(context.run_id)
    names = load_label_names(folder)
    eme = explain_files.load_eme(folder) if explain_files.is_explained(folder) else None
    cursor = session.connection().connection.cursor()
    with cursor.copy(f"COPY scores ({', '.join(COLUMNS)}) FROM STDIN (FORMAT BINARY)") as copy:
        copy.write(COPY_HEADER)
        for start in range(0, len(rows), CHUNK):
            part = slice(start, start + CHUNK)
            copy.write(binary_rows(context.run_id, rows, scores, part, names, eme))
            context.lease.progress(start, len(rows))
        copy.write(COPY_TRAILER)


def _copy_explanations(context: StageContext, session: Session) -> None:
    folder = context.storage.run(context.run_id)
    if not explain_files.is_explained(folder):
        return
    cursor = session.connection().connection.cursor()
    with cursor.copy(f"COPY explanations ({', '.join(explain_files.COLUMNS)}) FROM STDIN") as copy:
        for piece in explain_files.pieces(folder):
            copy.write(piece)


def _publish(session: Session, context: StageContext, rows: npt.NDArray[np.int64], scores: Scores) -> None:
    run, folder = session.get_one(Run, context.run_id), context.storage.run(context.run_id)
    known, refusal = load_report(folder), why_not_lent(folder)
    calibration = known["calibration"]
    accepted = session.get_one(Collection, run.collection_id).accepted
    clean = int(scores.is_clean.sum())
    truth = against_truth(session, run.collection_id, rows, scores)
    run.summary = {
        "pairs": accepted,
        "clean": clean,
        "noisy": len(scores.is_clean) - clean,
        "unscored": accepted - len(scores.is_clean),
        "noise_estimate": round(float(scores.noise_rate), 4),
        "threshold": float(scores.threshold),
        **({} if calibration is None else _calibrated(calibration)),
        **({} if truth is None else {"truth": truth}),
        **({} if known["drift"] is None else {"drift": known["drift"]}),
        **({} if refusal is None else {"cannot_judge": refusal}),
    }
    session.flush()
    run.report = build_report(
        session, run.id, run.collection_id, calibration, known["described"], known["recipe"] | _settings(run)
    )
    if known["drift"] is not None:
        run.report |= {"drift": known["drift"]}
    if explain_files.is_explained(folder):
        run.report |= explain_files.load_explained(folder)
    run.state, run.finished_at = JobState.SUCCEEDED, func.now()


def _calibrated(calibration: dict[str, Any]) -> dict[str, Any]:
    """The noise rate with its interval, and what to expect of the automatic cut."""
    rate = calibration["noise_rate"]
    cut = min(calibration["curve"], key=lambda row: abs(row["cut"] - calibration["threshold"]))
    return {
        "noise_low": round(rate["low"], 4),
        "noise_high": round(rate["high"], 4),
        "has_evidence": calibration["has_evidence"],
        "expected_precision": None if cut["precision"] is None else round(cut["precision"], 4),
        "expected_recall": None if cut["recall"] is None else round(cut["recall"], 4),
    }


def _settings(run: Run) -> dict[str, Any]:
    """What was asked for, beside what it came to."""
    return {"asked": {"method": run.config["method"], "encoder": run.config["encoder"]}}


def against_truth(
    session: Session, collection_id: UUID, rows: npt.NDArray[np.int64], scores: Scores
) -> dict[str, Any] | None:
    """How well mismatches were found, where the upload knew them (a noise index); None where it did not."""
    known, is_match = _truth(session, collection_id)
    if not len(known):
        return None
    _, at, place = np.intersect1d(rows, known, assume_unique=True, return_indices=True)
    is_mismatch = ~is_match[place]
    cut = metrics.detection(scores.is_clean[at], is_mismatch)
    area = metrics.auroc(scores.clean_confidence[at], is_mismatch)
    return {
        "pairs": len(at),
        "noise_rate": round(float(is_mismatch.mean()), 4) if len(at) else None,
        "auroc": None if np.isnan(area) else round(area, 4),  # there is only one kind of pair
        "precision": round(cut.precision, 4),
        "recall": round(cut.recall, 4),
        "f1": round(cut.f1, 4),
    }


def _truth(session: Session, collection_id: UUID) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Rows, and which of them match; in chunks, as millions of them as objects would take gigabytes."""
    known = select(Pair.row, Pair.is_match).where(Pair.collection_id == collection_id, Pair.is_match.is_not(None))
    found = session.execute(known.order_by(Pair.row).execution_options(yield_per=TRUTH_CHUNK))
    # fromiter: np.array of such rows is a hundred times slower.
    parts = [np.fromiter((value for row in part for value in row), np.int64) for part in found.partitions()]
    flat = np.concatenate([np.empty(0, np.int64), *parts])
    return flat[::2], flat[1::2] == 1
