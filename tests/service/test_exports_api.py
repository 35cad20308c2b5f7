"""Exports of published runs, made by a real worker and downloaded over HTTP."""

import hashlib
import io
import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx2 as httpx
import pyarrow.parquet as pq
import pytest
from sqlalchemy import Engine

from model.data.tsv import TsvFormat
from service.client import Client
from service.config import Settings
from service.db import jobs, submissions
from service.db.session import transaction
from service.db.states import Scope
from service.db.tables import Export, Run, Workspace
from service.storage import Storage
from tests.factories import CAPTION_FIRST, Line, make_collection, make_run, publish_run, workspace_of
from tests.service.serving import caller, problem_of

pytestmark = pytest.mark.usefixtures("worker")

CAPTIONS = [
    'she said "hi", twice',
    "cat 🐈 on a mat",
    "שלום עולם",
    "back\\slash \\t \\n and 'quotes'",
    "  spaces kept  ",
    "=SUM(A1)",
    "form feed \f and nbsp \u00a0",
    "plain",
]
# Rows 3 and 8 have no score.
CONFIDENCES = {1: 0.9, 2: 0.1, 4: 0.7, 5: 0.7, 6: 0.0, 7: 1.0}
LABELS = {1: "quotes", 2: "cat 🐈", 3: "no score", 4: " quotes "}
COLUMNS = [
    "uid", "row", "url", "caption", "label", "extra", "status", "error_class", "error_message", "width", "height",
    "sha256", "similarity",
    "clean_confidence", "confidence_a", "confidence_b", "rectified_correspondence", "uncertainty",
    "label_confidence", "predicted_label", "weight", "neighbour_agreement", "clip_similarity", "eme", "eme_soft",
    "is_mismatch_issue", "split", "review", "run_id", "elements", "repair",
]  # fmt: skip
LAYOUTS = {
    "caption first": CAPTION_FIRST,
    "URL first": TsvFormat(columns=2, url_column=0, caption_column=1),
    "header": TsvFormat(2, 1, 0, has_header=True, header=("Text", "URL")),
    "five columns": TsvFormat(columns=5, url_column=1, caption_column=0),
    "extra around": TsvFormat(4, 2, 1, has_header=True, header=("id", "caption", "url", "labels")),
}


def url_of(number: int) -> str:
    return f"http://127.0.0.1/{number}.png?a=1&b=ü"


def extra_of(number: int, layout: TsvFormat) -> str | None:
    return "\t".join(f"x{number}.{i}" for i in range(layout.columns - 2)) if layout.columns > 2 else None


def line_of(number: int, layout: TsvFormat) -> str:
    """What the uploaded file had on this line."""
    cells: list[str] = (extra_of(number, layout) or "").split("\t") if layout.columns > 2 else []
    for column, value in sorted([(layout.url_column, url_of(number)), (layout.caption_column, CAPTIONS[number - 1])]):
        cells.insert(column, value)
    return "\t".join(cells)


def publish(engine: Engine, layout: TsvFormat = CAPTION_FIRST) -> Run:
    numbers = range(1, len(CAPTIONS) + 1)
    content = [
        Line(url_of(number), CAPTIONS[number - 1], extra_of(number, layout), LABELS.get(number)) for number in numbers
    ]
    shift = 1 if layout.has_header else 0
    with transaction(engine) as session:
        collection = make_collection(session, content, layout=layout)
        return publish_run(session, collection, {row + shift: value for row, value in CONFIDENCES.items()})


def write_key(engine: Engine, url: str, run: Run) -> Any:
    with transaction(engine) as session:
        name = session.get_one(Workspace, run.workspace_id).name
    return caller(url, engine, Scope.WRITE, name)


@pytest.fixture(scope="module")
def run(engine: Engine) -> Run:
    return publish(engine)


@pytest.fixture(scope="module")
def owner(engine: Engine, service_url: str, run: Run) -> Iterator[httpx.Client]:
    with write_key(engine, service_url, run) as http:
        yield http


def finished(http: httpx.Client, run: Run, **body: Any) -> dict[str, Any]:
    started = http.post(f"/v1/runs/{run.id}/exports", json=body)
    assert started.status_code == 202, started.text
    client = Client(str(http.base_url), http.headers["Authorization"].removeprefix("Bearer "))
    client.wait_for_export(started.json()["id"])
    client.close()
    export = dict(http.get(started.headers["Location"]).json())
    assert (export["state"], export["error"], export["progress"]) == ("succeeded", None, 1)
    return export


def content(http: httpx.Client, export: dict[str, Any]) -> bytes:
    response = http.get(export["download"])
    assert response.status_code == 200
    return response.content


@pytest.fixture(scope="module")
def whole(owner: httpx.Client, run: Run) -> dict[str, Any]:
    return finished(owner, run)


