"""Every error leaves as application/problem+json (RFC 9457), validation and unknown paths included."""

import logging
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
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


def response_of(problem: Problem) -> JSONResponse:
    body = {
        "type": f"urn:pairsift:problem:{problem.code}",
        "title": problem.title,
        "status": problem.status,
        "code": problem.code,
        "detail": problem.detail,
        **problem.members,
    }
    return JSONResponse(body, problem.status, problem.headers, media_type=MEDIA_TYPE)


def install(app: FastAPI) -> None:
    @app.exception_handler(Problem)
    async def of_ours(_: Request, problem: Problem) -> JSONResponse:
        return response_of(problem)

    @app.exception_handler(RequestValidationError)
    async def of_validation(_: Request, error: RequestValidationError) -> JSONResponse:
        errors = [{"field": _field(item["loc"]), "message": item["msg"]} for item in error.errors()]
        detail = "; ".join(f"{item['field']}: {item['message']}" for item in errors)
        return response_of(unusable("invalid_request", "The request is not valid", detail, errors=errors))

    @app.exception_handler(HTTPException)
    async def of_framework(_: Request, error: HTTPException) -> JSONResponse:
        phrase = HTTPStatus(error.status_code).phrase
        code = phrase.lower().replace(" ", "_")
        problem = Problem(error.status_code, code, phrase, str(error.detail))
        problem.headers = dict(error.headers or {})
        return response_of(problem)

    @app.exception_handler(Exception)
    async def of_bugs(request: Request, error: Exception) -> JSONResponse:
        log.error("unhandled error at %s %s", request.method, request.url.path, exc_info=error)
        detail = "The service failed in a way it should not; the operator's log has the cause."
        return response_of(Problem(500, "internal_error", "Internal error", detail))


def _field(location: tuple[int | str, ...]) -> str:
    """`body.method_options.q` reads better as `method_options.q`; query and header names stand alone too."""
    names = location[1:] if len(location) > 1 else location
    return ".".join(str(name) for name in names)
