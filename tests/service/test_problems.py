import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2 as httpx
import pytest
from sqlalchemy import Engine, text

from service.config import Settings
from service.db.migrate import upgrade
from service.db.session import make_engine
from tests.service.serving import caller, open_request, problem_of, serving, status_of


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class TestEveryErrorIsAProblem:
    def test_unknown_path(self, idle_url: str) -> None:
        problem_of(httpx.get(f"{idle_url}/v2/nothing"), 404, "not_found")

    def test_wrong_method(self, idle_url: str) -> None:
        response = httpx.patch(f"{idle_url}/v1/collections")
        problem_of(response, 405, "method_not_allowed")
        assert response.headers["Allow"]

    def test_validation(self, idle_http: httpx.Client) -> None:
        response = idle_http.post("/v1/collections", json={"name": 5, "colour": "red"})
        assert problem_of(response, 422, "invalid_request").startswith("name: ")
        assert [error["field"] for error in response.json()["errors"]] == ["name", "colour"]

    def test_missing_body(self, idle_http: httpx.Client) -> None:
        assert "body" in problem_of(idle_http.post("/v1/collections"), 422, "invalid_request")

    def test_malformed_json(self, idle_http: httpx.Client) -> None:
        headers = {"Content-Type": "application/json"}
        response = idle_http.post("/v1/collections", content=b'{"name": ', headers=headers)
        assert problem_of(response, 422, "invalid_request").startswith("body: This is no JSON")

    def test_body_that_is_no_text(self, idle_http: httpx.Client) -> None:
        headers = {"Content-Type": "application/json"}
        response = idle_http.post("/v1/collections", content=b'{"name": "\xff"}', headers=headers)
        problem_of(response, 400, "bad_request")

    def test_body_larger_than_any_call_needs(self, idle_url: str) -> None:
        """Without a key: it must not be read into memory first. The pieces end where the service says no."""
        with httpx.Client(base_url=idle_url) as stranger:
            path, headers = "/v1/collections", ("Content-Type: application/json", "Transfer-Encoding: chunked")
            with open_request(stranger, path, *headers, method="POST") as connection:
                connection.sendall(b"100001\r\n" + b" " * 0x100001 + b"\r\n")
                assert status_of(connection) == 413

    def test_name_that_no_encoding_can_carry(self, idle_http: httpx.Client) -> None:
        headers = {"Content-Type": "application/json"}
        response = idle_http.post("/v1/collections", content=b'{"\\ud800": 1}', headers=headers)
        problem_of(response, 422, "invalid_request")


class TestInternalErrors:
    @pytest.fixture
    def broken(self, idle_settings: Settings, new_database: Callable[[], str]) -> Iterator[tuple[httpx.Client, Engine]]:
        """A service whose database loses a table behind its back."""
        settings = idle_settings.model_copy(update={"database_url": new_database()})
        engine = make_engine(settings.required_database_url)
        upgrade(engine)
        with serving(settings) as url, caller(url, engine) as client:
            yield client, engine
        engine.dispose()

    def test_bug_tells_nothing_of_the_inside(self, broken: tuple[httpx.Client, Engine]) -> None:
        client, engine = broken
        with engine.begin() as connection:
            connection.execute(text("DROP TABLE collections CASCADE"))
        response = client.get("/v1/collections")
        detail = problem_of(response, 500, "internal_error")
        assert "log" in detail
        for word in ("collections", "SELECT", "psycopg", "sqlalchemy", "Traceback"):
            assert word not in response.text

    def test_request_that_waits_too_long_for_the_database_may_be_sent_again(
        self, broken: tuple[httpx.Client, Engine]
    ) -> None:
        client, engine = broken
        with engine.begin() as connection:
            connection.execute(text("ALTER DATABASE " + str(engine.url.database) + " SET lock_timeout = '50ms'"))
        with engine.begin() as holder:
            holder.execute(text("LOCK TABLE collections"))
            fresh = httpx.get(f"{client.base_url}/v1/collections", headers=client.headers)
        problem_of(fresh, 503, "database_unavailable")
        assert fresh.headers["Retry-After"] == "5"


class TestDatabaseDown:
    def test_every_call_says_so_and_the_process_lives_on(self, idle_settings: Settings) -> None:
        url = f"postgresql+psycopg://nobody@127.0.0.1:{free_port()}/none"
        with serving(idle_settings.model_copy(update={"database_url": url})) as address:
            response = httpx.get(f"{address}/v1/collections", headers={"Authorization": "Bearer psk_x"})
            problem_of(response, 503, "database_unavailable")
            assert "migrate" in problem_of(httpx.get(f"{address}/readyz"), 503, "not_ready")
            assert httpx.get(f"{address}/healthz").status_code == 200


class TestReadiness:
    def test_database_without_tables_is_not_ready(
        self, idle_settings: Settings, new_database: Callable[[], str]
    ) -> None:
        with serving(idle_settings.model_copy(update={"database_url": new_database()})) as address:
            assert "migrate" in problem_of(httpx.get(f"{address}/readyz"), 503, "not_ready")

    def test_lost_storage_folder_is_not_ready(
        self, idle_settings: Settings, idle_engine: Engine, tmp_path: Path
    ) -> None:
        folder = tmp_path / "storage"
        with serving(idle_settings.model_copy(update={"storage": folder})) as address:
            assert httpx.get(f"{address}/readyz").status_code == 200
            folder.rmdir()
            assert "storage" in problem_of(httpx.get(f"{address}/readyz"), 503, "not_ready")

    def test_broker_that_is_down_is_shown_but_no_fault(self, idle_settings: Settings, idle_engine: Engine) -> None:
        down = idle_settings.model_copy(update={"broker_url": f"redis://127.0.0.1:{free_port()}/0"})
        with serving(down) as address:
            assert httpx.get(f"{address}/readyz").json()["broker"] == "down"
