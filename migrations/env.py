"""Runs migrations over one connection, with a lock so that two starts at once do it once."""

from alembic import context
from sqlalchemy import Connection, text

from service.config import Settings
from service.db import tables
from service.db.session import make_engine

# Two processes that migrate at the same time wait for each other on this advisory lock.
MIGRATION_LOCK = 7_120_001


def migrate(connection: Connection) -> None:
    context.configure(connection=connection, target_metadata=tables.Base.metadata, compare_type=True)
    with context.begin_transaction():
        # Waiting for another migration may take long; waiting for a table in use would stop all its readers.
        connection.execute(text("SET LOCAL statement_timeout = 0"))
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": MIGRATION_LOCK})
        connection.execute(text("SET LOCAL lock_timeout = '10s'"))
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    migrate(given)
else:
    with make_engine(Settings().required_database_url).connect() as connection:
        migrate(connection)
