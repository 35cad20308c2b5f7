"""Reader of one Parquet file, a few rows at a time whatever the size of its row groups.

The other columns go to `extra` as a JSON object: text, numbers, booleans and lists or structs of them as they are (NaN
and infinity as null); dates, times (in UTC) and decimals as text. Binary columns and other types are left out.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from model.data.checks import BadRow, check_text, label_of, make_pair, rejected, to_json, utf8_fault
from model.data.columns import CAPTION_NAMES, MAX_COLUMNS, URL_NAMES, choose
from model.data.lines import SAMPLE_LINES
from model.data.rows import MAX_LINE_BYTES, FileError, Pair, Reject
from model.data.source import ReadOptions
from model.data.table_format import TableFormat

MAGIC = b"PAR1"
BATCH_ROWS = 1_000
_BUFFER_BYTES = 1 << 20  # of each column; without it a whole row group is read at once

types = pa.types


def detect(path: Path, options: ReadOptions) -> TableFormat:
    """The columns with URL, caption and label, from names and first rows; what the options say is kept."""
    with _opened(path) as file:
        schema = file.schema_arrow
        names = tuple(schema.names)
        _check_names(names)
        if not file.metadata.num_rows:
            raise FileError("empty_file", "The Parquet file has no rows. Upload one with a pair in each row.")
        given = {column for column in (options.url_column, options.caption_column) if column is not None}
        looked_at = [i for i, field in enumerate(schema) if _may_be_text(field, i, given)]
        batch = next(file.iter_batches(SAMPLE_LINES, columns=[names[i] for i in looked_at], use_threads=False), None)
        cells = {i: _values(batch.column(names[i])) for i in looked_at} if batch is not None else {}
        rows = 0 if batch is None else len(batch)
        sample = [[_cell(cells[i][row]) if i in cells else "" for i in range(len(names))] for row in range(rows)]
        fmt = choose(sample, options, names=names)
        for column in (fmt.url_column, fmt.caption_column):
            if column not in looked_at:
                raise FileError(
                    "not_a_string", f"Column {names[column]!r} holds {schema.field(column).type}; it must hold text."
                )
        return fmt


def read(path: Path, fmt: TableFormat, *, allow_paths: bool = False) -> Iterator[Pair | Reject]:
    """Every row gives exactly one Pair or Reject; `row` counts from 1. FileError where the file breaks off."""
    names = fmt.header or ()
    url_name, caption_name = names[fmt.url_column], names[fmt.caption_column]
    label_name = None if fmt.label_column is None else names[fmt.label_column]
    row = 0
    with _opened(path) as file:
        kept = [field.name for field in file.schema_arrow if _is_simple(field.type)]
        wanted = list(dict.fromkeys([url_name, caption_name, *kept]))
        for batch in file.iter_batches(BATCH_ROWS, columns=wanted, use_threads=False):
            columns = [_values(batch.column(name)) for name in wanted]
            for values in zip(*columns, strict=True):
                row += 1
                record = dict(zip(wanted, values, strict=True))
                url, caption = record.pop(url_name), record.pop(caption_name)
                try:
                    label = None if label_name is None else label_of(record.get(label_name), fmt)
                    extra = _extra(record)
                    check_text([url, caption])
                    _check_size(url, caption, extra)
                    yield make_pair(row, _text(url), _text(caption), extra, label, fmt, allow_paths)
                except BadRow as error:
                    shown = f"{_cell(url)}\t{_cell(caption)}"[:MAX_LINE_BYTES].encode()
                    yield rejected(row, row - 1, shown, error.fault)


@contextmanager
def _opened(path: Path) -> Iterator[pq.ParquetFile]:
    try:
        with pq.ParquetFile(path, buffer_size=_BUFFER_BYTES, pre_buffer=False) as file:
            yield file
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # a fault of the disk, not of the file
            raise
        what = " ".join(str(error).split())[:300]
        raise FileError("parquet_broken", f"The Parquet file cannot be read: {what}. Write it again.") from None


def _check_names(names: Sequence[str]) -> None:
    if len(names) > MAX_COLUMNS:
        raise FileError(
            "too_many_columns", f"The Parquet file has {len(names):,} columns; up to {MAX_COLUMNS:,} are read."
        )
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise FileError("bad_header", f"Two columns are named {twice[:40]!r}. Give them different names.")


def _may_be_text(field: pa.Field, number: int, given: set[int | str]) -> bool:
    """Binary counts only where a name says that it is text: it may as well be images."""
    if _is_text(field.type):
        return True
    is_named = field.name.strip().lower() in URL_NAMES + CAPTION_NAMES or bool(
        given & {number, str(number), field.name}
    )
    return is_named and _is_binary(_value_type(field.type))


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if types.is_dictionary(kind) else kind


def _is_text(kind: pa.DataType) -> bool:
    kind = _value_type(kind)
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _is_binary(kind: pa.DataType) -> bool:
    return bool(types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind))


def _is_printed(kind: pa.DataType) -> bool:
    return bool(types.is_date(kind) or types.is_time(kind) or types.is_timestamp(kind) or types.is_decimal(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_null(kind))


def _is_simple(kind: pa.DataType) -> bool:
    kind = _value_type(kind)
    return _is_text(kind) or _is_printed(kind) or _is_nest(kind)


def _is_nest(kind: pa.DataType) -> bool:
    """Numbers and text, and lists and structs of them."""
    if types.is_struct(kind):
        return all(_is_nest(kind.field(i).type) for i in range(kind.num_fields))
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return _is_nest(kind.value_type)
    return _is_number(kind) or bool(types.is_string(kind) or types.is_large_string(kind))


def _values(column: pa.Array) -> list[Any]:
    """JSON values; in the place of one that is no UTF-8, the BadRow to raise for it."""
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if types.is_timestamp(column.type):
        column = column.cast(pa.timestamp(column.type.unit))  # no time zone: the instant in UTC
    if _is_printed(column.type):
        column = column.cast(pa.string())
    if _is_text(column.type) or _is_binary(column.type):
        return [None if value is None else _decoded(value) for value in column.cast(pa.large_binary()).to_pylist()]
    if _is_number(column.type) and not types.is_floating(column.type):
        return list(column.to_pylist())
    return [_plain(value) for value in column]


def _decoded(value: bytes) -> str | BadRow:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        return BadRow(*utf8_fault(error, "the value"))


def _plain(scalar: pa.Scalar) -> Any:
    try:
        return _finite(scalar.as_py())
    except UnicodeDecodeError as error:
        return BadRow(*utf8_fault(error, "the value"))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return value


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _text(value: Any) -> str:
    if isinstance(value, BadRow):
        raise value
    return value or ""


def _extra(record: dict[str, Any]) -> str | None:
    for value in record.values():
        if isinstance(value, BadRow):
            raise value
    check_text(record)
    return to_json(record) if record else None


def _check_size(url: Any, caption: Any, extra: str | None) -> None:
    if len(_cell(url)) + len(_cell(caption)) + len(extra or "") > MAX_LINE_BYTES:
        raise BadRow("line_too_long", f"more than {MAX_LINE_BYTES:,} bytes in text")
