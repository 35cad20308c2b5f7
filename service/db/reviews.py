"""The SQL of reviews: storing what people said, and finding pairs that nobody has judged yet. A repeated pair is one
pair here: the first of its rows stands for it."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Row, Select, and_, case, delete, func, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, aliased

from service.db.pairs import exact
from service.db.states import ReviewReason
from service.db.tables import Pair, Review, Run, Score

Proposed = Sequence[Row[Any]]


def store(session: Session, reviews: Sequence[dict[str, Any]]) -> Sequence[Review]:
    """Each replaces what was said of its pair before. A pair stays with the run it was judged on first: in the sample
    of that one it has its place, and a later run may have learned from the verdict, so it cannot be judged by it. And
    what was drawn by chance stays an audit: if corrected ones left the sample, it would be one of chance no more."""
    # In one order, so that two callers with the same pairs wait for each other instead of locking each other out.
    given = insert(Review).values(sorted(reviews, key=lambda review: review["uid"]))
    new = given.excluded
    # Also where the run is gone, which leaves a null.
    is_settled = or_(Review.reason == ReviewReason.AUDIT, Review.run_id.is_distinct_from(new.run_id))
    changed: dict[str, Any] = {name: new[name] for name in ("verdict", "note", "reviewer")}
    changed |= {"reason": case((is_settled, Review.reason), else_=new.reason), "reviewed_at": func.now()}
    upsert = given.on_conflict_do_update(index_elements=[Review.collection_id, Review.uid], set_=changed)
    fresh = {"populate_existing": True}
    return session.scalars(upsert.returning(Review), execution_options=fresh).all()


def remove(session: Session, collection_id: UUID, uid: UUID) -> bool:
    chosen = delete(Review).where(Review.collection_id == collection_id, Review.uid == uid)
    return session.scalar(chosen.returning(Review.uid)) is not None


def page(session: Session, collection_id: UUID, after: UUID | None, limit: int) -> Sequence[Review]:
    chosen = select(Review).where(Review.collection_id == collection_id)
    if after is not None:
        chosen = chosen.where(Review.uid > after)
    return session.scalars(chosen.order_by(Review.uid).limit(limit)).all()


def known_uids(session: Session, collection_id: UUID, uids: Sequence[UUID]) -> set[UUID]:
    return set(session.scalars(select(Pair.uid).where(Pair.collection_id == collection_id, Pair.uid.in_(uids))))


def by_chance(session: Session, run: Run, limit: int) -> Proposed:
    """In the order of their uids, from the run's own id on and round the end. A uid is a hash of the content, so its
    place has nothing to do with scores; and an index has this order already."""
    chosen = _unreviewed(run).order_by(Pair.uid).limit(limit)
    beyond = session.execute(chosen.where(Pair.uid >= run.id)).all()
    if len(beyond) == limit:
        return beyond
    return [*beyond, *session.execute(chosen.where(Pair.uid < run.id)).all()][:limit]


def place(run: Run, uid: UUID) -> float:
    """Where the pair stands in the order of chance, from 0 to 1."""
    return (uid.int - run.id.int) % 2**128 / 2**128


def drawable(session: Session, run: Run) -> int:
    """How many pairs the order of chance has for this run, drawn already or not. It passes over repeats, and over what
    was judged on another run."""
    of_another = _said(run).where(Review.run_id.is_distinct_from(run.id)).exists()
    return session.scalar(_scored(run, func.count()).where(~of_another)) or 0


def most_disputed(session: Session, run: Run, limit: int) -> Proposed:
    gap = func.abs(Score.confidence_a - Score.confidence_b)
    chosen = _unreviewed(run).where(Score.confidence_a != Score.confidence_b)
    return session.execute(chosen.order_by(gap.desc(), Score.row).limit(limit)).all()


def nearest_above(session: Session, run: Run, cut: float, limit: int) -> Proposed:
    chosen = _unreviewed(run).where(Score.clean_confidence >= exact(cut))
    return session.execute(chosen.order_by(Score.clean_confidence, Score.row).limit(limit)).all()


def nearest_below(session: Session, run: Run, cut: float, limit: int) -> Proposed:
    chosen = _unreviewed(run).where(Score.clean_confidence < exact(cut))
    return session.execute(chosen.order_by(Score.clean_confidence.desc(), Score.row.desc()).limit(limit)).all()


def judged(session: Session, run: Run) -> "Sequence[Row[UUID, str, str, float, bool]]":
    """The reviews made on this run, with its scores. Those made before were anchors of its training, so they cannot
    judge it."""
    chosen = (
        select(Review.uid, Review.verdict, Review.reason, Score.clean_confidence, Score.is_clean)
        .join(Pair, and_(Pair.collection_id == Review.collection_id, Pair.uid == Review.uid))
        .join(Score, and_(Score.run_id == run.id, Score.row == Pair.row))
        .where(Review.collection_id == run.collection_id, Review.run_id == run.id, _is_first_row())
    )
    return session.execute(chosen).all()


def _unreviewed(run: Run) -> "Select[*tuple[Any, ...]]":
    scores = (Score.clean_confidence, Score.confidence_a, Score.confidence_b, Score.is_clean)
    of_pair = (Pair.uid, Pair.row, Pair.url, Pair.caption)
    return _scored(run, *of_pair, *scores).where(~_said(run).exists())


def _scored(run: Run, *columns: Any) -> "Select[*tuple[Any, ...]]":
    return (
        select(*columns)
        .select_from(Pair)
        .join(Score, and_(Score.run_id == run.id, Score.row == Pair.row))
        .where(Pair.collection_id == run.collection_id, Score.run_id == run.id, _is_first_row())
    )


def _said(run: Run) -> Select[UUID]:
    """What was said of a pair, on whichever run of the collection."""
    return select(Review.uid).where(Review.collection_id == run.collection_id, Review.uid == Pair.uid)


def _is_first_row() -> ColumnElement[bool]:
    earlier = aliased(Pair)
    same = select(earlier.row).where(
        earlier.collection_id == Pair.collection_id, earlier.uid == Pair.uid, earlier.row < Pair.row
    )
    return ~same.exists()
