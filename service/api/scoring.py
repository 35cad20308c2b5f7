"""New pairs, judged by a run that exists."""

from uuid import UUID

from fastapi import APIRouter, Response

from service import queries, schemas, scoring, views
from service.api.runs import POLL_SECONDS
from service.db.tables import Run
from service.deps import IdempotencyHeader, SessionDep, WriteKey, once

router = APIRouter(prefix="/v1", tags=["runs"])


@router.post("/runs/{id}/score", status_code=202, operation_id="scoreWithRun", summary="Judge new pairs with a run")
def create(
    id: UUID,
    body: scoring.ScoreCreate,
    key: WriteKey,
    session: SessionDep,
    response: Response,
    idempotency_key: IdempotencyHeader = None,
) -> schemas.Run:
    """Makes a run on the given collection that trains nothing: its pairs are judged with the networks of run `id`. From
    100 pairs on the new pairs are calibrated among themselves, with mismatches made of them; below that the calibration
    of run `id` is used. Poll `Location`; `summary.drift` then says whether the new pairs look like those that were
    learned from. A run that cannot judge new pairs is refused with the reason."""
    request = f"POST /v1/runs/{id}/score"
    run_id = once(session, key, idempotency_key, request, body, lambda: scoring.score_with(session, key, id, body))
    response.headers["Location"] = f"/v1/runs/{run_id}"
    response.headers["Retry-After"] = POLL_SECONDS
    run = queries.get_owned(session, Run, run_id, key.workspace_id)
    return views.run_view(run, queries.stages(session, run.id))
