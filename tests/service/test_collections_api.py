import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import httpx2 as httpx
import pytest
from sqlalchemy import Engine, func, select, update

from service.config import Settings
from service.db import submissions
from service.db.session import transaction
from service.db.states import CollectionState, Scope
from service.db.tables import Collection, Export, Image, Pair, Reject, Run, Score, Stage
from service.storage import Storage
from tests.factories import make_collection, publish_run, workspace_of
from tests.service.serving import caller, problem_of


def create(http: httpx.Client, **body: object) -> str:
    response = http.post("/v1/collections", json=body)
    assert response.status_code == 201
    return str(response.json()["id"])


def pages(http: httpx.Client, path: str, limit: int) -> list[list[dict[str, object]]]:
    found, query = [], {"limit": str(limit)}
    while True:
        page = http.get(path, params=query).json()
        found.append(page["items"])
        if page["next"] is None:
            return found
        query["cursor"] = page["next"]


class TestCreateCollection:
    def test_new_collection_is_empty_and_has_an_address(self, idle_http: httpx.Client) -> None:
        response = idle_http.post("/v1/collections", json={"name": "cc3m"})
        body = response.json()
        assert response.status_code == 201
        assert response.headers["Location"] == f"/v1/collections/{body['id']}"
        assert (body["name"], body["state"], body["lines_read"]) == ("cc3m", "empty", 0)
        assert idle_http.get(response.headers["Location"]).json() == body

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({"nmae": "typo"}, "nmae"),
            ({"name": ""}, "name"),
            ({"name": "x" * 201}, "name"),
            ({"name": "nul \0"}, "name"),
            ({"image_root": "/data\0"}, "image_root"),
            ({"header": "maybe"}, "header"),
            ({"url_column": [1]}, "url_column"),
            ({"input_format": "xml"}, "input_format"),
            ({"folder": "/data\0"}, "folder"),
        ],
    )
    def test_wrong_field_is_named(self, idle_http: httpx.Client, body: dict[str, object], field: str) -> None:
        response = idle_http.post("/v1/collections", json=body)
        assert field in problem_of(response, 422, "invalid_request")
        assert response.json()["errors"][0]["field"].startswith(field)

    def test_read_key_may_not_create(self, idle_url: str, idle_engine: Engine) -> None:
        with caller(idle_url, idle_engine, Scope.READ) as reader:
            assert "write" in problem_of(reader.post("/v1/collections", json={}), 403, "forbidden")

    def test_same_idempotency_key_and_body_give_the_same_collection(self, idle_http: httpx.Client) -> None:
        headers = {"Idempotency-Key": uuid4().hex}
        answers = [idle_http.post("/v1/collections", json={"name": "once"}, headers=headers) for _ in range(2)]
        assert answers[0].json() == answers[1].json()
        assert len(idle_http.get("/v1/collections").json()["items"]) == 1

    def test_same_idempotency_key_with_another_body_is_a_conflict(self, idle_http: httpx.Client) -> None:
        headers = {"Idempotency-Key": uuid4().hex}
        idle_http.post("/v1/collections", json={"name": "one"}, headers=headers)
        other = idle_http.post("/v1/collections", json={"name": "two"}, headers=headers)
        problem_of(other, 409, "idempotency_key_reused")

    def test_same_idempotency_key_at_the_same_time_makes_one_collection(self, idle_http: httpx.Client) -> None:
        headers, barrier = {"Idempotency-Key": uuid4().hex}, threading.Barrier(6)

        def post(_: int) -> httpx.Response:
            barrier.wait()
            return idle_http.post("/v1/collections", json={"name": "once"}, headers=headers)

        with ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(post, range(6)))
        assert [answer.status_code for answer in answers] == [201] * 6
        assert len({answer.json()["id"] for answer in answers}) == 1
        assert len(idle_http.get("/v1/collections").json()["items"]) == 1

    def test_idempotency_keys_of_two_workspaces_do_not_meet(
        self, idle_http: httpx.Client, idle_url: str, idle_engine: Engine
    ) -> None:
        headers = {"Idempotency-Key": "the same"}
        with caller(idle_url, idle_engine) as other:
            first = idle_http.post("/v1/collections", json={"name": "a"}, headers=headers)
            second = other.post("/v1/collections", json={"name": "b"}, headers=headers)
        assert (first.status_code, second.status_code) == (201, 201)


