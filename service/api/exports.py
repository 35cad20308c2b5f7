"""Exports: a job that makes a file, and its download."""

from uuid import UUID

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse

from service import queries, runs, schemas, views
from service.db.states import JobState
from service.db.tables import Export
from service.deps import IdempotencyHeader, ReadKey, SessionDep, WriteKey, once
from service.download import file_response
from service.problems import conflict

router = APIRouter(prefix="/v1", tags=["exports"])

MEDIA_TYPES = {
    "tsv": "text/tab-separated-values; charset=utf-8",
    "jsonl": "application/jsonl",
    "parquet": "application/vnd.apache.parquet",
    "weights": "text/tab-separated-values; charset=utf-8",
}


@router.post("/runs/{id}/exports", status_code=202, operation_id="startExport", summary="Make a file of pairs")
def create(
    id: UUID,
    body: schemas.ExportCreate,
    key: WriteKey,
    session: SessionDep,
    response: Response,
    idempotency_key: IdempotencyHeader = None,
) -> schemas.Export:
    """Takes the filters of `listPairs`; the pages put together are the file. Poll `Location`, then download."""
    request = f"POST /v1/runs/{id}/exports"
    export_id = once(session, key, idempotency_key, request, body, lambda: runs.create_export(session, key, id, body))
    response.headers["Location"] = f"/v1/exports/{export_id}"
    response.headers["Retry-After"] = "1"
    return _view(session, queries.get_owned(session, Export, export_id, key.workspace_id))


@router.get("/exports/{id}", operation_id="getExport", summary="State, rows and sha256 of an export")
def get(id: UUID, key: ReadKey, session: SessionDep) -> schemas.Export:
    """Poll it until `download` is there; `error` says why when it failed."""
    return _view(session, queries.get_owned(session, Export, id, key.workspace_id))


@router.get(
    "/exports/{id}/download",
    operation_id="downloadExport",
    summary="The file",
    response_class=FileResponse,
    responses={206: {"description": "The range that was asked for"}, 304: {"description": "You have it already"}},
)
def download(id: UUID, key: ReadKey, session: SessionDep, request: Request) -> Response:
    """Supports Range; the ETag is the sha256 of the file."""
    export = queries.get_owned(session, Export, id, key.workspace_id)
    if export.state != JobState.SUCCEEDED:
        detail = f"The export is '{export.state}'; poll GET /v1/exports/{id} until it has succeeded."
        raise conflict("export_not_ready", "The file is not ready", detail)
    path = request.app.state.storage.export(id)
    ending = "weights.tsv" if export.format == "weights" else export.format
    part = "corrected" if export.filter.get("corrected") else export.filter.get("split", "all")
    name = f"pairsift-{export.run_id}-{part}.{ending}"
    return file_response(request, path, export.sha256 or "", MEDIA_TYPES[export.format], name)


def _view(session: SessionDep, export: Export) -> schemas.Export:
    return views.export_view(export, queries.export_stage(session, export.id))
