"""The one SELECT over the pairs of a run. The API pages through it and the export streams it, so that the
pages put together are the export."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, literal_column, not_, or_, select, tuple_

from service.db.states import Split
from service.db.tables import Explanation, Image, Pair, Review, Run, Score

SCORE_COLUMNS = (
    Score.clean_confidence,
    Score.confidence_a,
    Score.confidence_b,
    Score.rectified_correspondence,
    Score.similarity,
    Score.uncertainty,
    Score.label_confidence,
    Score.predicted_label,
    Score.weight,
    Score.neighbour_agreement,
    Score.clip_similarity,
    Score.eme,
    Score.eme_soft,
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
    "weight": Score.weight,
    "neighbour_agreement": Score.neighbour_agreement,
    "clip_similarity": Score.clip_similarity,
    "eme": Score.eme,
    "eme_soft": Score.eme_soft,
}


@dataclass(frozen=True)
class Boundary:
    """Where the kept pairs end. Of those with just this confidence, all are kept, or those up to `last` in the order of
    (uid, row)."""

    confidence: float
    last: tuple[UUID, int] | None = None

    @classmethod
    def of(cls, cut: Mapping[str, Any]) -> Self:
        """As an export's filter holds it."""
        last = (UUID(cut["last_uid"]), cut["last_row"]) if cut["last_uid"] else None
        return cls(cut["confidence"], last)

    @property
    def kept(self) -> ColumnElement[bool]:
        """Null for a pair without a score."""
        edge = exact(self.confidence)
        reached = Score.clean_confidence >= edge  # by itself, so that an index can serve it
        if self.last is None:
            return reached
        return and_(reached, or_(Score.clean_confidence > edge, tuple_(Pair.uid, Pair.row) <= tuple_(*self.last)))

    @property
    def flagged(self) -> ColumnElement[bool]:
        return and_(Score.clean_confidence <= exact(self.confidence), not_(self.kept))


# No row has the number 0.
NOTHING_KEPT = Boundary(1.0, (UUID(int=0), 0))


@dataclass(frozen=True)
class PairSelection:
    """`boundary` is a cut of the caller's own: `split` is judged by it instead of the run's."""

    split: Split | None = None
    min_confidence: float | None = None
    max_confidence: float | None = None
    text: str | None = None
    label: str | None = None
    review: str | None = None  # a verdict, or "none"
    boundary: Boundary | None = None

    @classmethod
    def of(cls, wanted: Mapping[str, Any], boundary: Boundary | None) -> Self:
        """From a request's fields; how the boundary was asked for is none of its own."""
        known = ("split", "min_confidence", "max_confidence", "text", "label", "review")
        chosen = {name: wanted[name] for name in known if wanted.get(name) is not None}
        if "split" in chosen:
            chosen["split"] = Split(chosen["split"])
        return cls(**chosen, boundary=boundary)

    @property
    def is_clean(self) -> ColumnElement[bool]:
        return self.boundary.kept if self.boundary else Score.is_clean.expression

    @property
    def is_noisy(self) -> ColumnElement[bool]:
        return self.boundary.flagged if self.boundary else not_(Score.is_clean)

    @property
    def needs_score(self) -> bool:
        return self.split in (Split.CLEAN, Split.NOISY) or (self.min_confidence, self.max_confidence) != (
            None,
            None,
        )


def select_pairs(
    run: Run, wanted: PairSelection, *, judged_only: bool = False, is_explained: bool = False
) -> "Select[*tuple[Any, ...]]":
    """Pairs of the run's collection with what is known of each, on request with its explanation; unordered."""
    judged_only = judged_only or wanted.needs_score
    of_pair = (Pair.uid, Pair.row, Pair.url, Pair.caption, Pair.label, Pair.extra)
    judgement = (wanted.is_clean.label("is_clean"), Review.verdict.label("review"))
    chosen = (
        select(*of_pair, *IMAGE_COLUMNS, *SCORE_COLUMNS, *judgement)
        .join(Score, and_(Score.run_id == run.id, Score.row == Pair.row), isouter=not judged_only)
        .join(Image, and_(Image.collection_id == Pair.collection_id, Image.row == Pair.row), isouter=True)
        .join(Review, and_(Review.collection_id == Pair.collection_id, Review.uid == Pair.uid), isouter=True)
        .where(Pair.collection_id == run.collection_id, *_conditions(wanted))
    )
    if is_explained:
        same_row = and_(Explanation.run_id == run.id, Explanation.row == Pair.row)
        chosen = chosen.add_columns(Explanation.elements, Explanation.repair).join(Explanation, same_row, isouter=True)
    return chosen.where(Score.run_id == run.id) if judged_only else chosen


def after(column: Any, value: Any, row: int, *, is_descending: bool) -> ColumnElement[bool]:
    """Keyset: what comes after (value, row) in this order."""
    beyond = column < value if is_descending else column > value
    return or_(beyond, and_(column == value, Pair.row > row))


def select_pair(run: Run, uid: UUID) -> "Select[*tuple[Any, ...]]":
    """All rows with this uid: a repeated pair keeps its rows."""
    return select_pairs(run, PairSelection(), is_explained=True).where(Pair.uid == uid).order_by(Pair.row)


def _conditions(wanted: PairSelection) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if wanted.split is Split.UNSCORED:
        conditions.append(Score.row.is_(None))
    elif wanted.split is not None:
        conditions.append(wanted.is_clean if wanted.split is Split.CLEAN else wanted.is_noisy)
    if wanted.min_confidence is not None:
        conditions.append(Score.clean_confidence >= exact(wanted.min_confidence))
    if wanted.max_confidence is not None:
        conditions.append(Score.clean_confidence <= exact(wanted.max_confidence))
    if wanted.text:
        conditions.append(Pair.caption.icontains(wanted.text, autoescape=True))
    if wanted.label is not None:
        conditions.append(Pair.label == wanted.label)
    if wanted.review is not None:
        conditions.append(Review.verdict.is_(None) if wanted.review == "none" else Review.verdict == wanted.review)
    return conditions


def exact(value: float) -> ColumnElement[Any]:
    """A float4 constant: 0.7 as float8 would miss the stored 0.7."""
    return literal_column(f"{as_float4(value)!r}::real")


def as_float4(value: float) -> float:
    """The nearest float4. PostgreSQL refuses to round a value like 1e-46 to zero itself; a value that is too
    large is an OverflowError."""
    nearest: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return nearest