class TestFolder:
    def test_folder_is_read_without_an_upload(self, idle_http: httpx.Client, idle_engine: Engine) -> None:
        body = idle_http.post("/v1/collections", json={"folder": "/data/pairs"}).json()
        assert (body["state"], body["file_name"]) == ("ingesting", "pairs")
        with transaction(idle_engine) as session:
            stages = session.scalars(select(Stage).where(Stage.collection_id == body["id"])).all()
        assert [(stage.name, stage.state) for stage in stages] == [("ingest", "queued")]

    def test_file_cannot_be_sent_as_well(self, idle_http: httpx.Client) -> None:
        id = create(idle_http, folder="/data/pairs")
        problem_of(idle_http.put(f"/v1/collections/{id}/file", content=b"x"), 409, "file_exists")


class TestRetryImages:
    @pytest.fixture
    def collection(self, idle_http: httpx.Client, idle_engine: Engine) -> Collection:
        """Rows 1 and 2 arrived; row 3 was not found, row 4 timed out."""
        with transaction(idle_engine) as session:
            collection = make_collection(session, 4, workspace_id=workspace_of(session, idle_http))
            publish_run(session, collection, {1: 0.9, 2: 0.1})
            session.execute(
                update(Image).where(Image.collection_id == collection.id, Image.row == 4).values(error_class="timeout")
            )
        return collection

    @pytest.mark.parametrize(
        ("body", "kept"),
        [
            ({}, {"success": 2}),
            ({"classes": ["timeout"]}, {"404": 1, "success": 2}),
            ({"classes": ["dns"]}, {"404": 1, "success": 2, "timeout": 1}),
        ],
    )
    def test_failures_are_forgotten_and_what_arrived_is_kept(
        self, idle_http: httpx.Client, collection: Collection, body: dict[str, object], kept: dict[str, int]
    ) -> None:
        answer = idle_http.post(f"/v1/collections/{collection.id}/images/retry", json=body)
        assert answer.json() == {"forgotten": 4 - sum(kept.values())}
        assert idle_http.get(f"/v1/collections/{collection.id}").json()["images"] == kept


class TestListCollections:
    @pytest.mark.parametrize("limit", [1, 2, 3, 1000])
    def test_pages_have_all_newest_first(self, idle_http: httpx.Client, limit: int) -> None:
        made = [create(idle_http, name=str(number)) for number in range(3)]
        found = pages(idle_http, "/v1/collections", limit)
        assert [item["id"] for page in found for item in page] == made[::-1]
        assert all(found)

    def test_page_goes_on_after_its_last_item_was_deleted(self, idle_http: httpx.Client) -> None:
        made = [create(idle_http) for _ in range(3)]
        page = idle_http.get("/v1/collections", params={"limit": 2}).json()
        idle_http.delete(f"/v1/collections/{made[1]}")
        rest = idle_http.get("/v1/collections", params={"limit": 2, "cursor": page["next"]}).json()
        assert [item["id"] for item in rest["items"]] == [made[0]]

    def test_others_collections_are_not_listed(
        self, idle_http: httpx.Client, idle_url: str, idle_engine: Engine
    ) -> None:
        with caller(idle_url, idle_engine) as other:
            create(other)
        assert idle_http.get("/v1/collections").json() == {"items": [], "next": None}

    @pytest.mark.parametrize("limit", ["0", "1001", "many"])
    def test_limit_out_of_range_is_refused(self, idle_http: httpx.Client, limit: str) -> None:
        assert "limit" in problem_of(idle_http.get(f"/v1/collections?limit={limit}"), 422, "invalid_request")


class TestGetCollection:
    def test_images_are_counted_by_outcome(self, idle_http: httpx.Client, idle_engine: Engine) -> None:
        with transaction(idle_engine) as session:
            collection = make_collection(session, 4, workspace_id=workspace_of(session, idle_http))
            publish_run(session, collection, {1: 0.9, 2: 0.2, 3: 0.4})
        body = idle_http.get(f"/v1/collections/{collection.id}").json()
        assert body["images"] == {"404": 1, "success": 3}
        assert (body["lines_read"], body["accepted"], body["rejected"]) == (4, 4, 0)

    def test_unknown_id_is_not_found(self, idle_http: httpx.Client) -> None:
        problem_of(idle_http.get(f"/v1/collections/{uuid4()}"), 404, "not_found")

    def test_id_that_is_none_is_named(self, idle_http: httpx.Client) -> None:
        assert "id:" in problem_of(idle_http.get("/v1/collections/7"), 422, "invalid_request")


