"""Reviews: what people say of pairs, which pairs to look at next, and what follows for the run."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query

from service import cursor, queries, reviews
from service.db import reviews as stored
from service.db.tables import Collection
from service.db.tables import Review as Row
from service.deps import Limit, PageCursor, ReadKey, SessionDep, WriteKey
from service.review_estimate import estimate as estimate_of
from service.schemas import Page
from service.schemas_reviews import Estimate, Plan, Planned, Review, ReviewBatch, ReviewGiven, Stored, Uid

router = APIRouter(prefix="/v1", tags=["reviews"])

PairUid = Annotated[Uid, Path()]


@router.put("/runs/{id}/pairs/{uid}/review", operation_id="putReview", summary="Say whether a pair matches")
def put(id: UUID, uid: PairUid, body: ReviewGiven, key: WriteKey, session: SessionDep) -> Review:
    """The last word counts, for all rows where the pair stands. The next run of the collection learns from it."""
    return _view(reviews.put_review(session, key, id, uid, body))


@router.get("/runs/{id}/pairs/{uid}/review", operation_id="getReview", summary="What was said of a pair")
def get(id: UUID, uid: PairUid, key: ReadKey, session: SessionDep) -> Review:
    """Whoever said it, on whichever run of the collection."""
    return _view(reviews.get_review(session, key, id, uid))


@router.delete(
    "/runs/{id}/pairs/{uid}/review", status_code=204, operation_id="deleteReview", summary="Take a review back"
)
def delete(id: UUID, uid: PairUid, key: WriteKey, session: SessionDep) -> None:
    """The pair may then be proposed again."""
    reviews.delete_review(session, key, id, uid)


@router.post("/runs/{id}/reviews", operation_id="putReviews", summary="Many reviews at once")
def put_many(id: UUID, body: ReviewBatch, key: WriteKey, session: SessionDep) -> Stored:
    """All or nothing: when one is wrong, none is stored, and the error names its index and field. The same request
    again changes nothing."""
    return Stored(stored=reviews.put_reviews(session, key, id, body))


@router.get("/collections/{id}/reviews", operation_id="listReviews", summary="All reviews of a collection, by uid")
def index(id: UUID, key: ReadKey, session: SessionDep, limit: Limit = 100, cursor_: PageCursor = None) -> Page[Review]:
    """One for each pair that was reviewed, whichever run it was reviewed on."""
    collection = queries.get_owned(session, Collection, id, key.workspace_id)
    kind = f"reviews {id}"
    after = cursor.decode(kind, cursor_, cursor.identity)[0] if cursor_ else None
    page, last = cursor.cut(stored.page(session, collection.id, after, limit + 1), limit)
    following = cursor.encode(kind, last.uid.hex) if last else None
    return Page(items=[_view(item) for item in page], next=following)


@router.get("/runs/{id}/review-plan", operation_id="planReviews", summary="Which pairs to review next")
def plan(
    id: UUID,
    key: ReadKey,
    session: SessionDep,
    limit: Annotated[int, Query(ge=1, le=500, description="How many pairs.")] = 30,
    reason: Annotated[Planned | None, Query(description="Pairs of this kind only; a mixture when absent.")] = None,
) -> Plan:
    """None of them has a review yet. Half are an audit (drawn by chance: the estimate rests on them), a quarter those
    where the networks disagree most, and a quarter those nearest to the cut on both sides."""
    return reviews.plan(session, key, id, limit, reason)


@router.get("/runs/{id}/review-estimate", operation_id="estimateByReviews", summary="Precision and recall by audits")
def estimate(
    id: UUID,
    key: ReadKey,
    session: SessionDep,
    min_confidence: Annotated[
        float | None, Query(ge=0, le=1, description="A cut of your own; the run's when absent.")
    ] = None,
) -> Estimate:
    """A second estimate beside the calibration, from labels: only pairs drawn by chance count, so it holds for any
    cut. Intervals are exact."""
    return estimate_of(session, key, id, min_confidence)


def _view(review: Row) -> Review:
    fields = {name: getattr(review, name) for name in Review.model_fields}
    return Review.model_validate(fields | {"uid": review.uid.hex})
