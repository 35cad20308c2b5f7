"""A cap on request bodies. FastAPI reads a JSON body before it looks at the key, so without a cap anybody could
fill the memory. Uploads (PUT of a `/file`) are streamed and have a cap of their own."""

from fastapi import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY_BYTES = 1 << 20


class BodyLimit:
    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_upload = scope["type"] == "http" and scope["method"] == "PUT" and scope["path"].endswith("/file")
        is_limited = scope["type"] == "http" and not is_upload
        await self.app(scope, _limited(receive) if is_limited else receive, send)


def _limited(receive: Receive) -> Receive:
    seen = 0

    async def receive_some() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > MAX_BODY_BYTES:
            raise HTTPException(413, f"The body of this call may have {MAX_BODY_BYTES:,} bytes at most.")
        return message

    return receive_some
