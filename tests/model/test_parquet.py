"""The Parquet reader: every row a Pair or a Reject, whatever the columns are made of, in constant memory."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from model.data.parquet import detect, read
from model.data.rows import FileError, Pair, Reject
from model.data.source import ReadOptions

URL = "https://example.org/a.jpg"
BAD_UTF8 = pa.Array.from_buffers(
    pa.string(), 2, [None, pa.py_buffer(b"\0\0\0\0\4\0\0\0\5\0\0\0"), pa.py_buffer(b"caf\xe9x")]
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "pairs.parquet"


def results(path: Path, columns: dict[str, Any], **options: Any) -> list[Pair | Reject]:
    table = pa.table(columns)
    pq.write_table(table, path, **options)
    return list(read(path, detect(path, ReadOptions())))


def only_pair(path: Path, columns: dict[str, Any]) -> Pair:
    (pair,) = results(path, {"url": [URL], "caption": ["a dog"], **columns})
    assert isinstance(pair, Pair)
    return pair


class TestRead:
    @pytest.mark.parametrize(
        "kind", [pa.string(), pa.large_string(), pa.binary(), pa.dictionary(pa.int32(), pa.string())], ids=str
    )
    def test_text_of_every_kind_is_the_same(self, file: Path, kind: pa.DataType) -> None:
        columns = {
            name: pa.array(values, kind) for name, values in {"URL": [URL, URL], "TEXT": [" 👩‍👩‍👧\n", None]}.items()
        }
        first, second = results(file, columns)
        assert isinstance(first, Pair)
        assert (first.row, first.url, first.caption, first.extra) == (1, URL, " 👩‍👩‍👧\n", None)
        assert isinstance(second, Reject)
        assert (second.row, second.offset, second.reason) == (2, 1, "empty_caption")

    @pytest.mark.parametrize(
        ("column", "expected"),
        [
            (pa.array([7]), 7),
            (pa.array([2**64 - 1], pa.uint64()), 2**64 - 1),
            (pa.array([True]), True),
            (pa.array([None], pa.int8()), None),
            (pa.array([float("nan")]), None),
            (pa.array([0.1]), 0.1),
            (pa.array([["é", None], ["x"]][:1]), ["é", None]),
            (pa.array([{"a": [1.5, float("inf")], "b": "x"}]), {"a": [1.5, None], "b": "x"}),
            (pa.array([date(2020, 2, 29)]), "2020-02-29"),
            (
                pa.array([datetime(2020, 1, 1, 12, tzinfo=UTC)], pa.timestamp("s", "Nowhere/At_All")),
                "2020-01-01 12:00:00.000",
            ),
            (pa.array([1], pa.timestamp("ns")), "1970-01-01 00:00:00.000000001"),
            (pa.array([Decimal("1.50")]), "1.50"),
            (pa.array(["x"]).dictionary_encode(), "x"),
        ],
        ids=lambda value: str(getattr(value, "type", "")),
    )
    def test_other_columns_become_json(self, file: Path, column: pa.Array, expected: object) -> None:
        assert json.loads(only_pair(file, {"other": column}).extra or "") == {"other": expected}

    @pytest.mark.parametrize(
        "column",
        [pa.array([b"\xff\xd8"]), pa.array([{"bytes": b"x", "path": "y"}]), pa.array([[b"x"]])],
        ids=lambda value: str(value.type),
    )
    def test_binary_columns_are_left_out(self, file: Path, column: pa.Array) -> None:
        assert only_pair(file, {"image": column}).extra is None

    def test_label_is_text(self, file: Path) -> None:
        assert only_pair(file, {"label": pa.array([7])}).label == "7"

    def test_column_names_with_dots_are_names(self, file: Path) -> None:
        assert only_pair(file, {"a.b": ["x"]}).extra == '{"a.b": "x"}'

    def test_many_row_groups_and_batches_are_numbered_through(self, file: Path) -> None:
        count = 2_500
        columns = {"url": [f"{URL}?{i}" for i in range(count)], "caption": [f"c {i}" for i in range(count)]}
        found = results(file, columns, row_group_size=700)
        assert [(item.row, item.url) for item in found if isinstance(item, Pair)] == [
            (i + 1, f"{URL}?{i}") for i in range(count)
        ]

    def test_one_huge_row_group_is_not_held(self, file: Path) -> None:
        rows, caption = 30_000, "x" * 2_000
        columns = {"url": [f"{URL}?{i}" for i in range(rows)], "caption": [f"{i}{caption}" for i in range(rows)]}
        pq.write_table(pa.table(columns), file, compression="none", use_dictionary=False, row_group_size=rows)
        columns.clear()
        pool = pa.default_memory_pool()
        pool.release_unused()
        before, most = pool.bytes_allocated(), 0
        for item in read(file, detect(file, ReadOptions())):
            if item.row % 500 == 0:
                most = max(most, pool.bytes_allocated() - before)
        assert item.row == rows
        assert most < file.stat().st_size / 4


class TestRejects:
    @pytest.mark.parametrize(
        ("url", "caption", "reason"),
        [
            (None, "a", "empty_url"),
            ("", "a", "empty_url"),
            (URL, " ", "empty_caption"),
            ("nothing", "a", "not_a_url"),
            (URL, "a\0b", "nul_byte"),
            (URL, "x" * 70_000, "line_too_long"),
        ],
    )
    def test_bad_row_has_its_reason(self, file: Path, url: str | None, caption: str, reason: str) -> None:
        found = results(file, {"url": [URL, url], "caption": ["good", caption]})
        assert [getattr(item, "reason", "") for item in found] == ["", reason]

    @pytest.mark.parametrize("name", ["caption", "remark"])
    def test_bad_utf8_costs_its_row_only(self, file: Path, name: str) -> None:
        columns = {"url": [URL, URL], "caption": ["a", "b"]} | {name: BAD_UTF8}
        first, second = results(file, columns)
        assert isinstance(first, Reject)
        assert (first.reason, "0xe9 at byte 3" in first.detail) == ("not_utf8", True)
        assert isinstance(second, Pair)

    def test_bad_utf8_in_a_list_costs_its_row_only(self, file: Path) -> None:
        lists = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), BAD_UTF8)
        found = results(file, {"url": [URL, URL], "caption": ["a", "b"], "tags": lists})
        assert [getattr(item, "reason", "") for item in found] == ["not_utf8", ""]

    def test_nul_in_another_column_is_refused(self, file: Path) -> None:
        (found,) = results(file, {"url": [URL], "caption": ["a"], "x": ["a\0"]})
        assert isinstance(found, Reject)
        assert found.reason == "nul_byte"


class TestFileErrors:
    @pytest.mark.parametrize(
        ("columns", "options", "reason"),
        [
            ({"url": [], "caption": []}, {}, "empty_file"),
            ({"url": [URL]}, {}, "one_column"),
            ({"a": ["x"], "b": ["y"]}, {}, "no_url_column"),
            ({"url": [URL], "caption": [7]}, {}, "not_a_string"),
            ({"url": [URL], "n": [7], "t": ["a"]}, {"caption_column": "n"}, "not_a_string"),
            ({"url": [URL], "caption": ["a"]}, {"caption_column": "words"}, "no_such_column"),
        ],
    )
    def test_hopeless_file_or_wrong_choice_says_why(
        self, file: Path, columns: dict[str, Any], options: dict[str, Any], reason: str
    ) -> None:
        pq.write_table(pa.table(columns), file)
        with pytest.raises(FileError) as caught:
            detect(file, ReadOptions(**options))
        assert caught.value.reason == reason

    def test_two_columns_of_one_name_are_refused(self, file: Path) -> None:
        pq.write_table(
            pa.Table.from_arrays([pa.array([URL]), pa.array(["a"]), pa.array(["b"])], ["url", "t", "t"]), file
        )
        with pytest.raises(FileError, match="named 't'"):
            detect(file, ReadOptions())

    @pytest.mark.parametrize("keep", [4, 100, -1])
    def test_cut_file_is_broken(self, file: Path, keep: int) -> None:
        pq.write_table(pa.table({"url": [URL] * 50, "caption": ["a"] * 50}), file)
        file.write_bytes(file.read_bytes()[:keep])
        with pytest.raises(FileError, match="cannot be read") as caught:
            detect(file, ReadOptions())
        assert caught.value.reason == "parquet_broken"

    def test_damage_in_the_middle_ends_the_reading(self, file: Path) -> None:
        columns = {"url": [f"{URL}?{i}" for i in range(3_000)], "caption": [f"c {i}" for i in range(3_000)]}
        pq.write_table(pa.table(columns), file, row_group_size=1_500, compression="zstd", use_dictionary=False)
        fmt = detect(file, ReadOptions())
        damaged = bytearray(file.read_bytes())
        middle = pq.ParquetFile(file).metadata.row_group(1).column(0).data_page_offset
        damaged[middle : middle + 60] = bytes(60)
        file.write_bytes(damaged)
        seen: list[Pair | Reject] = []
        with pytest.raises(FileError) as caught:
            seen.extend(read(file, fmt))
        assert caught.value.reason == "parquet_broken"
        assert len(seen) <= 1_500
