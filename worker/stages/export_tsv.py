"""Pairs as TSV: the uploaded lines byte for byte where the upload was TSV; else its columns, if TSV can hold them.
And their weights, which training code joins to what it has by uid or row."""

import json
from collections.abc import Callable
from typing import Any

from sqlalchemy import Row

from model.data import tsv
from model.data.table_format import TableFormat
from model.data.tables import READERS
from worker.stages.context import StageFailed

# No escape for these exists in the TSV of this field; a reader would see more columns or lines.
_SEPARATORS = ("\t", "\n", "\r")
# Of uploads that are no table.
_PLAIN_HEADER = ["url", "caption"]
WEIGHT_HEADER = "uid\trow\tweight"

Line = Callable[[Row[Any]], str]


def tsv_form(described: dict[str, Any]) -> tuple[str | None, Line]:
    """The header line, if there is one, and what makes a line of a pair; from what the source said of itself."""
    described = described.get("table", described)  # of an archive of images with one
    if described.get("format", "tsv") == "tsv":
        layout = TableFormat.from_dict(described)
        header = "\t".join(layout.header) if layout.header else None
        return header, lambda row: tsv.rebuild(row.url, row.caption, row.extra, layout)
    is_table = described["format"] in READERS
    cells = _columns(TableFormat.from_dict(described)) if is_table else _url_and_caption
    names = described.get("header") if is_table else _PLAIN_HEADER
    header = _joined(names, "the header") if names else None
    return header, lambda row: _joined(cells(row), f"row {row.row:,}")


def weight_line(row: Row[Any]) -> str:
    return f"{row.uid.hex}\t{row.row}\t{'' if row.weight is None else row.weight}"


def _columns(layout: TableFormat) -> Callable[[Row[Any]], list[str]]:
    others = list(zip(layout.others, layout.other_names, strict=True))

    def cells(row: Row[Any]) -> list[str]:
        extra = json.loads(row.extra) if row.extra else {}
        values = [""] * layout.columns
        values[layout.url_column], values[layout.caption_column] = row.url, row.caption
        for column, name in others:
            values[column] = _text(extra.get(name))
        return values

    return cells


def _url_and_caption(row: Row[Any]) -> list[str]:
    return [row.url, row.caption]


def _text(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _joined(cells: list[str], where: str) -> str:
    for cell in cells:
        if any(separator in cell for separator in _SEPARATORS):
            detail = f"In {where}, {cell[:80]!r} holds a TAB or a line break, and TSV cannot. Export jsonl or parquet."
            raise StageFailed("not_for_tsv", "TSV cannot hold these pairs", detail)
    return "\t".join(cells)
