"""Liveness and readiness; open to everybody, and telling nothing about the data."""

import os
from typing import Any

from fastapi import APIRouter, Request
from redis import Redis
from redis.exceptions import RedisError
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from service.problems import Problem

router = APIRouter(tags=["health"])


@router.get("/healthz", operation_id="isAlive", summary="The process is alive")
def alive() -> dict[str, str]:
    """Says nothing of what the process depends on."""
    return {"status": "ok"}


@router.get("/readyz", operation_id="isReady", summary="The database and the storage folder can be used")
def ready(request: Request) -> dict[str, Any]:
    """A broker that is down does not make the service unready: what is accepted is kept in PostgreSQL and
    announced later. It is shown as `broker: down`."""
    state = request.app.state
    try:
        with state.engine.connect() as connection:
            connection.execute(text("SELECT version_num FROM alembic_version"))
    except SQLAlchemyError as error:
        detail = "The database does not answer or has no tables yet; `pairsift migrate` makes them."
        raise Problem(503, "not_ready", "Not ready", detail) from error
    if not os.access(state.storage.root, os.R_OK | os.W_OK | os.X_OK) or not state.storage.root.is_dir():
        raise Problem(503, "not_ready", "Not ready", "The storage folder is not there or cannot be written to.")
    return {
        "status": "ok",
        "database": "up",
        "broker": "up" if _broker_is_up(state.settings.broker_url) else "down",
    }


def _broker_is_up(url: str) -> bool:
    try:
        with Redis.from_url(url, socket_timeout=1, socket_connect_timeout=1) as client:
            return bool(client.ping())
    except (RedisError, OSError):
        return False
