"""Files as people have them, through upload and a real worker: every line accounted for, or a clear no."""

import gzip
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, func, select

from model.config import MIN_PAIRS
from service.client import ApiProblem, Client
from service.db.session import transaction
from service.db.tables import Pair, Reject
from service.schemas import Collection

GOOD = b"a red house\thttp://127.0.0.1/1.png\n"
MORE = b"two boats at sea\thttp://127.0.0.1/2.png\n"
URL_FIRST = b"http://127.0.0.1/1.png\ta red house\n"

pytestmark = pytest.mark.usefixtures("worker")
Ingest = Callable[..., Collection]


@pytest.fixture
def ingest(client: Client, tmp_path: Path) -> Ingest:
    """Upload the content and wait for what the worker makes of it."""

    def upload(content: bytes, id: Any = None, **options: Any) -> Collection:
        path = tmp_path / "file.tsv"
        path.write_bytes(content)
        collection_id = id or client.create_collection("bad input", **options).id
        client.upload(collection_id, path)
        return client.wait_for_collection(collection_id)

    return upload


def stored(engine: Engine, collection: Collection) -> list[Pair]:
    with transaction(engine) as session:
        return list(session.scalars(select(Pair).where(Pair.collection_id == collection.id).order_by(Pair.row)))


@dataclass(frozen=True)
class Case:
    """A file, how many of its lines are accepted, and (row, byte offset, reason, words of the detail) of the others."""

    content: bytes
    accepted: int
    rejects: list[tuple[int, int, str, str]] = field(default_factory=list)


LONG = b"x" * 1_000_000 + b"\thttp://127.0.0.1/3.png\n"
ACCEPTED = {
    "no tab in one line": Case(
        GOOD + b"no tab here\n" + MORE, 2, [(2, len(GOOD), "too_few_columns", "1 columns, expected 2")]
    ),
    "tab inside a caption": Case(
        GOOD + b"a\tb\thttp://127.0.0.1/3.png\n" + MORE, 2, [(2, len(GOOD), "too_many_columns", "3 columns")]
    ),
    "empty line": Case(GOOD + b"\n" + MORE, 2, [(2, len(GOOD), "empty_line", "nothing")]),
    "latin-1 line": Case(
        GOOD + "ein grünes Haus\thttp://127.0.0.1/3.png\n".encode("latin-1") + MORE,
        2,
        [(2, len(GOOD), "not_utf8", "byte 0xfc at byte 6")],
    ),
    "NUL byte": Case(
        GOOD + b"a \0 b\thttp://127.0.0.1/3.png\n" + MORE, 2, [(2, len(GOOD), "nul_byte", "NUL at byte 2")]
    ),
    "line of 1 MB": Case(GOOD + LONG + MORE, 2, [(2, len(GOOD), "line_too_long", "65,536")]),
    "URL that is no URL": Case(
        GOOD + b"a cat\tnot a url\n" + b"a dog\tjavascript:alert(1)\n" + MORE,
        2,
        [(2, len(GOOD), "not_a_url", "not a url"), (3, len(GOOD) + 16, "not_a_url", "javascript")],
    ),
    "empty caption and empty URL": Case(
        GOOD + b"  \thttp://127.0.0.1/3.png\n" + b"a cat\t\n" + MORE,
        2,
        [(2, len(GOOD), "empty_caption", "empty"), (3, len(GOOD) + 26, "empty_url", "empty")],
    ),
    "stray quote": Case(b'a 5" screen\thttp://127.0.0.1/0.png\n' + GOOD + MORE + b'"open\thttp://127.0.0.1/9.png\n', 4),
    "last line without newline": Case(GOOD + MORE.rstrip(b"\n"), 2),
    "CRLF": Case(GOOD.replace(b"\n", b"\r\n") + MORE.replace(b"\n", b"\r\n"), 2),
    "BOM": Case(b"\xef\xbb\xbf" + GOOD + MORE, 2),
    "BOM and a bad line": Case(
        b"\xef\xbb\xbf" + GOOD + b"bad\n" + MORE, 2, [(2, 3 + len(GOOD), "too_few_columns", "1 columns")]
    ),
    "header": Case(b"caption\turl\n" + GOOD + MORE, 2),
    "header and a bad line": Case(
        b"caption\turl\n" + GOOD + b"bad\n" + MORE, 2, [(3, 12 + len(GOOD), "too_few_columns", "1 columns")]
    ),
    "duplicate lines": Case(GOOD + MORE + GOOD, 3),
    "gzip": Case(gzip.compress(GOOD + b"bad\n" + MORE), 2, [(2, len(GOOD), "too_few_columns", "1 columns")]),
    "gzip of two members": Case(gzip.compress(GOOD) + gzip.compress(MORE), 2),
    "URL first": Case(URL_FIRST + b"http://127.0.0.1/2.png\ttwo boats\n", 2),
}


