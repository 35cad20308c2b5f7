"""Every error leaves as application/problem+json (RFC 9457), validation and unknown paths included."""

import json
import logging
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from sqlalchemy.exc import InterfaceError, OperationalError
from starlette.exceptions import HTTPException

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"


class Problem(Exception):
    """Raised anywhere below an endpoint; `code` is stable for programs, `detail` is for people."""

    def __init__(self, status: int, code: str, title: str, detail: str, **members: Any) -> None:
        super().__init__(detail)
        self.status, self.code, self.title, self.detail, self.members = status, code, title, detail, members
        self.headers: dict[str, str] = {}


def not_found(what: str) -> Problem:
    return Problem(404, "not_found", "Not found", f"There is no such {what} in your workspace.")


def conflict(code: str, title: str, detail: str) -> Problem:
    return Problem(409, code, title, detail)


def unusable(code: str, title: str, detail: str, **members: Any) -> Problem:
    return Problem(422, code, title, detail, **members)


def response_of(problem: Problem) -> Response:
    body = {
        "type": f"urn:pairsift:problem:{problem.code}",
        "title": problem.title,
        "status": problem.status,
        "code": problem.code,
        "detail": problem.detail,
        **problem.members,
    }
    # Escaped to ASCII: a detail may quote a name with half a surrogate pair, which UTF-8 cannot carry.
    return Response(json.dumps(body), problem.status, problem.headers, media_type=MEDIA_TYPE)


def install(app: FastAPI) -> None:
    @app.exception_handler(Problem)
    async def of_ours(_: Request, problem: Problem) -> Response:
        return response_of(problem)

    @app.exception_handler(RequestValidationError)
    async def of_validation(_: Request, error: RequestValidationError) -> Response:
        errors = [{"field": _field(item), "message": _message(item)} for item in error.errors()]
        detail = "; ".join(f"{item['field']}: {item['message']}" for item in errors)
        return response_of(unusable("invalid_request", "The request is not valid", detail, errors=errors))

    @app.exception_handler(HTTPException)
    async def of_framework(_: Request, error: HTTPException) -> Response:
        phrase = HTTPStatus(error.status_code).phrase
        code = phrase.lower().replace(" ", "_")
        problem = Problem(error.status_code, code, phrase, str(error.detail))
        problem.headers = dict(error.headers or {})
        return response_of(problem)

    @app.exception_handler(OperationalError)
    @app.exception_handler(InterfaceError)
    async def of_database(request: Request, error: Exception) -> Response:
        log.error("the database failed at %s %s: %s", request.method, request.url.path, error)
        detail = "The database does not answer or takes too long; nothing was changed. Try again in a moment."
        problem = Problem(503, "database_unavailable", "The database is not available", detail)
        problem.headers["Retry-After"] = "5"
        return response_of(problem)

    @app.exception_handler(Exception)
    async def of_bugs(request: Request, error: Exception) -> Response:
        log.error("unhandled error at %s %s", request.method, request.url.path, exc_info=error)
        detail = "The service failed in a way it should not; the operator's log has the cause."
        return response_of(Problem(500, "internal_error", "Internal error", detail))


def _field(item: dict[str, Any]) -> str:
    """`body.method_options.q` reads better as `method_options.q`; query and header names stand alone too."""
    location = item["loc"]
    names = location[1:] if len(location) > 1 and item["type"] != "json_invalid" else location[:1]
    return ".".join(str(name) for name in names)


def _message(item: dict[str, Any]) -> str:
    if item["type"] == "json_invalid":
        return f"This is no JSON: {item['ctx']['error']} at character {item['loc'][-1]}"
    return str(item["msg"])
