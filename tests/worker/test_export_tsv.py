"""Pairs as TSV lines, whatever the upload was."""

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest
from sqlalchemy import Row

from model.data.table_format import TableFormat
from worker.stages.context import StageFailed
from worker.stages.export_tsv import tsv_form


def pair(**columns: Any) -> Row[Any]:
    given = {"row": 7, "url": "http://a/1", "caption": "a dog", "extra": None}
    return cast(Row[Any], SimpleNamespace(**given | columns))


def described(format: str, header: tuple[str, ...] | None, url: int, caption: int, columns: int) -> dict[str, Any]:
    layout = TableFormat(columns, url, caption, has_header=header is not None, header=header)
    return {"format": format, "images": "urls", **layout.to_dict()}


class TestTsvForm:
    def test_tsv_is_as_it_was_uploaded(self) -> None:
        header, line = tsv_form(described("tsv", None, 1, 0, 3))
        assert header is None
        assert line(pair(extra="x,y")) == "a dog\thttp://a/1\tx,y"

    def test_csv_keeps_its_columns_in_their_order(self) -> None:
        header, line = tsv_form(described("csv", ("id", "url", "tags", "title"), 1, 3, 4))
        assert header == "id\turl\ttags\ttitle"
        assert line(pair(extra=json.dumps({"id": "4", "tags": None}))) == "4\thttp://a/1\t\ta dog"

    def test_columns_of_one_name_keep_their_own_values(self) -> None:
        header, line = tsv_form(described("csv", ("x", "url", "x", "title"), 1, 3, 4))
        assert header == "x\turl\tx\ttitle"
        assert line(pair(extra=json.dumps({"x": "1", "x_2": "2"}))) == "1\thttp://a/1\t2\ta dog"

    def test_values_that_are_no_text_are_json(self) -> None:
        _, line = tsv_form(described("jsonl", ("url", "text", "size"), 0, 1, 3))
        assert line(pair(extra=json.dumps({"size": [1, 2]}))) == "http://a/1\ta dog\t[1, 2]"

    @pytest.mark.parametrize(
        "given",
        [
            {"format": "webdataset", "images": "members"},
            {"format": "datacomp", "images": "features", "columns": {"url": "url", "caption": "text"}},
        ],
    )
    def test_what_is_no_table_gives_url_and_caption(self, given: dict[str, Any]) -> None:
        header, line = tsv_form(given)
        assert (header, line(pair(extra='{"key": "1"}'))) == ("url\tcaption", "http://a/1\ta dog")

    @pytest.mark.parametrize(("format", "extra"), [("tsv", "7"), ("csv", '{"id": 7}')])
    def test_archive_of_images_gives_the_columns_of_its_table(self, format: str, extra: str) -> None:
        table = described(format, ("id", "url", "title"), 1, 2, 3)
        header, line = tsv_form({"format": "images", "images": "members", "table": {"name": "t", **table}})
        assert (header, line(pair(extra=extra))) == ("id\turl\ttitle", "7\thttp://a/1\ta dog")

    @pytest.mark.parametrize("caption", ["a\tb", "a\nb", "a\rb"])
    def test_what_tsv_cannot_hold_fails_with_the_row(self, caption: str) -> None:
        _, line = tsv_form({"format": "webdataset", "images": "members"})
        with pytest.raises(StageFailed, match=r"row 7.*Export jsonl or parquet"):
            line(pair(caption=caption))
