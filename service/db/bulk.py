"""Deleting from the tables that have no foreign key. What writes to them ends its stage in the same transaction, and
the stage of a deleted collection is gone, so nothing can come after."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import delete
from sqlalchemy.orm import Session

from service.db.tables import Explanation, Pair, Score


def delete_bulk_rows(session: Session, collection_id: UUID, run_ids: Sequence[UUID]) -> None:
    session.execute(delete(Score).where(Score.run_id.in_(run_ids)))
    session.execute(delete(Explanation).where(Explanation.run_id.in_(run_ids)))
    session.execute(delete(Pair).where(Pair.collection_id == collection_id))
