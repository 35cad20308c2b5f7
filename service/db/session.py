"""The engine, and one transaction at a time."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine, create_engine
from sqlalchemy.orm import Session

# A request that takes longer than this is a fault; stages lift the limit for their bulk work.
STATEMENT_TIMEOUT_MS = 30_000
IDLE_IN_TRANSACTION_TIMEOUT_MS = 60_000


def make_engine(url: str, *, pool_size: int = 10) -> Engine:
    options = (
        f"-c statement_timeout={STATEMENT_TIMEOUT_MS} "
        f"-c idle_in_transaction_session_timeout={IDLE_IN_TRANSACTION_TIMEOUT_MS} -c timezone=UTC"
    )
    return create_engine(
        url,
        pool_pre_ping=True,
        pool_size=pool_size,
        max_overflow=20,
        connect_args={"options": options, "connect_timeout": 10},
    )


@contextmanager
def transaction(engine: Engine) -> Iterator[Session]:
    """Commit at the end, roll back on any exception."""
    with Session(engine, expire_on_commit=False) as session, session.begin():
        yield session