class TestListRejects:
    @pytest.mark.parametrize("limit", [1, 2, 1000])
    def test_pages_have_all_in_file_order(self, idle_http: httpx.Client, idle_engine: Engine, limit: int) -> None:
        with transaction(idle_engine) as session:
            collection = make_collection(session, workspace_id=workspace_of(session, idle_http))
            for row in (9, 2, 30, 4):
                session.add(
                    Reject(
                        collection_id=collection.id,
                        row=row,
                        byte_offset=row * 10,
                        reason="empty_line",
                        detail="d",
                        text="",
                    )
                )
        found = pages(idle_http, f"/v1/collections/{collection.id}/rejects", limit)
        listed = [item for page in found for item in page]
        assert [item["row"] for item in listed] == [2, 4, 9, 30]
        assert listed[0] == {"row": 2, "byte_offset": 20, "reason": "empty_line", "detail": "d", "text": ""}


class TestDeleteCollection:
    @pytest.fixture
    def collection(self, idle_http: httpx.Client, idle_engine: Engine, idle_settings: Settings) -> Collection:
        """With a run, an export and their files."""
        storage = Storage(idle_settings.required_storage)
        with transaction(idle_engine) as session:
            collection = make_collection(session, 3, workspace_id=workspace_of(session, idle_http))
            run = publish_run(session, collection, {1: 0.9, 2: 0.1})
            export = Export(workspace_id=run.workspace_id, run_id=run.id, format="tsv", filter={})
            session.add(export)
            session.flush()
            submissions.submit_export(session, export, collection.id)
        for path in (storage.upload(collection.id), storage.run(run.id) / "checkpoint", storage.export(export.id)):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"content")
        return collection

    @staticmethod
    def files(settings: Settings) -> list[Path]:
        return [path for path in settings.required_storage.rglob("*") if path.is_file()]

    def test_nothing_of_it_is_left(
        self, idle_http: httpx.Client, idle_engine: Engine, idle_settings: Settings, collection: Collection
    ) -> None:
        before = len(self.files(idle_settings))
        assert idle_http.delete(f"/v1/collections/{collection.id}").status_code == 204
        problem_of(idle_http.get(f"/v1/collections/{collection.id}"), 404, "not_found")
        assert before - len(self.files(idle_settings)) == 3
        with transaction(idle_engine) as session:
            for table in (Pair, Image, Run, Stage):
                of_it = select(func.count()).where(table.collection_id == collection.id)
                assert session.scalar(of_it) == 0
            orphans = select(func.count()).select_from(Score).where(Score.run_id.not_in(select(Run.id)))
            assert session.scalar(orphans) == 0

    def test_collection_in_a_workers_hands_is_kept(
        self, idle_http: httpx.Client, idle_engine: Engine, idle_settings: Settings, collection: Collection
    ) -> None:
        with transaction(idle_engine) as session:
            session.execute(
                update(Stage)
                .where(Stage.collection_id == collection.id, Stage.name == "export")
                .values(state="running")
            )
        before = self.files(idle_settings)
        detail = problem_of(idle_http.delete(f"/v1/collections/{collection.id}"), 409, "collection_busy")
        assert "export" in detail
        assert self.files(idle_settings) == before
        assert idle_http.get(f"/v1/collections/{collection.id}").status_code == 200

    def test_deleting_twice_is_not_found(self, idle_http: httpx.Client) -> None:
        id = create(idle_http)
        assert idle_http.delete(f"/v1/collections/{id}").status_code == 204
        problem_of(idle_http.delete(f"/v1/collections/{id}"), 404, "not_found")


class TestLocking:
    def test_run_is_accepted_while_an_ingest_writes(self, idle_http: httpx.Client, idle_engine: Engine) -> None:
        """The ingest's transaction holds the key of the collection for as long as it copies pairs."""
        with transaction(idle_engine) as session:
            workspace_id = workspace_of(session, idle_http)
            collection = make_collection(session, workspace_id=workspace_id, state=CollectionState.INGESTING)
        with transaction(idle_engine) as ingest:
            ingest.add(Reject(collection_id=collection.id, row=1, byte_offset=0, reason="x", detail="", text=""))
            ingest.flush()
            response = idle_http.post(f"/v1/collections/{collection.id}/runs", json={}, timeout=10)
        assert response.status_code == 202
