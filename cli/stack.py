"""The whole product on this machine: servers, tables, key, service and worker, for as long as it is needed."""

import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2 as httpx

from service import keys
from service.config import Settings, child_environment
from service.db.migrate import upgrade
from service.db.session import make_engine, transaction
from service.db.states import Scope
from service.embedded import default_data_folder, embedded_servers

START_SECONDS = 60
STOP_SECONDS = 75  # a little more than a worker's grace


class StackError(Exception):
    """Something on this machine is in the way; the text says what to do."""


@dataclass(frozen=True)
class Stack:
    url: str
    key: str
    settings: Settings
    worker: subprocess.Popen[bytes]


def data_folder(settings: Settings) -> Path:
    return settings.data or default_data_folder(settings.xdg_data_home)


@contextmanager
def temporary_data_folder() -> Iterator[Path]:
    """A data folder for one command. What is in it is private; PostgreSQL's account may pass through it."""
    with tempfile.TemporaryDirectory(prefix="pairsift-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        yield folder


@contextmanager
def complete_settings(settings: Settings) -> Iterator[Settings]:
    """Settings with every address filled in: embedded servers run where none is configured."""
    folder = data_folder(settings)
    found: dict[str, object] = {"data": folder, "storage": settings.storage or folder / "storage"}
    if bool(settings.database_url) != bool(settings.broker_url):
        raise StackError("set both DATABASE_URL and BROKER_URL, or neither to use the embedded servers")
    with ExitStack() as stack:
        if not settings.database_url:
            servers = stack.enter_context(embedded_servers(folder))
            found |= {"database_url": servers.database_url, "broker_url": servers.broker_url}
            # The embedded service runs as its only user, on loopback: what they can read, it may read.
            found["image_roots"] = settings.image_roots or (Path("/"),)
        yield settings.model_copy(update=found)


@contextmanager
def running_stack(settings: Settings) -> Iterator[Stack]:
    """Everything up and ready; everything this call started is down again at the end."""
    with _listening(settings) as listener, complete_settings(settings) as complete:
        engine = make_engine(complete.required_database_url)
        upgrade(engine)
        key = _local_key(complete)
        engine.dispose()
        complete.required_storage.mkdir(mode=0o700, parents=True, exist_ok=True)
        host, port = listener.getsockname()[:2]
        children = complete.model_copy(update={"follow_parent": True, "port": port})
        with _child(_service_command(listener), children, pass_fds=[listener.fileno()]) as service:
            listener.close()
            with _child([sys.executable, "-m", "cli.main", "worker"], children) as worker:
                url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
                _wait_until_ready(url, service)
                yield Stack(url, key, complete, worker)


@contextmanager
def announced(stack: Stack) -> Iterator[None]:
    """Tell other commands of this user where the service is and which key to use."""
    path = data_folder(stack.settings) / "service.json"
    _write_private(path, json.dumps({"url": stack.url, "key": stack.key}))
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def find_service(settings: Settings) -> tuple[str, str]:
    """Address and key: from the settings, else of the service that `pairsift serve` runs for this user."""
    if settings.url and settings.key:
        return settings.url, settings.key
    path = data_folder(settings) / "service.json"
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        raise StackError(
            "no service found: start one with `pairsift serve`, or set PAIRSIFT_URL and PAIRSIFT_KEY"
        ) from None
    return settings.url or found["url"], settings.key or found["key"]


@contextmanager
def _listening(settings: Settings) -> Iterator[socket.socket]:
    """The service's socket, bound before anything starts: a port in use is an error at once."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((settings.host, settings.port))
        except OSError as error:
            raise StackError(
                f"cannot listen on {settings.host}:{settings.port} ({error.strerror}); choose another with --port"
            ) from None
        yield listener


def _local_key(settings: Settings) -> str:
    """The key of whoever runs the stack: made once, kept in a file only they can read."""
    path = data_folder(settings) / "key"
    secret = path.read_text().strip() if path.exists() else keys.PREFIX + secrets.token_urlsafe(32)
    if not path.exists():
        _write_private(path, secret)
    with transaction(make_engine(settings.required_database_url)) as session:
        if keys.find_key(session, secret) is None:
            keys.create_key(session, "local", [Scope.ADMIN], secret=secret)
    return secret


def _service_command(listener: socket.socket) -> list[str]:
    options = ["--fd", str(listener.fileno()), "--log-level", "warning", "--no-access-log"]
    return [sys.executable, "-m", "uvicorn", "--factory", "service.main:create_app", *options]


@contextmanager
def _child(
    command: list[str], settings: Settings, pass_fds: list[int] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A child in a session of its own, so that Ctrl-C reaches only this process, which then ends it in order."""
    environment = child_environment(settings)
    child = subprocess.Popen(command, env=environment, pass_fds=pass_fds or [], start_new_session=True)
    try:
        yield child
    finally:
        child.terminate()
        try:
            child.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _wait_until_ready(url: str, service: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if service.poll() is not None:
            raise StackError(f"the service ended with code {service.returncode} while starting; its message is above")
        try:
            if httpx.get(f"{url}/readyz", timeout=5, trust_env=False).is_success:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.1)
    raise StackError(f"the service at {url} was not ready within {START_SECONDS} s")


def _write_private(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
