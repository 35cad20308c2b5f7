"""Annotated dependencies: the session, the caller's key with a scope, and small parameters."""

import hashlib
import json
from collections.abc import Callable, Iterator
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Header, Query, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from service import keys
from service.db import jobs
from service.db.session import transaction
from service.db.states import Scope
from service.db.tables import ApiKey, IdempotencyKey
from service.problems import Problem, conflict
from service.queue import announce

bearer = HTTPBearer(
    auto_error=False,
    scheme_name="API key",
    description="A key made with `pairsift keys create`: `Bearer psk_...`",
)


def get_session(request: Request) -> Iterator[Session]:
    """One transaction per request, committed before the response leaves; then the wake-ups are sent."""
    state = request.app.state
    with transaction(state.engine) as session:
        yield session
    announce(state.celery, state.engine, jobs.take_wakeups(session))


# scope="function": the commit must be done when the client reads the answer.
SessionDep = Annotated[Session, Depends(get_session, scope="function")]


def authenticated(session: Session, credentials: HTTPAuthorizationCredentials | None, scope: Scope) -> ApiKey:
    key = keys.find_key(session, credentials.credentials) if credentials else None
    if key is None:
        detail = "Send a valid key as `Authorization: Bearer psk_...`; it may have expired or been revoked."
        problem = Problem(401, "unauthorized", "No valid API key", detail)
        problem.headers["WWW-Authenticate"] = "Bearer"
        raise problem
    if not keys.allows(key, scope):
        detail = f"This call needs a key with the scope '{scope}'; yours has: {', '.join(key.scopes)}."
        raise Problem(403, "forbidden", "The key does not allow this", detail)
    return key


def _requires(scope: Scope) -> Callable[..., ApiKey]:
    def check(
        session: SessionDep, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]
    ) -> ApiKey:
        return authenticated(session, credentials, scope)

    return check


ReadKey = Annotated[ApiKey, Depends(_requires(Scope.READ))]
WriteKey = Annotated[ApiKey, Depends(_requires(Scope.WRITE))]
AdminKey = Annotated[ApiKey, Depends(_requires(Scope.ADMIN))]

Limit = Annotated[int, Query(ge=1, le=1000, description="How many on a page.")]
PageCursor = Annotated[str | None, Query(alias="cursor", description="The `next` of the page before.")]
IdempotencyHeader = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        max_length=200,
        description="Any unique string. The same request again with the same key makes nothing new.",
    ),
]


def once(
    session: Session,
    key: ApiKey,
    idempotency_key: str | None,
    request: str,
    body: BaseModel,
    make: Callable[[], UUID],
) -> UUID:
    """Run `make` once for this Idempotency-Key; afterwards return what it made. Another body is a conflict."""
    if idempotency_key is None:
        return make()
    # Two requests with one key at the same time: the second waits here until the first has committed.
    lock = func.hashtextextended(f"{key.workspace_id} {idempotency_key}", 0)
    session.execute(select(func.pg_advisory_xact_lock(lock)))
    fingerprint = hashlib.sha256(
        f"{request} {json.dumps(body.model_dump(mode='json'), sort_keys=True)}".encode()
    ).digest()
    known = session.get(IdempotencyKey, (key.workspace_id, idempotency_key))
    if known is None:
        made = make()
        row = IdempotencyKey(
            workspace_id=key.workspace_id, key=idempotency_key, fingerprint=fingerprint, resource_id=made
        )
        session.add(row)
        return made
    if known.fingerprint != fingerprint:
        detail = "This Idempotency-Key was used for another request; use a new one."
        raise conflict("idempotency_key_reused", "Idempotency-Key used before", detail)
    return known.resource_id
