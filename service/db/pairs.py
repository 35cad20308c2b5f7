"""The one SELECT over the pairs of a run. The API pages through it and the export streams it, so that the
pages put together are the export."""

import struct
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, literal_column, or_, select

from service.db.states import Split
from service.db.tables import Image, Pair, Run, Score

SCORE_COLUMNS = (
    Score.clean_confidence,
    Score.confidence_a,
    Score.confidence_b,
    Score.rectified_correspondence,
    Score.similarity,
    Score.is_clean,
    Score.uncertainty,
    Score.label_confidence,
    Score.predicted_label,
)
IMAGE_COLUMNS = (
    Image.status,
    Image.error_class,
    Image.error_message,
    Image.width,
    Image.height,
    Image.sha256,
)
# What pages may be sorted by. Only judged pairs have a score to be sorted by, and not every method gives every score.
SORT_COLUMNS = {
    "row": Pair.row,
    "clean_confidence": Score.clean_confidence,
    "confidence_a": Score.confidence_a,
    "confidence_b": Score.confidence_b,
    "rectified_correspondence": Score.rectified_correspondence,
    "similarity": Score.similarity,
    "uncertainty": Score.uncertainty,
    "label_confidence": Score.label_confidence,
}


@dataclass(frozen=True)
class PairSelection:
    split: Split | None = None
    min_confidence: float | None = None
    max_confidence: float | None = None
    text: str | None = None
    label: str | None = None

    @property
    def needs_score(self) -> bool:
        return self.split in (Split.CLEAN, Split.NOISY) or (self.min_confidence, self.max_confidence) != (
            None,
            None,
        )


def select_pairs(run: Run, wanted: PairSelection, *, sorted_by_score: bool = False) -> "Select[*tuple[Any, ...]]":
    """Pairs of the run's collection with what is known of each; unordered."""
    judged_only = wanted.needs_score or sorted_by_score
    chosen = (
        select(Pair.uid, Pair.row, Pair.url, Pair.caption, Pair.label, Pair.extra, *IMAGE_COLUMNS, *SCORE_COLUMNS)
        .join(Score, and_(Score.run_id == run.id, Score.row == Pair.row), isouter=not judged_only)
        .join(Image, and_(Image.collection_id == Pair.collection_id, Image.row == Pair.row), isouter=True)
        .where(Pair.collection_id == run.collection_id, *_conditions(wanted))
    )
    return chosen.where(Score.run_id == run.id) if judged_only else chosen


def after(column: Any, value: Any, row: int, *, is_descending: bool) -> ColumnElement[bool]:
    """Keyset: what comes after (value, row) in this order."""
    beyond = column < value if is_descending else column > value
    return or_(beyond, and_(column == value, Pair.row > row))


def select_pair(run: Run, uid: UUID) -> "Select[*tuple[Any, ...]]":
    """All rows with this uid: a repeated pair keeps its rows."""
    return select_pairs(run, PairSelection()).where(Pair.uid == uid).order_by(Pair.row)


def _conditions(wanted: PairSelection) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if wanted.split is Split.UNSCORED:
        conditions.append(Score.row.is_(None))
    elif wanted.split is not None:
        conditions.append(Score.is_clean.is_(wanted.split is Split.CLEAN))
    if wanted.min_confidence is not None:
        conditions.append(Score.clean_confidence >= exact(wanted.min_confidence))
    if wanted.max_confidence is not None:
        conditions.append(Score.clean_confidence <= exact(wanted.max_confidence))
    if wanted.text:
        conditions.append(Pair.caption.icontains(wanted.text, autoescape=True))
    if wanted.label is not None:
        conditions.append(Pair.label == wanted.label)
    return conditions


def exact(value: float) -> ColumnElement[Any]:
    """A float4 constant: 0.7 as float8 would miss the stored 0.7."""
    return literal_column(f"{as_float4(value)!r}::real")


def as_float4(value: float) -> float:
    """The nearest float4. PostgreSQL refuses to round a value like 1e-46 to zero itself; a value that is too
    large is an OverflowError."""
    nearest: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return nearest
