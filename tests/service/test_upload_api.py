import base64
import hashlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2 as httpx
import pytest
from sqlalchemy import Engine, func, select

from service.config import Settings
from service.db.session import transaction
from service.db.states import Scope
from service.db.tables import Stage
from service.storage import Storage
from tests.service.serving import caller, eventually, open_request, problem_of, status_of

CONTENT = b"a red house\thttp://127.0.0.1/1.png\n"


def digest(content: bytes) -> str:
    return f"sha-256=:{base64.b64encode(hashlib.sha256(content).digest()).decode()}:"


@pytest.fixture
def collection_id(idle_http: httpx.Client) -> str:
    return str(idle_http.post("/v1/collections", json={}).json()["id"])


@pytest.fixture
def path(collection_id: str) -> str:
    return f"/v1/collections/{collection_id}/file"


@pytest.fixture
def stored(idle_settings: Settings, collection_id: str) -> Path:
    return Storage(idle_settings.required_storage).upload(collection_id)  # type: ignore[arg-type]


@pytest.fixture
def untouched(
    idle_http: httpx.Client, idle_engine: Engine, collection_id: str, stored: Path
) -> Iterator[dict[str, Any]]:
    """Whatever the test sends: nothing on disk, no stage, and the collection as it was."""
    before = idle_http.get(f"/v1/collections/{collection_id}").json()
    yield before
    assert leftovers(stored) == []
    assert idle_http.get(f"/v1/collections/{collection_id}").json() == before
    with transaction(idle_engine) as session:
        assert session.scalar(select(func.count()).where(Stage.collection_id == collection_id)) == 0


def leftovers(stored: Path) -> list[Path]:
    return list(stored.parent.glob(f"{stored.name}*"))


