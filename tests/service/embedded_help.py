"""What the tests of the embedded servers share: another process that uses them, and looks at both."""

import json
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil
import psycopg
import pytest

from service.embedded import Servers
from service.server_process import is_alive

REPOSITORY = Path(__file__).parents[2]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="about what root does; run the tests as root")

VISIT = """
import encodings.idna, json, os, sys
from pathlib import Path
from service import postgres_server, valkey_server  # else imported when they are used
from service.embedded import embedded_servers

if len(sys.argv) > 2:  # another user; only now, because that user may not be able to read the packages
    os.setgroups([])
    os.setgid(int(sys.argv[2]))
    os.setuid(int(sys.argv[2]))
with embedded_servers(Path(sys.argv[1])) as servers:
    print(json.dumps([servers.database_url, servers.broker_url]), flush=True)
    sys.stdin.read()
"""


class Visitor:
    """Another process that uses the servers until it is told to leave."""

    def __init__(self, folder: Path, *user: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", VISIT, str(folder), *user],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=REPOSITORY,
        )

    def servers(self) -> Servers:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            assert self.process.stderr is not None
            raise AssertionError(self.process.stderr.read())
        return Servers(*json.loads(line))

    def leave(self) -> None:
        _, errors = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, errors

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.returncode is None:
            self.process.communicate(timeout=60)


def run_sql(servers: Servers, statement: str) -> Any:
    with psycopg.connect(servers.database_url.replace("+psycopg", ""), autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchone() if cursor.description else None


def pids(folder: Path) -> tuple[int, int]:
    postgres = int((folder / "postgres" / "postmaster.pid").read_text().splitlines()[0])
    return postgres, int(json.loads((folder / "valkey" / "state.json").read_text())["pid"])


def is_running(pid: int) -> bool:
    return psutil.pid_exists(pid) and is_alive(psutil.Process(pid))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@contextmanager
def open_place() -> Iterator[Path]:
    """A folder any user can pass through; those of pytest are private, which root is refused."""
    with tempfile.TemporaryDirectory(prefix="pairsift-test-") as name:
        Path(name).chmod(0o711)
        yield Path(name)