class TestTsv:
    @pytest.mark.parametrize("name", LAYOUTS)
    def test_uploaded_lines_come_back_byte_for_byte(self, engine: Engine, service_url: str, name: str) -> None:
        layout = LAYOUTS[name]
        run = publish(engine, layout)
        with write_key(engine, service_url, run) as http:
            exported = content(http, finished(http, run, format="tsv"))
        lines = [line_of(number, layout) for number in range(1, len(CAPTIONS) + 1)]
        header = ["\t".join(layout.header)] if layout.header else []
        assert exported == "".join(f"{line}\n" for line in header + lines).encode()

    def test_header_stands_above_an_empty_selection_too(self, engine: Engine, service_url: str) -> None:
        run = publish(engine, LAYOUTS["header"])
        with write_key(engine, service_url, run) as http:
            export = finished(http, run, text="nothing like it")
            assert (export["rows"], content(http, export)) == (0, b"Text\tURL\n")


class TestOtherFormats:
    @pytest.fixture
    def pairs(self, owner: httpx.Client, run: Run) -> list[dict[str, Any]]:
        return list(owner.get(f"/v1/runs/{run.id}/pairs").json()["items"])

    def test_jsonl_has_every_column_and_the_values_of_the_pages(
        self, owner: httpx.Client, run: Run, pairs: list[dict[str, Any]]
    ) -> None:
        exported = content(owner, finished(owner, run, format="jsonl")).decode()
        records = [json.loads(line) for line in exported.removesuffix("\n").split("\n")]
        assert [list(record) for record in records] == [COLUMNS] * len(CAPTIONS)
        for record, pair in zip(records, pairs, strict=True):
            assert record.pop("run_id") == str(run.id)
            assert record == {name: pair[name] for name in record}

    def test_parquet_has_every_column_and_the_values_of_the_pages(
        self, owner: httpx.Client, run: Run, pairs: list[dict[str, Any]]
    ) -> None:
        table = pq.read_table(io.BytesIO(content(owner, finished(owner, run, format="parquet"))))
        assert table.column_names == COLUMNS
        for record, pair in zip(table.to_pylist(), pairs, strict=True):
            assert record.pop("run_id") == str(run.id)
            for name, value in record.items():
                expected = pytest.approx(pair[name]) if isinstance(pair[name], float) else pair[name]
                assert value == expected, name

    def test_empty_selection_is_a_readable_parquet_file(self, owner: httpx.Client, run: Run) -> None:
        exported = content(owner, finished(owner, run, format="parquet", text="nothing like it"))
        assert pq.read_table(io.BytesIO(exported)).column_names == COLUMNS


class TestSelection:
    def test_splits_put_together_are_all_rows(self, owner: httpx.Client, run: Run, whole: dict[str, Any]) -> None:
        parts = [finished(owner, run, split=split) for split in ("clean", "noisy", "unscored")]
        assert [part["rows"] for part in parts] == [4, 2, 2]
        lines = [line for part in parts for line in content(owner, part).splitlines()]
        assert sorted(lines) == sorted(content(owner, whole).splitlines())

    @pytest.mark.parametrize(
        "wanted",
        [
            {},
            {"split": "clean"},
            {"split": "unscored"},
            {"min_confidence": 0.7},
            {"max_confidence": 0.7},
            {"min_confidence": 0.1, "max_confidence": 0.7},
            {"text": "quotes"},
            {"label": "quotes"},
            {"label": "cat 🐈", "split": "noisy"},
            {"split": "noisy", "text": "CAT"},
        ],
    )
    def test_export_is_the_pages_put_together(self, owner: httpx.Client, run: Run, wanted: dict[str, Any]) -> None:
        exported = content(owner, finished(owner, run, format="jsonl", **wanted)).decode()
        rows, query = [], {**wanted, "limit": 3}
        while True:
            page = owner.get(f"/v1/runs/{run.id}/pairs", params=query).json()
            rows += [item["row"] for item in page["items"]]
            if page["next"] is None:
                break
            query["cursor"] = page["next"]
        assert [json.loads(line)["row"] for line in exported.splitlines()] == rows


class TestStartExport:
    def test_accepted_export_has_an_address(self, owner: httpx.Client, run: Run) -> None:
        response = owner.post(f"/v1/runs/{run.id}/exports", json={"split": "clean"})
        body = response.json()
        assert response.status_code == 202
        assert response.headers["Location"] == f"/v1/exports/{body['id']}"
        assert int(response.headers["Retry-After"]) >= 1
        assert (body["format"], body["filter"], body["run_id"]) == ("tsv", {"split": "clean"}, str(run.id))

    def test_same_idempotency_key_gives_the_same_export(self, owner: httpx.Client, run: Run) -> None:
        headers, path = {"Idempotency-Key": uuid4().hex}, f"/v1/runs/{run.id}/exports"
        first, again = (owner.post(path, json={"format": "jsonl"}, headers=headers) for _ in range(2))
        assert first.json()["id"] == again.json()["id"]
        problem_of(owner.post(path, json={"format": "tsv"}, headers=headers), 409, "idempotency_key_reused")

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({"format": "xlsx"}, "format"),
            ({"split": "dirty"}, "split"),
            ({"min_confidence": 2}, "min_confidence"),
            ({"splitt": "clean"}, "splitt"),
        ],
    )
    def test_wrong_field_is_named(self, owner: httpx.Client, run: Run, body: dict[str, Any], field: str) -> None:
        assert field in problem_of(owner.post(f"/v1/runs/{run.id}/exports", json=body), 422, "invalid_request")

    def test_run_that_is_not_published_is_a_conflict(self, idle_http: httpx.Client, idle_engine: Engine) -> None:
        with transaction(idle_engine) as session:
            unpublished = make_run(session, make_collection(session, 1, workspace_id=workspace_of(session, idle_http)))
        response = idle_http.post(f"/v1/runs/{unpublished.id}/exports", json={})
        assert "queued" in problem_of(response, 409, "run_not_published")