class TestUpload:
    def test_accepted_file_is_stored_byte_for_byte(
        self, idle_http: httpx.Client, idle_engine: Engine, collection_id: str, path: str, stored: Path
    ) -> None:
        response = idle_http.put(path, content=CONTENT, params={"file_name": "../cc3m.tsv"})
        body = response.json()
        assert response.status_code == 202
        assert response.headers["Location"] == f"/v1/collections/{collection_id}"
        assert response.headers["Retry-After"] == "1"
        assert (body["state"], body["file_name"], body["file_bytes"]) == ("ingesting", "cc3m.tsv", len(CONTENT))
        assert body["file_sha256"] == hashlib.sha256(CONTENT).hexdigest()
        assert stored.read_bytes() == CONTENT
        assert leftovers(stored) == [stored]
        with transaction(idle_engine) as session:
            stage = session.scalars(select(Stage).where(Stage.collection_id == collection_id)).one()
        assert (stage.name, stage.state) == ("ingest", "queued")
        assert stage.announced_at is not None

    def test_body_without_a_length_is_accepted(self, idle_http: httpx.Client, path: str, stored: Path) -> None:
        pieces = (CONTENT for _ in range(3))
        assert idle_http.put(path, content=pieces).status_code == 202
        assert stored.read_bytes() == CONTENT * 3

    def test_right_digest_is_accepted(self, idle_http: httpx.Client, path: str) -> None:
        header = f"sha-512=:b3RoZXI=:, {digest(CONTENT)}"
        assert idle_http.put(path, content=CONTENT, headers={"Content-Digest": header}).status_code == 202

    @pytest.mark.usefixtures("untouched")
    def test_wrong_digest_keeps_nothing(self, idle_http: httpx.Client, path: str) -> None:
        response = idle_http.put(path, content=CONTENT, headers={"Content-Digest": digest(b"other")})
        assert hashlib.sha256(CONTENT).hexdigest() in problem_of(response, 422, "digest_mismatch")

    @pytest.mark.usefixtures("untouched")
    @pytest.mark.parametrize("header", ["sha-256=:short:", "sha-256=:c2hvcnQ=:", "sha-256=", "sha-256=:ä:"])
    def test_unreadable_digest_is_refused(self, idle_http: httpx.Client, path: str, header: str) -> None:
        response = idle_http.put(path, content=CONTENT, headers=[(b"Content-Digest", header.encode())])
        assert "base64" in problem_of(response, 422, "invalid_digest")

    @pytest.mark.usefixtures("untouched")
    def test_empty_body_is_refused(self, idle_http: httpx.Client, path: str) -> None:
        assert "raw body" in problem_of(idle_http.put(path, content=b""), 422, "empty_file")

    @pytest.mark.usefixtures("untouched")
    def test_file_name_with_nul_is_refused(self, idle_http: httpx.Client, path: str) -> None:
        response = idle_http.put(f"{path}?file_name=%00", content=CONTENT)
        assert "file_name" in problem_of(response, 422, "invalid_request")

    @pytest.mark.usefixtures("untouched")
    def test_too_large_length_is_refused_before_the_body(self, idle_http: httpx.Client, path: str) -> None:
        with open_request(idle_http, path, "Content-Length: 500001") as connection:
            assert status_of(connection) == 413

    @pytest.mark.usefixtures("untouched")
    def test_too_large_body_is_cut_off_while_it_streams(self, idle_http: httpx.Client, path: str) -> None:
        with open_request(idle_http, path, "Transfer-Encoding: chunked") as connection:
            connection.sendall(b"7a121\r\n" + bytes(500_001) + b"\r\n")  # 500,001 in hex, and no end in sight
            assert status_of(connection) == 413

    def test_largest_allowed_body_is_accepted(self, idle_http: httpx.Client, path: str) -> None:
        assert idle_http.put(path, content=b"x" * 500_000).status_code == 202

    @pytest.mark.usefixtures("untouched")
    def test_no_key_is_refused_before_the_body(self, idle_http: httpx.Client, idle_url: str, path: str) -> None:
        with (
            httpx.Client(base_url=idle_url) as stranger,
            open_request(stranger, path, "Content-Length: 400000") as connection,
        ):
            assert status_of(connection) == 401

    @pytest.mark.usefixtures("untouched")
    def test_read_key_is_refused_before_the_body(self, idle_url: str, idle_engine: Engine, path: str) -> None:
        with (
            caller(idle_url, idle_engine, Scope.READ) as reader,
            open_request(reader, path, "Content-Length: 400000") as connection,
        ):
            assert status_of(connection) == 403

    @pytest.mark.usefixtures("untouched")
    def test_another_workspace_is_refused_before_the_body(self, idle_url: str, idle_engine: Engine, path: str) -> None:
        with (
            caller(idle_url, idle_engine) as other,
            open_request(other, path, "Content-Length: 400000") as connection,
        ):
            assert status_of(connection) == 404

    def test_unknown_collection_is_not_found(self, idle_http: httpx.Client) -> None:
        response = idle_http.put(f"/v1/collections/{uuid4()}/file", content=CONTENT)
        problem_of(response, 404, "not_found")

    def test_second_file_is_a_conflict_before_the_body(self, idle_http: httpx.Client, path: str, stored: Path) -> None:
        idle_http.put(path, content=CONTENT)
        with open_request(idle_http, path, "Content-Length: 400000") as connection:
            assert status_of(connection) == 409
        problem_of(idle_http.put(path, content=b"other"), 409, "file_exists")
        assert stored.read_bytes() == CONTENT

    @pytest.mark.usefixtures("untouched")
    @pytest.mark.parametrize("framing", ["Content-Length: 400000", "Transfer-Encoding: chunked"])
    def test_client_that_goes_away_leaves_nothing(
        self, idle_http: httpx.Client, path: str, stored: Path, framing: str
    ) -> None:
        connection = open_request(idle_http, path, framing)
        connection.sendall(b"9\r\nhalf of a" if "chunked" in framing else b"half of a")
        eventually(lambda: len(leftovers(stored)) == 1)
        connection.close()
        eventually(lambda: leftovers(stored) == [])

    def test_of_two_at_once_exactly_one_wins(self, idle_http: httpx.Client, path: str, stored: Path) -> None:
        barrier = threading.Barrier(2)

        def send(content: bytes) -> Iterator[bytes]:
            yield content[:1]
            barrier.wait()  # both are past the first check when the rest arrives
            yield content[1:]

        def put(content: bytes) -> int:
            return idle_http.put(path, content=send(content)).status_code

        contents = [b"first" * 1000, b"second" * 1000]
        with ThreadPoolExecutor(2) as pool:
            statuses = list(pool.map(put, contents))
        assert sorted(statuses) == [202, 409]
        assert stored.read_bytes() == contents[statuses.index(202)]
        assert leftovers(stored) == [stored]
