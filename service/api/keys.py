"""API keys of the caller's workspace, for keys with the scope `admin`."""

from uuid import UUID

from fastapi import APIRouter

from service import keys, schemas, views
from service.db.tables import Workspace
from service.deps import AdminKey, SessionDep
from service.problems import not_found

router = APIRouter(prefix="/v1/keys", tags=["keys"])


@router.post("", status_code=201, operation_id="createKey", summary="Make a key; its secret is shown once")
def create(body: schemas.KeyCreate, key: AdminKey, session: SessionDep) -> schemas.NewKey:
    """Of your own workspace. `write` includes `read`, `admin` includes both."""
    workspace = session.get_one(Workspace, key.workspace_id)
    made, secret = keys.create_key(session, body.name, body.scopes, workspace=workspace.name, days=body.days)
    session.refresh(made)
    return schemas.NewKey(**views.key_view(made).model_dump(), secret=secret)


@router.get("", operation_id="listKeys", summary="The workspace's keys")
def index(key: AdminKey, session: SessionDep) -> list[schemas.Key]:
    """Expired and revoked ones too; the secrets are nowhere."""
    return [views.key_view(item) for item in keys.list_keys(session, key.workspace_id)]


@router.delete("/{id}", status_code=204, operation_id="revokeKey", summary="Revoke a key at once")
def revoke(id: UUID, key: AdminKey, session: SessionDep) -> None:
    """It stays in the list, with the time it was revoked."""
    if not keys.revoke_key(session, id, key.workspace_id):
        raise not_found("key")