class TestDownload:
    def test_manifest_is_true(self, owner: httpx.Client, whole: dict[str, Any]) -> None:
        exported = content(owner, whole)
        assert whole["sha256"] == hashlib.sha256(exported).hexdigest()
        assert (whole["bytes"], whole["rows"]) == (len(exported), exported.count(b"\n"))

    def test_headers_say_what_it_is(self, owner: httpx.Client, whole: dict[str, Any]) -> None:
        headers = owner.get(whole["download"]).headers
        assert headers["ETag"] == f'"{whole["sha256"]}"'
        assert headers["Content-Type"].startswith("text/tab-separated-values")
        assert headers["Content-Disposition"].startswith("attachment")
        assert headers["Accept-Ranges"] == "bytes"

    @pytest.mark.parametrize("given", ['"{}"', 'W/"{}"', '"other", "{}"', "*"])
    def test_known_file_is_not_sent_again(self, owner: httpx.Client, whole: dict[str, Any], given: str) -> None:
        response = owner.get(whole["download"], headers={"If-None-Match": given.format(whole["sha256"])})
        assert (response.status_code, response.content) == (304, b"")
        assert response.headers["ETag"] == f'"{whole["sha256"]}"'

    def test_other_file_is_sent(self, owner: httpx.Client, whole: dict[str, Any]) -> None:
        assert owner.get(whole["download"], headers={"If-None-Match": '"other"'}).status_code == 200

    def test_ranges_put_together_are_the_file(self, owner: httpx.Client, whole: dict[str, Any]) -> None:
        parts = [owner.get(whole["download"], headers={"Range": range}) for range in ("bytes=0-9", "bytes=10-")]
        assert [part.status_code for part in parts] == [206, 206]
        assert parts[0].headers["Content-Range"] == f"bytes 0-9/{whole['bytes']}"
        assert parts[0].content + parts[1].content == content(owner, whole)

    def test_range_of_another_file_gets_the_whole(self, owner: httpx.Client, whole: dict[str, Any]) -> None:
        headers = {"Range": "bytes=0-9", "If-Range": '"other"'}
        assert owner.get(whole["download"], headers=headers).status_code == 200

    @pytest.mark.parametrize(("given", "status"), [("bytes=999999-", 416), ("bytes=x-y", 400), ("lines=1-2", 400)])
    def test_range_that_cannot_be_served_is_a_problem(
        self, owner: httpx.Client, whole: dict[str, Any], given: str, status: int
    ) -> None:
        response = owner.get(whole["download"], headers={"Range": given})
        problem_of(response, status, "invalid_range")
        if status == 416:
            assert response.headers["Content-Range"] == f"bytes */{whole['bytes']}"

    def test_file_that_is_not_ready_is_a_conflict(self, idle_http: httpx.Client, idle_engine: Engine) -> None:
        with transaction(idle_engine) as session:
            collection = make_collection(session, 1, workspace_id=workspace_of(session, idle_http))
            published = publish_run(session, collection, {1: 0.5})
        export = idle_http.post(f"/v1/runs/{published.id}/exports", json={}).json()
        assert export["download"] is None
        response = idle_http.get(f"/v1/exports/{export['id']}/download")
        assert "poll" in problem_of(response, 409, "export_not_ready")

    def test_failed_export_tells_why(self, idle_http: httpx.Client, idle_engine: Engine) -> None:
        with transaction(idle_engine) as session:
            collection = make_collection(session, 1, workspace_id=workspace_of(session, idle_http))
            published = publish_run(session, collection, {1: 0.5})
            export = Export(workspace_id=published.workspace_id, run_id=published.id, format="tsv", filter={})
            session.add(export)
            session.flush()
            submissions.submit_export(session, export, collection.id)
            taken = jobs.claim(session, jobs.take_wakeups(session)[0].stage_id, "test", 60)
            assert taken is not None
            jobs.fail(session, taken, jobs.problem("crashed", "It crashed", "The disk is full."))
        body = idle_http.get(f"/v1/exports/{export.id}").json()
        assert (body["state"], body["error"]["detail"]) == ("failed", "The disk is full.")

    def test_lost_file_says_what_to_do(self, owner: httpx.Client, run: Run, settings: Settings) -> None:
        export = finished(owner, run, format="jsonl", split="clean")
        Storage(settings.required_storage).export(export["id"]).unlink()
        assert "again" in problem_of(owner.get(export["download"]), 410, "file_gone")
