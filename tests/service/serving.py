"""What the tests of the service share: a service of their own behind a real socket, raw requests, patience."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx2 as httpx
from sqlalchemy import Engine

from service.db.states import Scope
from tests.conftest import make_key, serving

__all__ = ["caller", "eventually", "open_request", "problem_of", "serving", "status_of"]

PATIENCE_SECONDS = 60.0


@contextmanager
def caller(
    url: str, engine: Engine, scope: Scope = Scope.WRITE, workspace: str | None = None
) -> Iterator[httpx.Client]:
    """A client with a new key, in a workspace of its own unless one is named."""
    headers = {"Authorization": f"Bearer {make_key(engine, scope, workspace)}"}
    with httpx.Client(base_url=url, headers=headers, trust_env=False, timeout=60) as client:
        yield client


def open_request(http: httpx.Client, path: str, *headers: str, method: str = "PUT") -> socket.socket:
    """The head of a request, on a socket that the test goes on with as it likes."""
    address = http.base_url
    connection = socket.create_connection((address.host, address.port or 80), timeout=PATIENCE_SECONDS)
    key = f"Authorization: {http.headers['Authorization']}" if "Authorization" in http.headers else "X-Key: none"
    head = [f"{method} {path} HTTP/1.1", f"Host: {address.host}", key, *headers]
    connection.sendall("\r\n".join([*head, "", ""]).encode())
    return connection


def status_of(connection: socket.socket) -> int:
    with connection.makefile("rb") as answer:
        return int(answer.readline().split()[1])


def eventually(condition: Callable[[], bool]) -> None:
    """Wait for what another process or thread does; what is asserted is that it happens, not when."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        threading.Event().wait(0.02)


def problem_of(response: httpx.Response, status: int, code: str) -> str:
    """The detail of a problem, which must be well formed and have this status and code."""
    assert response.status_code == status, response.text
    assert response.headers["Content-Type"] == "application/problem+json"
    body = response.json()
    assert (body["status"], body["code"], body["type"]) == (status, code, f"urn:pairsift:problem:{code}")
    assert body["title"]
    assert body["detail"]
    return str(body["detail"])
