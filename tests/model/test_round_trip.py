"""What is written by a format's own rules is read back byte for byte; of any bytes every line is accounted for."""

import csv
import gzip
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from model.data import csv_table, jsonl, tsv
from model.data.rows import MAX_LINE_BYTES, REASONS, FileError, Pair, Reject, pair_uid
from model.data.source import ReadOptions
from model.data.table_format import TableFormat
from model.data.tables import open_table

URL = "https://example.org/a.jpg"
HEADER = ("id", "url", "caption", "note")
# Any text that a database stores: no NUL, no lone surrogates.
anything = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20) | st.sampled_from(
    [
        '"',
        '""',
        '"a" b',
        "a\\tb",
        "\\N",
        "\\.",
        "👩‍👩‍👧",
        "עברית, English",
        "e\u0301",
        "",
        " ",
        "a\r\nb",
        "\r",
        "=1+1",
        "{",
        "a,b;c",
        "null",
    ]
)
in_one_line = anything.map(lambda text: text.translate({9: None, 10: None, 13: None}))
Cells = tuple[str, str, str]  # id, caption, note


def rows_of(cell: st.SearchStrategy[str]) -> st.SearchStrategy[list[Cells]]:
    return st.lists(st.tuples(cell, cell.filter(str.strip), cell), min_size=1, max_size=5)


def lines_of(rows: Sequence[Cells]) -> list[list[str]]:
    return [list(HEADER), *([number, f"{URL}?{i}", caption, note] for i, (number, caption, note) in enumerate(rows))]


def write_tsv(rows: Sequence[Cells], end: str) -> bytes:
    return "".join("\t".join(cells) + end for cells in lines_of(rows)).encode()


def write_csv(rows: Sequence[Cells], end: str) -> bytes:
    text = io.StringIO(newline="")
    # Everything quoted: a bare CR before the LF of a line would be part of its end.
    csv.writer(text, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(lines_of(rows))
    return text.getvalue().encode()


def write_jsonl(rows: Sequence[Cells], end: str) -> bytes:
    records = [dict(zip(HEADER, cells, strict=True)) for cells in lines_of(rows)[1:]]
    return "".join(json.dumps(record, ensure_ascii=end == "\n") + end for record in records).encode()


def write_parquet(rows: Sequence[Cells], _: str) -> bytes:
    columns = zip(*lines_of(rows)[1:], strict=True)
    sink = io.BytesIO()
    pq.write_table(pa.table(dict(zip(HEADER, map(list, columns), strict=True))), sink)
    return sink.getvalue()


WRITERS: dict[str, Callable[[Sequence[Cells], str], bytes]] = {
    "tsv": write_tsv,
    "csv": write_csv,
    "jsonl": write_jsonl,
    "parquet": write_parquet,
}
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file that the property tests overwrite."""
    return tmp_path_factory.mktemp("round_trip") / "property"


def read_back(path: Path, name: str, content: bytes) -> list[Pair]:
    path.write_bytes(content)
    options = ReadOptions(input_format=name, url_column="url", caption_column="caption")
    found = list(open_table(path, options).rows())
    assert all(isinstance(item, Pair) for item in found), found
    return [item for item in found if isinstance(item, Pair)]


def extra_of(name: str, cells: Cells) -> str:
    return (
        f"{cells[0]}\t{cells[2]}"
        if name == "tsv"
        else json.dumps({"id": cells[0], "note": cells[2]}, ensure_ascii=False)
    )


class TestRoundTrip:
    @pytest.mark.parametrize("name", WRITERS)
    @settings(deadline=None, max_examples=60)
    @given(data=st.data(), end=st.sampled_from(["\n", "\r\n"]), packing=st.sampled_from(list(PACKERS)))
    def test_every_text_comes_back_as_it_was(
        self, scratch: Path, name: str, data: st.DataObject, end: str, packing: str
    ) -> None:
        rows = data.draw(rows_of(in_one_line if name == "tsv" else anything))
        content = WRITERS[name](rows, end)
        found = read_back(scratch, name, content if name == "parquet" else PACKERS[packing](content))
        assert [pair.caption.encode() for pair in found] == [cells[1].encode() for cells in rows]
        assert [pair.extra for pair in found] == [extra_of(name, cells) for cells in rows]
        assert [pair.url for pair in found] == [f"{URL}?{i}" for i in range(len(rows))]
        assert [pair.uid for pair in found] == [pair_uid(pair.url, pair.caption) for pair in found]


pieces = st.sampled_from(
    [
        b"\n",
        b"\r\n",
        b'"',
        b",",
        b"\t",
        b"{",
        b"}",
        b":",
        b"\\u0000",
        b"\\",
        b"\0",
        b"\xff",
        URL.encode(),
        b'"url"',
        b'"caption"',
        b" a dog ",
    ]
)
any_bytes = st.binary(max_size=80) | st.lists(pieces | st.binary(max_size=8), max_size=30).map(b"".join)
PROPER = {"tsv": f"{URL}\ta\n", "csv": f"{URL},a\n", "jsonl": json.dumps({"url": URL, "caption": "a"}) + "\n"}
FORMATS = {
    "tsv": TableFormat(2, 0, 1),
    "csv": TableFormat(2, 0, 1, delimiter=","),
    "jsonl": TableFormat(2, 0, 1, header=("url", "caption")),
}


def lines_taken(item: Pair | Reject) -> int:
    """A reject is always one line; a pair of CSV may span as many more as there are newlines in its text."""
    return 1 + (item.caption.count("\n") if isinstance(item, Pair) else 0)


class TestAccounting:
    @pytest.mark.parametrize("name", FORMATS)
    @settings(deadline=None, max_examples=150)
    @given(parts=st.lists(any_bytes, max_size=4))
    def test_every_line_is_a_pair_or_a_reject(self, scratch: Path, name: str, parts: list[bytes]) -> None:
        good = PROPER[name].encode()
        content = good + good.join(parts)
        scratch.write_bytes(content)
        read = {"tsv": tsv.read, "csv": csv_table.read, "jsonl": jsonl.read}[name]
        found = list(read(scratch, FORMATS[name]))
        row = 1
        for item in found:
            assert item.row == row
            assert isinstance(item, Pair) or item.reason in REASONS
            row += lines_taken(item)
        assert row - 1 == content.removesuffix(b"\n").count(b"\n") + 1
        for item in found:
            if isinstance(item, Reject):
                assert content[: item.offset].count(b"\n") == item.row - 1

    @settings(deadline=None, max_examples=150)
    @given(content=any_bytes, name=st.sampled_from([None, "tsv", "csv", "jsonl", "parquet"]))
    def test_any_bytes_are_read_or_refused_as_a_whole(self, scratch: Path, content: bytes, name: str | None) -> None:
        scratch.write_bytes(content)
        try:
            found = list(open_table(scratch, ReadOptions(input_format=name)).rows())
        except FileError:
            return
        assert all(isinstance(item, Pair | Reject) for item in found)

    def test_hostile_quotes_end(self, scratch: Path) -> None:
        scratch.write_bytes(
            f"{URL},a\n".encode() + b'"""\n' * 20_000 + b'"x,""\n' * 2_000 + b'""",' * (MAX_LINE_BYTES // 4)
        )
        found = list(csv_table.read(scratch, FORMATS["csv"]))
        assert len(found) == 22_002
