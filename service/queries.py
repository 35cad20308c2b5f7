"""Every SELECT the API makes, as named functions. Rows of another workspace are not found."""

from collections.abc import Sequence
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import Row, and_, func, select, tuple_
from sqlalchemy.orm import Session

from service.db import pairs
from service.db.states import JobState
from service.db.tables import Collection, Export, Image, Pair, Reject, Run, Score, Stage
from service.problems import not_found

Owned = TypeVar("Owned", Collection, Run, Export)


def get_owned(session: Session, table: type[Owned], id: UUID, workspace_id: UUID, *, lock: bool = False) -> Owned:
    # FOR NO KEY UPDATE: bulk work below this row (an ingest, a publish) holds a share of its key for minutes.
    found = session.get(table, id, with_for_update={"key_share": True} if lock else None)
    if found is None or found.workspace_id != workspace_id:
        raise not_found(table.__name__.lower())
    return found


def newest_first(
    session: Session,
    table: type[Owned],
    workspace_id: UUID,
    limit: int,
    before: list[Any] | None,
    *conditions: Any,
) -> Sequence[Owned]:
    """`before` is the (created_at, id) where the last page ended."""
    chosen = select(table).where(table.workspace_id == workspace_id, *conditions)
    if before is not None:
        chosen = chosen.where(tuple_(table.created_at, table.id) < tuple_(*before))
    return session.scalars(chosen.order_by(table.created_at.desc(), table.id.desc()).limit(limit)).all()


def image_counts(session: Session, collection_id: UUID) -> dict[str, int]:
    outcome = func.coalesce(Image.error_class, Image.status)
    counted = select(outcome, func.count()).where(Image.collection_id == collection_id).group_by(outcome)
    return dict(sorted((name, count) for name, count in session.execute(counted)))


def rejects(session: Session, collection_id: UUID, after: int, limit: int) -> Sequence[Reject]:
    chosen = select(Reject).where(Reject.collection_id == collection_id, Reject.row > after)
    return session.scalars(chosen.order_by(Reject.row).limit(limit)).all()


def stages(session: Session, run_id: UUID) -> Sequence[tuple[Stage, float | None]]:
    """A run's stages in order, each with the seconds it has taken so far by the database's clock."""
    seconds = func.extract("epoch", func.coalesce(Stage.finished_at, func.now()) - Stage.started_at)
    chosen = select(Stage, seconds).where(Stage.run_id == run_id).order_by(Stage.position)
    # Not below zero: a stage may have started after this transaction did.
    return [(stage, None if taken is None else max(0.0, float(taken))) for stage, taken in session.execute(chosen)]


def export_stage(session: Session, export_id: UUID) -> Stage:
    return session.scalars(select(Stage).where(Stage.export_id == export_id)).one()


def running_stage(session: Session, collection_id: UUID) -> str | None:
    """The name of a stage that a worker has in its hands, for the collection or one of its runs."""
    running = select(Stage.name).where(Stage.collection_id == collection_id, Stage.state == JobState.RUNNING)
    return session.scalar(running.limit(1))


def page_of_pairs(
    session: Session,
    run: Run,
    wanted: pairs.PairSelection,
    sort: str,
    limit: int,
    after: list[Any] | None,
    *,
    is_explained: bool = False,
) -> Sequence[Row[Any]]:
    name = sort.removeprefix("-")
    column, is_descending = pairs.SORT_COLUMNS[name], sort.startswith("-")
    chosen = pairs.select_pairs(run, wanted, judged_only=name != "row", is_explained=is_explained)
    chosen = chosen.where(column.is_not(None))
    if after is not None:
        value = after[0] if name == "row" else pairs.exact(after[0])
        chosen = chosen.where(pairs.after(column, value, after[1], is_descending=is_descending))
    order = column.desc() if is_descending else column.asc()
    return session.execute(chosen.order_by(order, Pair.row).limit(limit)).all()


def pair(session: Session, run: Run, uid: UUID) -> Sequence[Row[Any]]:
    return session.execute(pairs.select_pair(run, uid)).all()


def calibration(session: Session, run_id: UUID) -> dict[str, Any] | None:
    """Without the rest of the report, which may be large."""
    found: dict[str, Any] | None = session.scalar(select(Run.report["calibration"]).where(Run.id == run_id))
    return found


def has_shifts(session: Session, run_id: UUID) -> bool:
    found = session.scalar(select(Run.report["repair"]["shifts"]).where(Run.id == run_id))
    return bool(found)


def has_weights(session: Session, run_id: UUID) -> bool:
    """A run weighs all of its pairs or none."""
    return session.scalar(select(Score.weight).where(Score.run_id == run_id).limit(1)) is not None


def scored(session: Session, run_id: UUID, *conditions: Any) -> int:
    return session.scalar(select(func.count()).select_from(Score).where(Score.run_id == run_id, *conditions)) or 0


def kept(session: Session, run: Run, boundary: pairs.Boundary) -> int:
    if boundary.last is None:
        return scored(session, run.id, boundary.kept)
    edge = pairs.exact(boundary.confidence)
    ties = (
        select(func.count())
        .select_from(Score)
        .join(Pair, and_(Pair.collection_id == run.collection_id, Pair.row == Score.row))
        .where(Score.run_id == run.id, Score.clean_confidence == edge, boundary.kept)
    )
    return scored(session, run.id, Score.clean_confidence > edge) + (session.scalar(ties) or 0)


def first_kept(session: Session, run: Run, count: int) -> pairs.Boundary:
    """The boundary below the `count` most trusted pairs, ties by uid, then row."""
    if count == 0:
        return pairs.NOTHING_KEPT
    confidences = select(Score.clean_confidence).where(Score.run_id == run.id)
    edge = session.scalars(confidences.order_by(Score.clean_confidence.desc()).offset(count - 1).limit(1)).one()
    above = scored(session, run.id, Score.clean_confidence > pairs.exact(edge))
    ties = (
        select(Pair.uid, Pair.row)
        .join(Score, and_(Score.run_id == run.id, Score.row == Pair.row))
        .where(Pair.collection_id == run.collection_id, Score.clean_confidence == pairs.exact(edge))
    )
    last = session.execute(ties.order_by(Pair.uid, Pair.row).offset(count - above - 1).limit(1)).one()
    return pairs.Boundary(edge, (last.uid, last.row))


def ids_below(session: Session, collection_id: UUID) -> tuple[list[UUID], list[UUID]]:
    """The runs of a collection, and their exports."""
    runs = list(session.scalars(select(Run.id).where(Run.collection_id == collection_id)))
    return runs, list(session.scalars(select(Export.id).where(Export.run_id.in_(runs))))
