"""What the review endpoints do: store what people say of pairs, and plan what they should look at next."""

from collections.abc import Sequence
from itertools import chain, zip_longest
from typing import Any
from uuid import UUID

from sqlalchemy import Row
from sqlalchemy.orm import Session

from service import queries
from service.db import reviews
from service.db.states import JobState, ReviewReason
from service.db.tables import ApiKey, Collection, Review, Run
from service.problems import conflict, not_found, unusable
from service.schemas_reviews import Plan, Planned, Proposal, ReviewBatch, ReviewGiven


def put_review(session: Session, key: ApiKey, run_id: UUID, uid: str, given: ReviewGiven) -> Review:
    run = _reviewable(session, key, run_id)
    if not reviews.known_uids(session, run.collection_id, [UUID(uid)]):
        raise not_found("pair")
    [stored] = reviews.store(session, [_values(run, key, uid, given)])
    return stored


def put_reviews(session: Session, key: ApiKey, run_id: UUID, batch: ReviewBatch) -> int:
    """All of them or none."""
    run = _reviewable(session, key, run_id)
    uids = [UUID(given.uid) for given in batch.reviews]
    known = reviews.known_uids(session, run.collection_id, uids)
    first = {uid: place for place, uid in reversed(list(enumerate(uids)))}
    errors = []
    for place, uid in enumerate(uids):
        message = "is no pair of this collection" if uid not in known else None
        message = f"is also the pair of reviews.{first[uid]}" if first[uid] != place else message
        if message:
            errors.append({"field": f"reviews.{place}.uid", "message": message})
    if errors:
        detail = "; ".join(f"{error['field']}: {error['message']}" for error in errors[:10])
        raise unusable("invalid_reviews", "Nothing was stored", detail, errors=errors)
    if batch.dry_run:
        return 0
    values = [_values(run, key, given.uid, given) for given in batch.reviews]
    return len(reviews.store(session, values))


def get_review(session: Session, key: ApiKey, run_id: UUID, uid: str) -> Review:
    run = queries.get_owned(session, Run, run_id, key.workspace_id)
    found = session.get(Review, (run.collection_id, UUID(uid)))
    if found is None:
        raise not_found("review")
    return found


def delete_review(session: Session, key: ApiKey, run_id: UUID, uid: str) -> None:
    run = queries.get_owned(session, Run, run_id, key.workspace_id)
    if not reviews.remove(session, run.collection_id, UUID(uid)):
        raise not_found("review")


def plan(session: Session, key: ApiKey, run_id: UUID, limit: int, only: Planned | None) -> Plan:
    """Half of them drawn by chance, a quarter in dispute, the rest near the cut; every pair once."""
    run = published(session, key, run_id)
    audits = {None: (limit + 1) // 2, ReviewReason.AUDIT: limit}.get(only, 0)
    disputed = {None: (limit - audits + 1) // 2, ReviewReason.DISAGREEMENT: limit}.get(only, 0)
    chosen: dict[UUID, Proposal] = {}
    if audits:
        _add(chosen, audits, reviews.by_chance(session, run, audits), ReviewReason.AUDIT, _BY_CHANCE)
    if disputed:
        found = reviews.most_disputed(session, run, len(chosen) + disputed)
        _add(chosen, len(chosen) + disputed, found, ReviewReason.DISAGREEMENT, _DISPUTED)
    if only in (None, ReviewReason.NEAR_CUT):
        cut: float = (run.summary or {})["threshold"]
        sides = (reviews.nearest_above(session, run, cut, limit), reviews.nearest_below(session, run, cut, limit))
        found = [row for row in chain(*zip_longest(*sides)) if row is not None]
        _add(chosen, limit, found, ReviewReason.NEAR_CUT, _NEAR_CUT, cut=cut)
    return Plan(items=list(chosen.values()))


def published(session: Session, key: ApiKey, run_id: UUID) -> Run:
    run = queries.get_owned(session, Run, run_id, key.workspace_id)
    if run.state != JobState.SUCCEEDED:
        detail = f"The run is '{run.state}'; its pairs can be reviewed once it has succeeded."
        raise conflict("run_not_published", "There are no scores yet", detail)
    return run


_BY_CHANCE = "Drawn by chance from all scored pairs; estimates rest on these."
_DISPUTED = "The two networks disagree: {confidence_a:.2f} and {confidence_b:.2f}."
_NEAR_CUT = "Its confidence of {clean_confidence:.3f} is close to the cut at {cut:.3f}."


def _add(
    chosen: dict[UUID, Proposal], limit: int, found: Sequence[Row[Any]], reason: ReviewReason, why: str, **words: float
) -> None:
    for row in found:
        if row.uid not in chosen and len(chosen) < limit:
            fields = row._asdict()
            named = fields | {"uid": row.uid.hex, "reason": reason, "why": why.format(**fields, **words)}
            chosen[row.uid] = Proposal.model_validate(named)


def _reviewable(session: Session, key: ApiKey, run_id: UUID) -> Run:
    run = published(session, key, run_id)
    # Whoever deletes the collection waits for this, and after them there is nothing to review.
    queries.get_owned(session, Collection, run.collection_id, key.workspace_id, lock=True)
    return run


def _values(run: Run, key: ApiKey, uid: str, given: ReviewGiven) -> dict[str, Any]:
    return {
        "collection_id": run.collection_id,
        "uid": UUID(uid),
        "run_id": run.id,
        "verdict": given.verdict,
        "reason": given.reason,
        "note": given.note,
        "reviewer": given.reviewer or key.name,
    }
