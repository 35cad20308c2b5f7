"""create_app(): routers, error handlers, lifespan. `uvicorn --factory service.main:create_app` runs it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI
from sqlalchemy import Engine

from service import keys, problems
from service.api import collections, exports, health, pairs, report, reviews, runs, scoring
from service.api import keys as keys_api
from service.config import Settings
from service.db.session import make_engine, transaction
from service.limits import BodyLimit
from service.processes import follow_parent
from service.queue import make_celery
from service.storage import Storage

DESCRIPTION = """Cleans collections of web image-text pairs. The way of a collection:

1. `POST /v1/collections`, then `PUT /v1/collections/{id}/file` with the TSV as the raw body.
2. `POST /v1/collections/{id}/runs` trains on it and judges every pair; poll `GET /v1/runs/{id}`.
3. `GET /v1/runs/{id}/pairs?split=noisy&sort=clean_confidence` shows the flagged mismatches.
4. `POST /v1/runs/{id}/exports` makes the clean subset; download it from `GET /v1/exports/{id}/download`.

Every error is `application/problem+json` with a stable `code` and a `detail` that says what to do."""

PROBLEM_SCHEMA = {
    "type": "object",
    "required": ["type", "title", "status", "code", "detail"],
    "properties": {
        "type": {"type": "string", "examples": ["urn:pairsift:problem:not_found"]},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string"},
        "detail": {"type": "string"},
    },
}


def create_app(settings: Settings | None = None) -> FastAPI:
    settings = settings or Settings()
    responses = {"default": {"description": "Problem", "content": {problems.MEDIA_TYPE: {"schema": PROBLEM_SCHEMA}}}}
    app = FastAPI(
        title="Pairsift",
        version=version("pairsift"),
        description=DESCRIPTION,
        lifespan=lifespan,
        responses=responses,  # type: ignore[arg-type]
    )
    app.state.settings = settings
    app.state.engine = make_engine(settings.required_database_url)
    app.state.celery = make_celery(settings.required_broker_url)
    app.state.storage = Storage(settings.required_storage)
    problems.install(app)
    app.add_middleware(BodyLimit)
    for room in (collections, runs, scoring, pairs, report, reviews, exports, keys_api, health):
        app.include_router(room.router)
    return app


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    state = app.state
    try:
        follow_parent(state.settings)
        state.storage.root.mkdir(parents=True, exist_ok=True)
        if not state.settings.is_loopback:
            _require_key(state.settings, state.engine)
        yield
    finally:
        state.celery.close()
        state.engine.dispose()


def _require_key(settings: Settings, engine: Engine) -> None:
    with transaction(engine) as session:
        if not keys.any_key(session):
            raise RuntimeError(
                f"refusing to listen on {settings.host} without an API key; "
                "make one first: pairsift keys create --scope admin"
            )
