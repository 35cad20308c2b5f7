"""A file with shifted blocks put right: every row keeps its image and takes the caption that belongs to it."""

from collections.abc import Iterable, Iterator
from dataclasses import fields
from itertools import islice
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import numpy as np
from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from model.data.rows import pair_uid
from model.repair.correction import Correction, corrected
from model.repair.shifts import Shift
from service.db.explanations import contents
from service.db.pairs import SCORE_COLUMNS
from service.db.tables import Pair, Run

CHUNK = 5_000
# What was found out about the pair that stood in the row: nothing of it holds for the new one.
JUDGED = (*(column.key for column in SCORE_COLUMNS), "is_clean", "review", "elements", "repair")


def correction_of(session: Session, run: Run) -> Correction:
    shifts = [Shift(**_fields(shift)) for shift in (run.report or {})["repair"]["shifts"]]
    listed = session.scalars(select(Pair.row).where(Pair.collection_id == run.collection_id).order_by(Pair.row))
    return corrected(np.fromiter(listed.yield_per(CHUNK), np.int64), shifts)


def counts(correction: Correction) -> dict[str, int]:
    return {
        "changed": correction.changed,
        "images_left_out": len(correction.images_left),
        "captions_left_out": len(correction.captions_left),
    }


def corrected_rows(
    session: Session, collection_id: UUID, rows: Iterable[Row[Any]], correction: Correction
) -> Iterator[SimpleNamespace]:
    """`rows` are all pairs of the collection, by row."""
    stream = iter(rows)
    while chunk := list(islice(stream, CHUNK)):
        numbers = np.array([row.row for row in chunk])
        at = np.minimum(np.searchsorted(correction.rows, numbers), len(correction.rows) - 1)
        is_there = correction.rows[at] == numbers
        taken = correction.captions[at]
        moved = contents(session, collection_id, {int(row) for row in taken[is_there & (taken != numbers)]})
        for row, is_kept, source in zip(chunk, is_there, taken.tolist(), strict=True):
            if is_kept:
                known = row._asdict() | {"corrected_from": None}
                yield SimpleNamespace(**known if source == row.row else _with_caption(known, moved[source]))


def _with_caption(known: dict[str, Any], source: Any) -> dict[str, Any]:
    new = {"caption": source.caption, "uid": UUID(hex=pair_uid(known["url"], source.caption))}
    return known | dict.fromkeys(JUDGED) | new | {"corrected_from": source.row}


def _fields(stored: dict[str, Any]) -> dict[str, Any]:
    """Of a shift as a report has it."""
    renamed = {"first": stored["first_row"], "last": stored["last_row"], **stored}
    return {field.name: renamed[field.name] for field in fields(Shift)}
