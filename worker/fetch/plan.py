"""What is still to be fetched, each image once however many pairs name it, and the sharing of what was found."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from enum import StrEnum
from uuid import UUID

from sqlalchemy import Connection, Engine, text
from sqlalchemy.orm import Session

from worker.fetch.intake import Outcome
from worker.stages.context import lift_time_limit

# One text that is equal for pairs with the same image, so that the database can join by hash.
_KEY = "coalesce('place ' || {0}.place, 'url ' || {0}.url)"

# Pages from the web come in the order of a hash: neighbours in a file are often of one host, which would be asked for
# nothing else for a while. Files and members are read in their order. WITH HOLD keeps the result on the database's
# disk without a transaction that stays open for days.
_DECLARE = f"""
DECLARE fetch_plan NO SCROLL CURSOR WITH HOLD FOR
SELECT min(p.row), min(p.url), min(p.place), count(*)
FROM pairs p
WHERE p.collection_id = :collection_id
  AND NOT EXISTS (SELECT FROM images i WHERE i.collection_id = p.collection_id AND i.row = p.row)
GROUP BY {_KEY.format("p")}
ORDER BY CASE WHEN min(p.place) IS NULL AND min(p.url) ~* '^https?:' THEN hashtextextended(min(p.url), 0) ELSE 0 END,
  min(p.row)
"""

_SHARE = f"""
INSERT INTO images (collection_id, row, status, error_class, error_message, sha256, width, height)
SELECT p.collection_id, p.row, known.status, known.error_class, known.error_message, known.sha256, known.width,
  known.height
FROM pairs p
JOIN (
  SELECT DISTINCT ON (key) {_KEY.format("q")} AS key, i.*
  FROM images i JOIN pairs q ON q.collection_id = i.collection_id AND q.row = i.row
  WHERE i.collection_id = :collection_id
  ORDER BY key, i.row
) known ON known.key = {_KEY.format("p")}
WHERE p.collection_id = :collection_id
  AND NOT EXISTS (SELECT FROM images i WHERE i.collection_id = p.collection_id AND i.row = p.row)
ON CONFLICT DO NOTHING
"""

# Arrays instead of a thousand rows of parameters: one statement for a page.
_STORE = """
INSERT INTO images (collection_id, row, status, error_class, error_message, sha256, width, height)
SELECT CAST(:collection_id AS uuid), found.*
FROM unnest(
  CAST(:row AS bigint[]), CAST(:status AS text[]), CAST(:error_class AS text[]), CAST(:error_message AS text[]),
  CAST(:sha256 AS bytea[]), CAST(:width AS integer[]), CAST(:height AS integer[])
) AS found
ON CONFLICT DO NOTHING
"""


@dataclass(frozen=True)
class Wanted:
    row: int  # the first of the pairs with this image
    url: str
    place: str | None
    copies: int  # pairs with this image, this one included


class Plan:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def next(self, count: int) -> list[Wanted]:
        """Nothing at the end."""
        with self._connection.begin():
            rows = self._connection.exec_driver_sql(f"FETCH {count:d} FROM fetch_plan")
            return [Wanted(*row) for row in rows]


@contextmanager
def open_plan(engine: Engine, collection_id: UUID) -> Iterator[Plan]:
    with engine.connect() as connection:
        connection.detach()  # closed at the end, and the cursor with it, instead of going back to the pool
        with Session(connection) as session, session.begin():
            lift_time_limit(session)
            session.execute(text(_DECLARE), {"collection_id": collection_id})
        yield Plan(connection)


def share_outcomes(session: Session, collection_id: UUID) -> None:
    """Pairs without an outcome get that of another pair with the same image."""
    lift_time_limit(session)
    session.execute(text(_SHARE), {"collection_id": collection_id})


def store_outcomes(session: Session, collection_id: UUID, found: Sequence[tuple[Wanted, Outcome]]) -> None:
    """Another run of the same collection may fetch at the same time; the first outcome stays."""
    columns: dict[str, list[object]] = {"row": [wanted.row for wanted, _ in found]}
    for field in fields(Outcome):
        values = [getattr(outcome, field.name) for _, outcome in found]
        columns[field.name] = [str(value) if isinstance(value, StrEnum) else value for value in values]
    session.execute(text(_STORE), {"collection_id": collection_id, **columns})
