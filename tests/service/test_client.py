import hashlib
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import httpx2 as httpx
import pytest
from sqlalchemy import Engine

from service.client import ApiProblem, Client
from service.config import Settings
from service.db import submissions
from service.db.session import transaction
from service.db.states import JobState
from service.db.tables import Export
from service.storage import Storage
from tests.factories import make_collection, publish_run, workspace_of

CONTENT = b"a red house\thttp://127.0.0.1/1.png\n" * 3000


@pytest.fixture
def client(idle_url: str, idle_http: httpx.Client) -> Iterator[Client]:
    client = Client(idle_url, idle_http.headers["Authorization"].removeprefix("Bearer "))
    yield client
    client.close()


@pytest.fixture
def export_id(idle_http: httpx.Client, idle_engine: Engine, idle_settings: Settings) -> str:
    """A finished export of CONTENT."""
    with transaction(idle_engine) as session:
        collection = make_collection(session, 1, workspace_id=workspace_of(session, idle_http))
        run = publish_run(session, collection, {1: 0.5})
        export = Export(workspace_id=run.workspace_id, run_id=run.id, format="tsv", filter={})
        session.add(export)
        session.flush()
        submissions.submit_export(session, export, collection.id)
        export.state, export.sha256 = JobState.SUCCEEDED, hashlib.sha256(CONTENT).hexdigest()
    file = Storage(idle_settings.required_storage).export(export.id)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(CONTENT)
    return str(export.id)


class TestUpload:
    def test_file_arrives_with_name_and_digest(self, client: Client, tmp_path: Path) -> None:
        path, seen = tmp_path / "cc.tsv", []
        path.write_bytes(CONTENT)
        id = client.create_collection("mine").id
        uploaded = client.upload(id, path, lambda sent, total: seen.append((sent, total)))
        assert (uploaded.file_name, uploaded.file_bytes) == ("cc.tsv", len(CONTENT))
        assert uploaded.file_sha256 == hashlib.sha256(CONTENT).hexdigest()
        assert seen[-1] == (len(CONTENT), len(CONTENT))

    def test_refusal_is_told_in_the_services_words(self, client: Client, tmp_path: Path) -> None:
        path = tmp_path / "cc.tsv"
        path.write_bytes(CONTENT)
        with pytest.raises(ApiProblem, match="no such collection") as refused:
            client.upload(uuid4(), path)
        assert (refused.value.status, refused.value.code) == (404, "not_found")


class TestDownload:
    def test_file_takes_its_name_when_it_is_complete(self, client: Client, export_id: str, tmp_path: Path) -> None:
        target = tmp_path / "clean.tsv"
        client.download(client.export(export_id), target)
        assert target.read_bytes() == CONTENT
        assert list(tmp_path.iterdir()) == [target]

    def test_wrong_digest_leaves_no_file(self, client: Client, export_id: str, tmp_path: Path) -> None:
        promised = client.export(export_id).model_copy(update={"sha256": "0" * 64})
        with pytest.raises(ApiProblem, match="try again"):
            client.download(promised, tmp_path / "clean.tsv")
        assert list(tmp_path.iterdir()) == []

    def test_wrong_digest_keeps_the_file_that_was_there(self, client: Client, export_id: str, tmp_path: Path) -> None:
        target = tmp_path / "clean.tsv"
        target.write_bytes(b"before")
        promised = client.export(export_id).model_copy(update={"sha256": "0" * 64})
        with pytest.raises(ApiProblem):
            client.download(promised, target)
        assert target.read_bytes() == b"before"

    def test_refusal_leaves_no_file(self, client: Client, export_id: str, tmp_path: Path) -> None:
        unknown = client.export(export_id).model_copy(update={"id": uuid4()})
        with pytest.raises(ApiProblem, match="no such export"):
            client.download(unknown, tmp_path / "clean.tsv")
        assert list(tmp_path.iterdir()) == []


class TestPairs:
    @pytest.mark.parametrize("limit", [1, 4, 1000])
    def test_all_pages_are_walked(
        self, client: Client, idle_http: httpx.Client, idle_engine: Engine, limit: int
    ) -> None:
        with transaction(idle_engine) as session:
            collection = make_collection(session, 8, workspace_id=workspace_of(session, idle_http))
            run = publish_run(session, collection, dict.fromkeys(range(1, 8), 0.25))
        assert [pair.row for pair in client.pairs(run.id, limit=limit)] == list(range(1, 9))
        by_score = client.pairs(run.id, limit=limit, sort="-clean_confidence", split="noisy")
        assert [pair.row for pair in by_score] == list(range(1, 8))


class TestErrors:
    def test_answer_that_is_no_problem_is_still_told(self, client: Client, idle_url: str) -> None:
        lost = Client(f"{idle_url}/docs/oauth2-redirect", "psk_x")
        with pytest.raises(ApiProblem) as refused:
            lost.collection("x")
        lost.close()
        assert refused.value.status == 404

    def test_unreachable_service_is_an_http_error(self) -> None:
        nowhere = Client("http://127.0.0.1:9", "psk_x")
        with pytest.raises(httpx.TransportError):
            nowhere.collection(uuid4())
        nowhere.close()
