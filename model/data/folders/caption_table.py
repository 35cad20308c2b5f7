"""A small table of captions without URLs: text, TSV or CSV, whose rows belong to the rows of an array.

Which row of the array a caption describes: the number in an index column, else the k-th id in order of appearance, else
the order of the lines, the same number of captions for each.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from model.data.checks import BadRow, utf8_fault
from model.data.columns import CAPTION_NAMES
from model.data.csv_table import Splitter
from model.data.folders.fields import pick
from model.data.folders.lines import Lines
from model.data.folders.names import last_extension
from model.data.rows import FileError
from model.data.source import ReadOptions

INDEX_NAMES = frozenset({"index", "idx", "row", "video_index", "image_index"})
ID_NAMES = frozenset({"id", "video_id", "image_id", "video", "vid", "clip_id", "name", "filename"})
_TEXT_NAMES = (*CAPTION_NAMES, "sentence", "description")


class Row(NamedTuple):
    line: int  # number from 0
    cells: list[str]
    fault: BadRow | None


@dataclass(frozen=True)
class Layout:
    columns: int
    caption: int
    id: int | None
    is_index: bool  # named so by the header
    header: tuple[str, ...] | None


class CaptionTable:
    def __init__(self, lines: Lines, name: str, options: ReadOptions) -> None:
        self.lines, self.name = lines, name
        self._kind = last_extension(name.removesuffix(".gz").removesuffix(".zst"))
        self.layout = self._detect(options)

    def __len__(self) -> int:
        return len(self.lines) - (self.layout.header is not None)

    def __iter__(self) -> Iterator[Row]:
        first = 0 if self.layout.header is None else 1
        for number in range(first, len(self.lines)):
            yield self._row(number)

    def _row(self, number: int) -> Row:
        try:
            cells = self._split(self.lines[number])
        except BadRow as fault:
            return Row(number, [], fault)
        if len(cells) != self.layout.columns:
            reason = "too_few_columns" if len(cells) < self.layout.columns else "too_many_columns"
            detail = f"{self.name} line {number + 1:,}: {len(cells)} columns, not {self.layout.columns}"
            return Row(number, cells, BadRow(reason, detail))
        return Row(number, cells, None)

    def _split(self, line: bytes) -> list[str]:
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            raise BadRow(*utf8_fault(error, "the line")) from None
        if self._kind == "csv":
            return Splitter(",")(text)
        return text.split("\t") if self._kind == "tsv" else [text]

    def _detect(self, options: ReadOptions) -> Layout:
        try:
            first = self._split(self.lines[0])
        except BadRow as fault:
            raise FileError("bad_header", f"Line 1 of {self.name} cannot be read: {fault}.") from None
        known = {cell.strip().lower() for cell in first} & {*_TEXT_NAMES, *INDEX_NAMES, *ID_NAMES}
        has_header = bool(known) and len(first) > 1 if options.header is None else options.header
        if not has_header:
            names = [str(number) for number in range(len(first))]
            caption = pick(names, options.caption_column, (), "caption")
            column = len(first) - 1 if caption is None else int(caption)
            others = [number for number in range(len(first)) if number != column]
            return Layout(len(first), column, others[0] if others else None, False, None)
        chosen = pick(first, options.caption_column, _TEXT_NAMES, "caption") or first[-1]
        index = pick(first, None, INDEX_NAMES, "index")
        id_name = index or pick(first, None, ID_NAMES, "id")
        id_column = None if id_name is None or id_name == chosen else first.index(id_name)
        return Layout(
            len(first), first.index(chosen), id_column, id_column is not None and index is not None, tuple(first)
        )


class Assignment:
    """Which row of an array of `count` rows each row of the table belongs to."""

    def __init__(self, table: CaptionTable, count: int, array: str) -> None:
        self._table = table
        self._count = count
        groups, all_indices, last = 0, True, None
        column = table.layout.id
        for row in table:
            key = None if column is None or row.fault else row.cells[column]
            if key is not None and key != last:
                groups, last = groups + 1, key
                all_indices = all_indices and _is_index(key, count)
        if column is not None and groups and (table.layout.is_index or all_indices):
            self.rule = "index column"
        elif column is not None and groups == count:
            self.rule = "ids in order of appearance"
        elif count and len(table) and not len(table) % count:
            self.rule = f"order of lines, {len(table) // count} for each row"
        else:
            ids = f" with {groups:,} ids one after the other" if column is not None else ""
            raise FileError(
                "counts_differ",
                f"{table.name} has {len(table):,} captions{ids}, but {array} has {count:,} rows: the captions must be "
                "as many, or a multiple, or name the row of each in a column `index` (from 0).",
            )

    def __iter__(self) -> Iterator[tuple[Row, int | None]]:
        """Each row of the table with its row of the array; None where it names none that exists."""
        column, group, last = self._table.layout.id, -1, None
        each = max(1, len(self._table) // max(1, self._count))
        for number, row in enumerate(self._table):
            key = None if column is None or row.fault else row.cells[column]
            if key is not None and key != last:
                group, last = group + 1, key
            if self.rule == "index column":
                yield row, int(key) if key is not None and _is_index(key, self._count) else None
            else:
                yield row, max(0, group) if self.rule.startswith("ids") else number // each


def _is_index(key: str, count: int) -> bool:
    return key.isascii() and key.isdecimal() and len(key) < 19 and int(key) < count
