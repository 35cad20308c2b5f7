"""A request body -> a file in the storage folder: hashed on the way, capped while streaming, whole or not
at all."""

import base64
import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from fastapi.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from service.problems import Problem, unusable
from service.storage import finish_file

# Written in pieces of this size, off the event loop: one slow disk must not hold up every other request.
PIECE = 1 << 20


@dataclass(frozen=True)
class Received:
    """A complete upload, still under its temporary name."""

    temporary: Path
    size: int
    sha256: bytes

    def keep_as(self, target: Path) -> None:
        finish_file(self.temporary, target)

    def drop(self) -> None:
        self.temporary.unlink(missing_ok=True)


def refuse_too_large(content_length: str | None, max_bytes: int) -> None:
    """Said before the body is sent, where the client tells its length."""
    if content_length is not None and content_length.isdecimal() and int(content_length) > max_bytes:
        raise _too_large(max_bytes)


async def receive(body: AsyncIterator[bytes], target: Path, max_bytes: int, content_digest: str | None) -> Received:
    wanted = _sha256_of_header(content_digest)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f"{target.name}.{uuid4().hex}.tmp")
    try:
        size, digest = await _write(body, temporary, max_bytes)
        if size == 0:
            raise unusable(
                "empty_file",
                "The file is empty",
                "The request body has no bytes; send the file as the raw body.",
            )
        if wanted is not None and digest != wanted:
            detail = (
                f"Content-Digest says {wanted.hex()}, but the sha-256 of what arrived is {digest.hex()}. Send it again."
            )
            raise unusable("digest_mismatch", "The file did not arrive as it was sent", detail)
        return Received(temporary, size, digest)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


async def _write(body: AsyncIterator[bytes], path: Path, max_bytes: int) -> tuple[int, bytes]:
    digest, size, pending = hashlib.sha256(), 0, bytearray()
    with path.open("xb") as file:

        def flush() -> None:
            digest.update(pending)
            file.write(pending)
            pending.clear()

        try:
            async for piece in body:
                size += len(piece)
                if size > max_bytes:
                    raise _too_large(max_bytes)
                pending += piece
                if len(pending) >= PIECE:
                    await run_in_threadpool(flush)
        except ClientDisconnect:
            raise Problem(
                400, "upload_cut_off", "The upload was cut off", "The client went away; nothing is kept."
            ) from None
        await run_in_threadpool(flush)
    return size, digest.digest()


def _too_large(max_bytes: int) -> Problem:
    return Problem(413, "too_large", "The file is too large", f"The limit is {max_bytes:,} bytes.")


def _sha256_of_header(header: str | None) -> bytes | None:
    """The sha-256 of an RFC 9530 Content-Digest; other algorithms in it are ignored."""
    for part in (header or "").split(","):
        name, _, value = part.strip().partition("=")
        if name.lower() != "sha-256":
            continue
        try:
            digest = base64.b64decode(value.strip().strip(":"), validate=True)
        except ValueError:
            digest = b""
        if len(digest) != 32:
            detail = "Content-Digest: sha-256 must be 32 bytes in base64 between colons: `sha-256=:...:`."
            raise unusable("invalid_digest", "The digest cannot be read", detail)
        return digest
    return None
