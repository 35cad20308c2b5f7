"""Collections: make one, stream its file in, see what became of every line."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.security import HTTPAuthorizationCredentials

from service import cursor, queries, schemas, views
from service.collections import accept_file, authorize_upload, create_collection, delete_collection, retry_images
from service.db.tables import Collection
from service.deps import IdempotencyHeader, Limit, PageCursor, ReadKey, SessionDep, WriteKey, bearer, once
from service.upload import receive, refuse_too_large

router = APIRouter(prefix="/v1/collections", tags=["collections"])


@router.post("", status_code=201, operation_id="createCollection", summary="Make an empty collection")
def create(
    body: schemas.CollectionCreate,
    key: WriteKey,
    session: SessionDep,
    response: Response,
    idempotency_key: IdempotencyHeader = None,
) -> schemas.Collection:
    """Say here how its file is to be read, where that should not be detected; then send the file. With `folder` there
    is nothing to send: poll the collection until it is `ready`."""
    id = once(
        session, key, idempotency_key, "POST /v1/collections", body, lambda: create_collection(session, key, body)
    )
    response.headers["Location"] = f"/v1/collections/{id}"
    return _view(session, key, id)


@router.get("", operation_id="listCollections", summary="Your collections, newest first")
def index(
    key: ReadKey,
    session: SessionDep,
    limit: Limit = 100,
    cursor_: PageCursor = None,
) -> schemas.Page[schemas.Collection]:
    """The images of each are counted only in the answer for one collection."""
    before = cursor.decode("collections", cursor_, cursor.moment, cursor.identity) if cursor_ else None
    found = queries.newest_first(session, Collection, key.workspace_id, limit + 1, before)
    page, last = cursor.cut(found, limit)
    following = cursor.encode("collections", last.created_at.isoformat(), str(last.id)) if last else None
    return schemas.Page(items=[views.collection_view(item, {}) for item in page], next=following)


@router.get("/{id}", operation_id="getCollection", summary="State, counts by reason, detected columns")
def get(id: UUID, key: ReadKey, session: SessionDep) -> schemas.Collection:
    """Poll it after an upload: `ingesting` becomes `ready`, or `failed` with the reason in `error`."""
    return _view(session, key, id)


@router.delete("/{id}", status_code=204, operation_id="deleteCollection", summary="Delete it with all its runs")
def delete(id: UUID, key: WriteKey, session: SessionDep, request: Request) -> None:
    """Its pairs, scores, exports and files go too. Refused while a worker is busy with it."""
    delete_collection(session, key, id, request.app.state.storage)


@router.put(
    "/{id}/file",
    status_code=202,
    operation_id="uploadFile",
    summary="Stream the file in",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "text/tab-separated-values": {"schema": {"type": "string", "format": "binary"}},
                "application/gzip": {"schema": {"type": "string", "format": "binary"}},
                "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
            },
        }
    },
)
async def upload(
    id: UUID,
    request: Request,
    response: Response,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
    content_digest: Annotated[
        str | None, Header(description="RFC 9530, e.g. `sha-256=:base64:`; checked when given.")
    ] = None,
    file_name: Annotated[
        schemas.Text | None, Query(max_length=200, description="For people; the content decides what it is.")
    ] = None,
) -> schemas.Collection:
    """The raw body is the file: TSV, CSV or JSONL (plain, gz or zst), Parquet, WebDataset, or a tar or zip of a folder
    in any of the other formats. It is read in the background; poll the collection until it is `ready` or `failed`."""
    state = request.app.state
    await run_in_threadpool(authorize_upload, state.engine, credentials, id)
    refuse_too_large(request.headers.get("Content-Length"), state.settings.max_upload_bytes)
    received = await receive(
        request.stream(), state.storage.upload(id), state.settings.max_upload_bytes, content_digest
    )
    view = await run_in_threadpool(accept_file, state, credentials, id, received, file_name)
    response.headers["Location"] = f"/v1/collections/{id}"
    response.headers["Retry-After"] = "1"
    return view


@router.get("/{id}/rejects", operation_id="listRejects", summary="The rejected lines, with reasons")
def rejects(
    id: UUID,
    key: ReadKey,
    session: SessionDep,
    limit: Limit = 100,
    cursor_: PageCursor = None,
) -> schemas.Page[schemas.Reject]:
    """Every line of the file that is no pair is here, in file order."""
    collection = queries.get_owned(session, Collection, id, key.workspace_id)
    after = cursor.decode(f"rejects {id}", cursor_, cursor.whole)[0] if cursor_ else 0
    page, last = cursor.cut(queries.rejects(session, collection.id, after, limit + 1), limit)
    following = cursor.encode(f"rejects {id}", last.row) if last else None
    items = [schemas.Reject.model_validate(item, from_attributes=True) for item in page]
    return schemas.Page(items=items, next=following)


@router.post("/{id}/images/retry", operation_id="retryImages", summary="Try failed images again in the next run")
def retry(id: UUID, body: schemas.RetryImages, key: WriteKey, session: SessionDep) -> schemas.Retried:
    """Dead links come back, and hosts that limited us calm down. Start a run afterwards; scores that are published
    stay as they are."""
    return retry_images(session, key, id, body)


def _view(session: SessionDep, key: ReadKey, id: UUID) -> schemas.Collection:
    collection = queries.get_owned(session, Collection, id, key.workspace_id)
    return views.collection_view(collection, queries.image_counts(session, id))
