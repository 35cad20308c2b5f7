"""Finding, ending and reading the log of server processes that are not our children."""

import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

from service.embedded import EmbeddedError


def is_alive(process: psutil.Process) -> bool:
    """Whether the process still works; a zombie that nobody has reaped counts as gone."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def processes_in(folder: Path, name: str) -> Iterator[psutil.Process]:
    """Living processes of that name that work in the folder, as far as this user may look."""
    for process in psutil.process_iter():
        try:
            if process.name() == name and process.cwd() == str(folder) and is_alive(process):
                yield process
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue


def end(process: psutil.Process, steps: Sequence[tuple[signal.Signals, float]]) -> None:
    """Send each signal in turn, giving the process its seconds to go before the next, harsher one."""
    for number, patience_seconds in steps:
        try:
            process.send_signal(number)
        except psutil.NoSuchProcess:
            return
        deadline = time.monotonic() + patience_seconds
        while time.monotonic() < deadline:
            if not is_alive(process):
                return
            time.sleep(0.02)
    raise EmbeddedError(f"process {process.pid} does not end, not even by force")


def last_lines(log: Path, count: int = 8) -> str:
    """The end of a server's log, for an error message."""
    try:
        return "\n".join(log.read_text(errors="replace").splitlines()[-count:])
    except OSError as error:
        return f"(no log: {error})"
