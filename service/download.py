"""A finished file over HTTP: strong ETag, 304, and ranges, with errors as problem+json like everywhere."""

from pathlib import Path

from fastapi import Request, Response
from fastapi.responses import FileResponse
from starlette.types import Message, Receive, Scope, Send

from service.problems import Problem, response_of


def file_response(request: Request, path: Path, sha256: str, media_type: str, name: str) -> Response:
    etag = f'"{sha256}"'
    if _has(request.headers.get("If-None-Match", ""), etag):
        return Response(status_code=304, headers={"ETag": etag})
    if not path.is_file():
        detail = "The file is no longer in the storage folder; start the export again."
        raise Problem(410, "file_gone", "The file is gone", detail)
    return _Download(path, media_type=media_type, filename=name, headers={"ETag": etag})


def _has(header: str, etag: str) -> bool:
    given = [tag.strip().removeprefix("W/") for tag in header.split(",")]
    return "*" in given or etag in given


class _Download(FileResponse):
    """Starlette answers a Range it cannot serve in plain text."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem: Problem | None = None

        async def send_unless_refused(message: Message) -> None:
            nonlocal problem
            if message["type"] == "http.response.start" and message["status"] >= 400:
                detail = "Range: ask for bytes of the file, as in `bytes=0-1023`; Content-Length says how many it has."
                problem = Problem(message["status"], "invalid_range", "The range cannot be served", detail)
                kept = {name.decode(): value.decode() for name, value in message["headers"]}
                problem.headers = {name: kept[name] for name in ("content-range",) if name in kept}
            elif problem is None:
                await send(message)

        await super().__call__(scope, receive, send_unless_refused)
        if problem is not None:
            await response_of(problem)(scope, receive, send)
