"""Scores of a run -> its rows in PostgreSQL, in one transaction with the end of the run. Until it commits
nobody sees a score; after it nothing changes them."""

from uuid import UUID

import numpy as np
import numpy.typing as npt
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from model.engine import Scores
from service.db.states import JobState
from service.db.tables import Collection, Run, Score
from worker.stages.context import StageContext, lift_time_limit
from worker.stages.score import load_scores

# PostgreSQL's binary COPY: a header, then for each row the number of fields and each field behind its length.
COPY_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
COPY_TRAILER = b"\xff\xff"
FLOATS = ("clean_confidence", "confidence_a", "confidence_b", "rectified_correspondence", "similarity")
COPY_ROW = np.dtype(
    [("fields", ">i2"), ("run_id_length", ">i4"), ("run_id", "V16"), ("row_length", ">i4"), ("row", ">i8")]
    + [part for name in FLOATS for part in ((f"{name}_length", ">i4"), (name, ">f4"))]
    + [("is_clean_length", ">i4"), ("is_clean", "?")]
)
CHUNK = 50_000


def run(context: StageContext) -> None:
    rows, scores = load_scores(context.storage.run(context.run_id))
    with context.lease.completing() as session:
        lift_time_limit(session)
        _copy(context, session, rows, scores)
        written = session.scalar(select(func.count()).select_from(Score).where(Score.run_id == context.run_id))
        if written != len(rows):
            raise RuntimeError(f"{written} scores were written where {len(rows)} were expected")
        _publish(session, context.run_id, scores)


def binary_rows(run_id: UUID, rows: npt.NDArray[np.int64], scores: Scores, part: slice) -> bytes:
    """Rows in the form of binary COPY; one array operation instead of a Python loop over a million rows."""
    table = np.zeros(len(rows[part]), COPY_ROW)
    table["fields"] = 2 + len(FLOATS) + 1
    table["run_id_length"], table["run_id"] = 16, np.void(run_id.bytes)
    table["row_length"], table["row"] = 8, rows[part]
    for name in FLOATS:
        table[f"{name}_length"], table[name] = 4, getattr(scores, name)[part]
    table["is_clean_length"], table["is_clean"] = 1, scores.is_clean[part]
    return table.tobytes()


def _copy(context: StageContext, session: Session, rows: npt.NDArray[np.int64], scores: Scores) -> None:
    cursor = session.connection().connection.cursor()
    columns = f"run_id, row, {', '.join(FLOATS)}, is_clean"
    with cursor.copy(f"COPY scores ({columns}) FROM STDIN (FORMAT BINARY)") as copy:
        copy.write(COPY_HEADER)
        for start in range(0, len(rows), CHUNK):
            part = slice(start, start + CHUNK)
            copy.write(binary_rows(context.run_id, rows, scores, part))
            context.lease.progress(start, len(rows))
        copy.write(COPY_TRAILER)


def _publish(session: Session, run_id: UUID, scores: Scores) -> None:
    run = session.get_one(Run, run_id)
    accepted = session.get_one(Collection, run.collection_id).accepted
    clean = int(scores.is_clean.sum())
    run.summary = {
        "pairs": accepted,
        "clean": clean,
        "noisy": len(scores.is_clean) - clean,
        "unscored": accepted - len(scores.is_clean),
        "noise_estimate": round(float(scores.noise_rate), 4),
        "threshold": float(scores.threshold),
    }
    run.state, run.finished_at = JobState.SUCCEEDED, func.now()
