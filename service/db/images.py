"""Images that failed, forgotten so that the next run tries them again."""

from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

from sqlalchemy import CursorResult, delete
from sqlalchemy.orm import Session

from service.db.states import ImageStatus
from service.db.tables import Image


def forget_failures(session: Session, collection_id: UUID, classes: Sequence[str] | None = None) -> int:
    """How many rows were forgotten; of these classes only, where some are named."""
    failed = delete(Image).where(Image.collection_id == collection_id, Image.status == ImageStatus.FAILED)
    if classes is not None:
        failed = failed.where(Image.error_class.in_(classes))
    return cast("CursorResult[Any]", session.execute(failed)).rowcount
