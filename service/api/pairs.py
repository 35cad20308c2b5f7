"""Scored pairs of a run: filter, sort, page."""

from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import Field

from service import cursor, queries, schemas, views
from service.db.pairs import PairSelection
from service.db.tables import Run
from service.deps import ReadKey, SessionDep
from service.problems import Problem, not_found

router = APIRouter(prefix="/v1/runs/{id}/pairs", tags=["pairs"])

Sort = Literal[
    "row", "-row",
    "clean_confidence", "-clean_confidence",
    "confidence_a", "-confidence_a",
    "confidence_b", "-confidence_b",
    "rectified_correspondence", "-rectified_correspondence",
    "similarity", "-similarity",
    "uncertainty", "-uncertainty",
    "label_confidence", "-label_confidence",
]  # fmt: skip


class PairQuery(schemas.PairFilter):
    sort: Sort = Field(default="row", description="By which value; equal ones follow in file order.")
    limit: int = Field(default=100, ge=1, le=1000, description="How many on a page.")
    cursor: str | None = Field(default=None, description="The `next` of a page with the same filter and order.")


@router.get("", operation_id="listPairs", summary="Pairs with their scores")
def index(
    id: UUID, query: Annotated[PairQuery, Query()], key: ReadKey, session: SessionDep
) -> schemas.Page[schemas.Pair]:
    """Sorted by `row` (the order of the file) every pair is listed, judged or not. Sorted by a score, pairs
    without one are left out. A leading minus turns the order round."""
    run = queries.get_owned(session, Run, id, key.workspace_id)
    wanted = PairSelection(query.split, query.min_confidence, query.max_confidence, query.text, query.label)
    name = query.sort.removeprefix("-")
    kind = f"pairs {id} {query.sort} {wanted}"
    value = cursor.whole if name == "row" else cursor.score
    after = cursor.decode(kind, query.cursor, value, cursor.whole) if query.cursor else None
    page, last = cursor.cut(
        queries.page_of_pairs(session, run, wanted, query.sort, query.limit + 1, after), query.limit
    )
    following = cursor.encode(kind, last._mapping[name], last.row) if last else None
    return schemas.Page(items=[views.pair_view(row) for row in page], next=following)


@router.get("/{uid}", operation_id="getPair", summary="One pair, in all rows where it stands")
def get(id: UUID, uid: str, key: ReadKey, session: SessionDep) -> list[schemas.Pair]:
    """A pair that the file repeats has several rows; each was judged on its own."""
    run = queries.get_owned(session, Run, id, key.workspace_id)
    try:
        found = queries.pair(session, run, UUID(hex=uid))
    except ValueError:
        raise Problem(422, "invalid_uid", "Not a uid", "uid: 32 hex digits are expected.") from None
    if not found:
        raise not_found("pair")
    return [views.pair_view(row) for row in found]
