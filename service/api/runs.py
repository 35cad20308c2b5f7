"""Runs: start one, follow it, cancel it, resume it."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Response

from service import cursor, queries, runs, schemas, views
from service.db.tables import Collection, Run
from service.deps import IdempotencyHeader, PageCursor, ReadKey, SessionDep, WriteKey, once
from service.options import describe_options

router = APIRouter(prefix="/v1", tags=["runs"])

POLL_SECONDS = "2"


@router.get("/methods", operation_id="listMethods", summary="Methods, backbones and encoders with their options")
def methods(_: ReadKey) -> dict[str, Any]:
    """What may be given when a run is started, with defaults and ranges."""
    return describe_options()


@router.post("/collections/{id}/runs", status_code=202, operation_id="startRun", summary="Start a run")
def create(
    id: UUID,
    body: schemas.RunCreate,
    key: WriteKey,
    session: SessionDep,
    response: Response,
    idempotency_key: IdempotencyHeader = None,
) -> schemas.Run:
    """Accepted also while the file is still being read: the run then starts by itself. Poll `Location`."""
    request = f"POST /v1/collections/{id}/runs"
    run_id = once(session, key, idempotency_key, request, body, lambda: runs.create_run(session, key, id, body))
    response.headers["Location"] = f"/v1/runs/{run_id}"
    response.headers["Retry-After"] = POLL_SECONDS
    return _view(session, queries.get_owned(session, Run, run_id, key.workspace_id))


@router.get("/collections/{id}/runs", operation_id="listRuns", summary="Runs of a collection, newest first")
def index(
    id: UUID,
    key: ReadKey,
    session: SessionDep,
    limit: Annotated[int, Query(ge=1, le=100, description="How many on a page.")] = 20,
    cursor_: PageCursor = None,
) -> schemas.Page[schemas.Run]:
    """Every run has its own scores; a later one changes nothing of those before it."""
    collection = queries.get_owned(session, Collection, id, key.workspace_id)
    kind = f"runs {id}"
    before = cursor.decode(kind, cursor_, cursor.moment, cursor.identity) if cursor_ else None
    found = queries.newest_first(session, Run, key.workspace_id, limit + 1, before, Run.collection_id == collection.id)
    page, last = cursor.cut(found, limit)
    following = cursor.encode(kind, last.created_at.isoformat(), str(last.id)) if last else None
    return schemas.Page(items=[_view(session, run) for run in page], next=following)


@router.get("/runs/{id}", operation_id="getRun", summary="State, stage, progress and ETA")
def get(id: UUID, key: ReadKey, session: SessionDep, response: Response) -> schemas.Run:
    """Poll it as often as `Retry-After` says; the header is absent when the run has ended."""
    view = _view(session, queries.get_owned(session, Run, id, key.workspace_id))
    if view.finished_at is None:
        response.headers["Retry-After"] = POLL_SECONDS
    return view


@router.post("/runs/{id}/cancel", status_code=202, operation_id="cancelRun", summary="Stop a run")
def cancel(id: UUID, key: WriteKey, session: SessionDep) -> schemas.Run:
    """What is trained so far is kept; the run can be resumed."""
    return _view(session, runs.cancel(session, key, id))


@router.post("/runs/{id}/resume", status_code=202, operation_id="resumeRun", summary="Go on with a stopped run")
def resume(id: UUID, key: WriteKey, session: SessionDep) -> schemas.Run:
    """For failed and cancelled runs: finished stages are kept, training goes on from its last checkpoint."""
    return _view(session, runs.resume(session, key, id))


def _view(session: SessionDep, run: Run) -> schemas.Run:
    return views.run_view(run, queries.stages(session, run.id))
