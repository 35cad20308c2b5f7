"""Steps of the state machine for its tests, each in one transaction. Time passes by UPDATE, never by waiting."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from sqlalchemy import Engine, select, text, update

from service.db import jobs, submissions
from service.db.session import transaction
from service.db.states import CollectionState
from service.db.tables import Export, Run, Stage
from tests.factories import make_collection, make_run, publish_run

LEASE = 60.0
CRASH = jobs.problem("crashed", "It crashed", "ValueError: no luck")


def new_run(engine: Engine, state: CollectionState = CollectionState.READY) -> UUID:
    with transaction(engine) as session:
        return make_run(session, make_collection(session, state=state)).id


def new_ingest(engine: Engine) -> UUID:
    with transaction(engine) as session:
        collection = make_collection(session, state=CollectionState.INGESTING)
        submissions.submit_ingest(session, collection)
        return collection.id


def new_export(engine: Engine) -> UUID:
    with transaction(engine) as session:
        run = publish_run(session, make_collection(session, 1), {1: 0.9})
        export = Export(workspace_id=run.workspace_id, run_id=run.id, format="tsv", filter={})
        session.add(export)
        session.flush()
        submissions.submit_export(session, export, run.collection_id)
        return export.id


def get(engine: Engine, table: type[Any], key: Any) -> Any:
    with transaction(engine) as session:
        return session.get_one(table, key)


def stages(engine: Engine, *conditions: Any) -> list[Stage]:
    with transaction(engine) as session:
        return list(session.scalars(select(Stage).where(*conditions).order_by(Stage.position, Stage.id)))


def states(engine: Engine, run_id: UUID) -> list[str]:
    return [stage.state for stage in stages(engine, Stage.run_id == run_id)]


def first_stage(engine: Engine, run_id: UUID) -> int:
    return stages(engine, Stage.run_id == run_id)[0].id


def claim(engine: Engine, stage_id: int, owner: str = "worker") -> jobs.Claim | None:
    with transaction(engine) as session:
        return jobs.claim(session, stage_id, owner, LEASE)


def claimed(engine: Engine, stage_id: int) -> jobs.Claim:
    taken = claim(engine, stage_id)
    assert taken is not None
    return taken


def do(engine: Engine, action: Callable[..., Any], *arguments: Any) -> Any:
    """One transition in one transaction."""
    with transaction(engine) as session:
        return action(session, *arguments)


def expire(engine: Engine, stage_id: int) -> None:
    with transaction(engine) as session:
        past = text("now() - interval '1 second'")
        session.execute(update(Stage).where(Stage.id == stage_id).values(lease_until=past))


def cancel(engine: Engine, run_id: UUID) -> None:
    with transaction(engine) as session:
        submissions.cancel_run(session, session.get_one(Run, run_id, with_for_update=True))


def resume(engine: Engine, run_id: UUID) -> None:
    with transaction(engine) as session:
        submissions.resume_run(session, session.get_one(Run, run_id, with_for_update=True))


def advance(engine: Engine, run_id: UUID, count: int) -> jobs.Claim:
    """Finish the first `count` stages and claim the one after them."""
    listed = stages(engine, Stage.run_id == run_id)
    for stage in listed[:count]:
        do(engine, jobs.finish, claimed(engine, stage.id))
    return claimed(engine, listed[count].id)
