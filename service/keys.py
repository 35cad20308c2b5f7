"""API keys: 256 random bits, shown once, stored hashed. (A plain sha256 suffices for random keys: there is
nothing to guess.)"""

import hashlib
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from service.db.states import Scope
from service.db.tables import ApiKey, Workspace

PREFIX = "psk_"
DEFAULT_WORKSPACE = "default"
# What a scope includes besides itself.
INCLUDED = {Scope.READ: {Scope.READ}, Scope.WRITE: {Scope.READ, Scope.WRITE}, Scope.ADMIN: set(Scope)}


def digest_of(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def create_key(
    session: Session,
    name: str,
    scopes: Sequence[Scope],
    *,
    workspace: str = DEFAULT_WORKSPACE,
    days: int | None = None,
    secret: str | None = None,
) -> tuple[ApiKey, str]:
    """A new key and its secret, which is not to be had again. The workspace is made when there is none."""
    session.execute(insert(Workspace).values(name=workspace, id=uuid4()).on_conflict_do_nothing())
    workspace_id = session.scalars(select(Workspace.id).where(Workspace.name == workspace)).one()
    secret = secret or PREFIX + secrets.token_urlsafe(32)
    key = ApiKey(
        workspace_id=workspace_id,
        name=name,
        hint=secret[:12],
        digest=digest_of(secret),
        scopes=[str(scope) for scope in scopes],
        expires_at=datetime.now(UTC) + timedelta(days=days) if days else None,
    )
    session.add(key)
    session.flush()
    return key, secret


def find_key(session: Session, secret: str) -> ApiKey | None:
    """The key in force for this secret."""
    return session.scalars(select(ApiKey).where(ApiKey.digest == digest_of(secret), _in_force())).one_or_none()


def list_keys(session: Session, workspace_id: UUID | None = None) -> Sequence[ApiKey]:
    keys = select(ApiKey).order_by(ApiKey.created_at)
    return session.scalars(keys.where(ApiKey.workspace_id == workspace_id) if workspace_id else keys).all()


def revoke_key(session: Session, key_id: UUID, workspace_id: UUID | None = None) -> bool:
    key = session.get(ApiKey, key_id)
    if key is None or (workspace_id is not None and key.workspace_id != workspace_id):
        return False
    key.revoked_at = key.revoked_at or func.now()
    return True


def allows(key: ApiKey, scope: Scope) -> bool:
    return any(scope in INCLUDED[Scope(own)] for own in key.scopes)


def any_key(session: Session) -> bool:
    return session.scalar(select(ApiKey.id).where(_in_force()).limit(1)) is not None


def _in_force() -> ColumnElement[bool]:
    return ApiKey.revoked_at.is_(None) & or_(ApiKey.expires_at.is_(None), ApiKey.expires_at > func.now())
