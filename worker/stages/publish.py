"""Scores of a run -> its rows in PostgreSQL, in one transaction with the end of the run. Until it commits
nobody sees a score; after it nothing changes them."""

from collections.abc import Sequence
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
from worker.stages.context import StageContext, lift_time_limit
from worker.stages.frozen import load_label_names
from worker.stages.report import build_report
from worker.stages.results import load_report, load_scores

# PostgreSQL's binary COPY: a header, then for each row the number of fields and each field behind its length.
COPY_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
COPY_TRAILER = b"\xff\xff"
FLOATS = ("clean_confidence", "confidence_a", "confidence_b", "rectified_correspondence", "similarity")
# NULL where the method or the run gives none.
OPTIONAL_FLOATS = ("uncertainty", "label_confidence", "weight", "neighbour_agreement", "clip_similarity")
COLUMNS = ("run_id", "row", *FLOATS, "is_clean", *OPTIONAL_FLOATS, "predicted_label")
NULL = -1  # the length of a field that is NULL; nothing follows it
CHUNK = 50_000


def run(context: StageContext) -> None:
    rows, scores = load_scores(context.storage.run(context.run_id))
    with context.lease.completing() as session:
        lift_time_limit(session)
        _copy(context, session, rows, scores)
        written = session.scalar(select(func.count()).select_from(Score).where(Score.run_id == context.run_id))
        if written != len(rows):
            raise RuntimeError(f"{written} scores were written where {len(rows)} were expected")
        _publish(session, context, rows, scores)


def binary_rows(
    run_id: UUID, rows: npt.NDArray[np.int64], scores: Scores, part: slice, names: Sequence[str] | None = None
) -> bytes:
    """Rows in the form of binary COPY; array operations instead of a Python loop over a million rows.

    `names` are the texts of the categories in `scores.predicted_label`.
    """
    places = np.arange(len(rows))[part]
    if scores.predicted_label is None or names is None:
        return _table(run_id, rows, scores, places, None)
    # Labels differ in length, but a table has one length: a table for every length, then.
    labels = [name.encode() for name in names]
    lengths = np.array([len(label) for label in labels])[scores.predicted_label[places]]
    tables = []
    for length in np.unique(lengths):
        some = places[lengths == length]
        numbers, places_of = np.unique(scores.predicted_label[some], return_inverse=True)
        texts = np.array([labels[number] for number in numbers], f"S{length}")
        tables.append(_table(run_id, rows, scores, some, texts.view(f"V{length}")[places_of]))
    return b"".join(tables)


def _table(
    run_id: UUID,
    rows: npt.NDArray[np.int64],
    scores: Scores,
    places: npt.NDArray[np.int64],
    labels: npt.NDArray[np.void] | None,
) -> bytes:
    """Every column's length, then its value unless it is NULL."""
    columns: list[tuple[str, str, Any]] = [("run_id", "V16", np.void(run_id.bytes)), ("row", ">i8", rows[places])]
    columns += [(name, ">f4", getattr(scores, name)[places]) for name in FLOATS]
    columns.append(("is_clean", "?", scores.is_clean[places]))
    for name in OPTIONAL_FLOATS:
        values = getattr(scores, name)
        columns.append((name, ">f4", None if values is None else values[places]))
    columns.append(("predicted_label", "V0" if labels is None else f"V{labels.itemsize}", labels))
    layout: list[tuple[str, str]] = [("fields", ">i2")]
    for name, kind, values in columns:
        layout += [(f"{name}_length", ">i4")] + ([] if values is None else [(name, kind)])
    table = np.zeros(len(places), layout)
    table["fields"] = len(columns)
    for name, kind, values in columns:
        table[f"{name}_length"] = NULL if values is None else np.dtype(kind).itemsize
        if values is not None:
            table[name] = values
    return table.tobytes()


def _copy(context: StageContext, session: Session, rows: npt.NDArray[np.int64], scores: Scores) -> None:
    names = load_label_names(context.storage.run(context.run_id))
    cursor = session.connection().connection.cursor()
    with cursor.copy(f"COPY scores ({', '.join(COLUMNS)}) FROM STDIN (FORMAT BINARY)") as copy:
        copy.write(COPY_HEADER)
        for start in range(0, len(rows), CHUNK):
            part = slice(start, start + CHUNK)
            copy.write(binary_rows(context.run_id, rows, scores, part, names))
            context.lease.progress(start, len(rows))
        copy.write(COPY_TRAILER)


def _publish(session: Session, context: StageContext, rows: npt.NDArray[np.int64], scores: Scores) -> None:
    run = session.get_one(Run, context.run_id)
    known = load_report(context.storage.run(context.run_id))
    calibration = known["calibration"]
    accepted = session.get_one(Collection, run.collection_id).accepted
    clean = int(scores.is_clean.sum())
    truth = _against_truth(session, run.collection_id, rows, scores)
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
    }
    session.flush()
    run.report = build_report(
        session, run.id, run.collection_id, calibration, known["described"], known["recipe"] | _settings(run)
    )
    if known["drift"] is not None:
        run.report |= {"drift": known["drift"]}
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


def _against_truth(
    session: Session, collection_id: UUID, rows: npt.NDArray[np.int64], scores: Scores
) -> dict[str, Any] | None:
    """How well mismatches were found, where the upload knew them (a noise index); None where it did not."""
    known = select(Pair.row, Pair.is_match).where(Pair.collection_id == collection_id, Pair.is_match.is_not(None))
    found = session.execute(known.order_by(Pair.row)).all()
    if not found:
        return None
    judged = np.array(found, np.int64)
    _, at, place = np.intersect1d(rows, judged[:, 0], assume_unique=True, return_indices=True)
    is_mismatch = judged[place, 1] == 0
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
