"""Scored pairs of a run: filter, sort, page; and what a cut among them would give."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import Field
from sqlalchemy import Row

from service import cursor, cuts, queries, schemas, views
from service.cut_shapes import Cut, CutChoice
from service.db.explanations import unpack_repairs
from service.db.pairs import PairSelection
from service.db.tables import Run
from service.deps import ReadKey, SessionDep
from service.problems import Problem, not_found

router = APIRouter(prefix="/v1/runs/{id}", tags=["pairs"])

Sort = Literal[
    "row", "-row",
    "clean_confidence", "-clean_confidence",
    "confidence_a", "-confidence_a",
    "confidence_b", "-confidence_b",
    "rectified_correspondence", "-rectified_correspondence",
    "similarity", "-similarity",
    "uncertainty", "-uncertainty",
    "label_confidence", "-label_confidence",
    "weight", "-weight",
    "neighbour_agreement", "-neighbour_agreement",
    "clip_similarity", "-clip_similarity",
    "eme", "-eme",
    "eme_soft", "-eme_soft",
]  # fmt: skip


class PairQuery(schemas.PairFilter):
    sort: Sort = Field(default="row", description="By which value; equal ones follow in file order.")
    elements: bool = Field(
        default=False, description="With what caption and image speak of and show, and what would repair flagged pairs."
    )
    limit: int = Field(default=100, ge=1, le=1000, description="How many on a page.")
    cursor: str | None = Field(default=None, description="The `next` of a page with the same filter and order.")


@router.get("/pairs", operation_id="listPairs", summary="Pairs with their scores")
def index(
    id: UUID, query: Annotated[PairQuery, Query()], key: ReadKey, session: SessionDep
) -> schemas.Page[schemas.Pair]:
    """Sorted by `row` (the order of the file) every pair is listed, judged or not. Sorted by a score, pairs
    without one are left out. A leading minus turns the order round."""
    run = queries.get_owned(session, Run, id, key.workspace_id)
    name = query.sort.removeprefix("-")
    asked = query.model_dump(mode="json", exclude_none=True, exclude={"limit", "cursor", "elements"})
    kind = f"pairs {id} {asked}"
    value = cursor.whole if name == "row" else cursor.score
    after = cursor.decode(kind, query.cursor, value, cursor.whole, cuts.boundary_at) if query.cursor else None
    boundary = after[2] if after else cuts.boundary_of(session, run, query)
    wanted, most = PairSelection.of(asked, boundary), query.limit + 1
    found = queries.page_of_pairs(session, run, wanted, query.sort, most, after, is_explained=query.elements)
    page, last = cursor.cut(found, query.limit)
    following = cursor.encode(kind, last._mapping[name], last.row, cuts.position_of(boundary)) if last else None
    return schemas.Page(items=_views(session, run, page, is_explained=query.elements), next=following)


@router.get("/pairs/{uid}", operation_id="getPair", summary="One pair, in all rows where it stands")
def get(id: UUID, uid: str, key: ReadKey, session: SessionDep) -> list[schemas.Pair]:
    """A pair that the file repeats has several rows; each was judged on its own. With what caption and image
    speak of and show, and for a flagged pair what would fit better."""
    run = queries.get_owned(session, Run, id, key.workspace_id)
    try:
        found = queries.pair(session, run, UUID(hex=uid))
    except ValueError:
        raise Problem(422, "invalid_uid", "Not a uid", "uid: 32 hex digits are expected.") from None
    if not found:
        raise not_found("pair")
    return _views(session, run, found, is_explained=True)


@router.get("/cut", operation_id="getCut", summary="What a cut would give")
def cut(id: UUID, wish: Annotated[CutChoice, Query()], key: ReadKey, session: SessionDep) -> Cut:
    """How many pairs it keeps, and the precision and recall to expect; of the run's own cut when nothing is asked for.
    Pages and exports take the same parameters. Nothing is changed."""
    return cuts.cut_of(session, queries.get_owned(session, Run, id, key.workspace_id), wish)


def _views(session: SessionDep, run: Run, rows: Sequence[Row[Any]], *, is_explained: bool) -> list[schemas.Pair]:
    if not is_explained:
        return [views.pair_view(row) for row in rows]
    repairs = unpack_repairs(session, run.collection_id, [row.repair for row in rows])
    return [views.explained_view(row, repair) for row, repair in zip(rows, repairs, strict=True)]
