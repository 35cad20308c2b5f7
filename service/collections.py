"""What the collection endpoints do."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from fastapi.security import HTTPAuthorizationCredentials
from sqlalchemy import Engine, event
from sqlalchemy.orm import Session

from service import queries, schemas, views
from service.db import jobs, submissions
from service.db.bulk import delete_bulk_rows
from service.db.images import forget_failures
from service.db.session import transaction
from service.db.states import CollectionState, Scope
from service.db.tables import ApiKey, Collection
from service.deps import authenticated
from service.problems import conflict
from service.queue import announce
from service.storage import Storage
from service.upload import Received

Credentials = HTTPAuthorizationCredentials | None


def create_collection(session: Session, key: ApiKey, body: schemas.CollectionCreate) -> UUID:
    options = body.model_dump(exclude_none=True, exclude={"name"})
    collection = Collection(workspace_id=key.workspace_id, name=body.name, read_options=options)
    session.add(collection)
    session.flush()
    if body.folder is not None:  # nothing to wait for: the worker reads it where it lies
        collection.state, collection.file_name = CollectionState.INGESTING, Path(body.folder).name
        submissions.submit_ingest(session, collection)
    return collection.id


def authorize_upload(engine: Engine, credentials: Credentials, id: UUID) -> None:
    """Before the body is read: nobody may send gigabytes only to hear no. Holds no transaction meanwhile."""
    with transaction(engine) as session:
        _open_for_upload(session, credentials, id)


def accept_file(
    state: Any, credentials: Credentials, id: UUID, received: Received, name: str | None
) -> schemas.Collection:
    """The file takes its place and its ingest is submitted in one transaction. Of two uploads at once, one wins."""
    try:
        with transaction(state.engine) as session:
            collection = _open_for_upload(session, credentials, id, lock=True)
            collection.state, collection.error = CollectionState.INGESTING, None
            collection.file_name = Path(name).name if name else None
            collection.file_bytes, collection.file_sha256 = received.size, received.sha256
            submissions.submit_ingest(session, collection)
            received.keep_as(state.storage.upload(id))
            view = views.collection_view(collection, {})
    except BaseException:
        received.drop()
        raise
    announce(state.celery, state.engine, jobs.take_wakeups(session))
    return view


def delete_collection(session: Session, key: ApiKey, id: UUID, storage: Storage) -> None:
    collection = queries.get_owned(session, Collection, id, key.workspace_id, lock=True)
    busy = queries.running_stage(session, id)
    if busy is not None:
        detail = f"A worker is busy with its stage '{busy}'; cancel its runs or wait, then delete it."
        raise conflict("collection_busy", "The collection is in use", detail)
    runs, exports = queries.ids_below(session, collection.id)
    session.delete(collection)
    session.flush()  # its stages first: a worker that ends one now finds it gone, and writes nothing
    delete_bulk_rows(session, id, runs)
    files = [storage.upload(id), *map(storage.export, exports)]
    folders = [storage.unpacked(id), *map(storage.run, runs)]
    event.listen(session, "after_commit", lambda _: _remove(files, folders), once=True)


def retry_images(session: Session, key: ApiKey, id: UUID, body: schemas.RetryImages) -> schemas.Retried:
    """What failed is forgotten, so that the next run tries it again; what arrived is kept."""
    collection = queries.get_owned(session, Collection, id, key.workspace_id, lock=True)
    return schemas.Retried(forgotten=forget_failures(session, collection.id, body.classes))


def _remove(files: Sequence[Path], folders: Sequence[Path]) -> None:
    """Only when the rows are gone for good."""
    for file in files:
        file.unlink(missing_ok=True)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def _open_for_upload(session: Session, credentials: Credentials, id: UUID, *, lock: bool = False) -> Collection:
    key = authenticated(session, credentials, Scope.WRITE)
    collection = queries.get_owned(session, Collection, id, key.workspace_id, lock=lock)
    if collection.state not in (CollectionState.EMPTY, CollectionState.FAILED):
        detail = f"The collection is '{collection.state}' with a file already; make a new collection for another file."
        raise conflict("file_exists", "The collection has its file", detail)
    return collection