class TestAcceptedFiles:
    @pytest.mark.parametrize("name", ACCEPTED)
    def test_every_line_is_accounted_for(self, client: Client, engine: Engine, ingest: Ingest, name: str) -> None:
        case = ACCEPTED[name]
        collection = ingest(case.content)
        assert (collection.state, collection.error) == ("ready", None)
        assert (collection.accepted, collection.rejected) == (case.accepted, len(case.rejects))
        assert collection.lines_read == collection.accepted + collection.rejected
        assert sum(collection.reject_reasons.values()) == len(case.rejects)
        listed = list(client.rejects(collection.id))
        assert [(item["row"], item["byte_offset"], item["reason"]) for item in listed] == [
            expected[:3] for expected in case.rejects
        ]
        for item, (*_, words) in zip(listed, case.rejects, strict=True):
            assert words in item["detail"]
            assert len(item["text"]) <= 200
        assert len(stored(engine, collection)) == case.accepted

    def test_duplicate_lines_keep_their_rows_and_share_the_uid(self, engine: Engine, ingest: Ingest) -> None:
        first, other, again = stored(engine, ingest(ACCEPTED["duplicate lines"].content))
        assert (first.row, other.row, again.row) == (1, 2, 3)
        assert first.uid == again.uid != other.uid

    def test_rows_are_numbered_as_in_the_file(self, engine: Engine, ingest: Ingest) -> None:
        assert [pair.row for pair in stored(engine, ingest(ACCEPTED["header and a bad line"].content))] == [2, 4]

    @pytest.mark.parametrize("name", ["stray quote", "CRLF", "BOM", "gzip"])
    def test_captions_are_kept_byte_for_byte(self, engine: Engine, ingest: Ingest, name: str) -> None:
        content = ACCEPTED[name].content
        plain = gzip.decompress(content) if name == "gzip" else content
        lines = plain.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").splitlines()
        expected = [line.split(b"\t")[0].decode() for line in lines if b"\t" in line]
        assert [pair.caption for pair in stored(engine, ingest(content))] == expected

    @pytest.mark.parametrize(("content", "url"), [(GOOD, 1), (URL_FIRST, 0)])
    def test_both_column_orders_give_the_same_pair(
        self, engine: Engine, ingest: Ingest, content: bytes, url: int
    ) -> None:
        collection = ingest(content)
        assert collection.format is not None
        assert (collection.format["url_column"], collection.format["caption_column"]) == (url, 1 - url)
        [pair] = stored(engine, collection)
        assert (pair.url, pair.caption) == ("http://127.0.0.1/1.png", "a red house")

    def test_columns_can_be_named(self, engine: Engine, ingest: Ingest) -> None:
        content = b"alt\tlink\tcaption\nthe right one\thttp://127.0.0.1/1.png\tthe wrong one\n"
        collection = ingest(content, url_column="link", caption_column="alt")
        assert [pair.caption for pair in stored(engine, collection)] == ["the right one"]


REFUSED = {
    "only a newline": (b"\n", "one_column", "TAB"),
    "one column": (b"a red house\na boat\n", "one_column", "TAB"),
    "UTF-16": ((GOOD + MORE).decode().encode("utf-16"), "utf16", "Save it as UTF-8"),
    "UTF-16 without a mark": ((GOOD + MORE).decode().encode("utf-16-le"), "no_url_column", "UTF-16"),
    "broken zip": (b"PK\x03\x04" + bytes(30), "zip_corrupt", "unzip -t"),
    "no URL anywhere": (b"a cat\ta dog\na\tb\n", "no_url_column", "URL"),
    "gzip cut short": (gzip.compress(GOOD * 2000)[:-200], "gzip_cut_short", "after line"),
    "gzip cut in its head": (gzip.compress(GOOD)[:5], "gzip_cut_short", "after line 0"),
    "gzip of nothing": (gzip.compress(b""), "empty_file", "empty"),
    "gzip with a flipped bit": (
        gzip.compress(GOOD)[:-6] + bytes([gzip.compress(GOOD)[-6] ^ 1]) + gzip.compress(GOOD)[-5:],
        "gzip_corrupt",
        "gzip -t",
    ),
    "no usable line": (
        b"a cat\thttp://\na dog\thttp://\n" + b"\thttp://127.0.0.1/1.png\n",
        "nothing_usable",
        "3 lines",
    ),
}


class TestRefusedFiles:
    @pytest.mark.parametrize("name", REFUSED)
    def test_reason_is_told_nothing_is_kept_and_another_file_is_welcome(
        self, client: Client, engine: Engine, ingest: Ingest, name: str
    ) -> None:
        content, code, words = REFUSED[name]
        failed = ingest(content)
        assert failed.state == "failed"
        assert failed.error is not None
        assert failed.error.code == code
        assert words in failed.error.detail
        assert (failed.lines_read, failed.accepted, failed.rejected, failed.reject_reasons) == (0, 0, 0, {})
        with transaction(engine) as session:
            for table in (Pair, Reject):
                assert session.scalar(select(func.count()).where(table.collection_id == failed.id)) == 0
        repaired = ingest(GOOD + MORE, failed.id)
        assert (repaired.state, repaired.error, repaired.accepted) == ("ready", None, 2)

    def test_column_that_is_not_there_is_named(self, ingest: Ingest) -> None:
        failed = ingest(GOOD, caption_column="title", header=True)
        assert failed.error is not None
        assert (failed.error.code, "'title'" in failed.error.detail) == ("no_such_column", True)

    def test_empty_file_is_refused_at_the_door(self, client: Client, tmp_path: Path) -> None:
        path = tmp_path / "empty.tsv"
        path.touch()
        collection = client.create_collection("empty")
        with pytest.raises(ApiProblem) as refused:
            client.upload(collection.id, path)
        assert (refused.value.status, refused.value.code) == (422, "empty_file")
        assert client.collection(collection.id) == collection


class TestRunsOnBadInput:
    def test_too_few_pairs_states_the_minimum(self, client: Client, ingest: Ingest) -> None:
        collection = ingest(GOOD + MORE)
        with pytest.raises(ApiProblem, match=f"has 2 pairs; training needs at least {MIN_PAIRS}") as refused:
            client.start_run(collection.id, {})
        assert refused.value.code == "too_few_pairs"

    def test_worker_is_still_alive_after_all_of_this(self, worker: subprocess.Popen[bytes]) -> None:
        assert worker.poll() is None
