"""Reader of JSONL: one object a line. The other fields go to `extra` as a JSON object; NaN and infinity, which JSON
does not have, become null there."""

import json
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from model.data.checks import BadRow, check_line, check_text, label_of, make_pair, rejected, to_json, utf8_fault
from model.data.columns import MAX_COLUMNS, choose
from model.data.lines import compression_of, read_lines, sample_lines
from model.data.rows import FileError, Pair, Reject
from model.data.source import ReadOptions
from model.data.table_format import TableFormat


def detect(path: Path, options: ReadOptions) -> TableFormat:
    """The fields with URL, caption and label, from the first lines; what the options say is kept."""
    compression = compression_of(path)
    records: list[dict[str, Any]] = []
    fault: Exception | None = None
    for line in sample_lines(path, compression):
        try:
            records.append(_parse(line))
        except (BadRow, RecursionError) as error:
            fault = fault or error
    if not records:
        raise FileError("bad_json", f"None of the first lines is a JSON object; the first: {fault}.")
    found = {name: None for record in records for name in record}  # a set that keeps the order
    names = tuple(found)[:MAX_COLUMNS]
    sample = [[_cell(record.get(name)) for name in names] for record in records]
    return choose(sample, options, names=names, compression=compression)


def read(path: Path, fmt: TableFormat, *, allow_paths: bool = False) -> Iterator[Pair | Reject]:
    """Every line gives exactly one Pair or Reject; FileError where the file breaks off."""
    for row, offset, line in read_lines(path, fmt.compression):
        try:
            yield _pair(row, _parse(line), fmt, allow_paths)
        except BadRow as error:
            yield rejected(row, offset, line, error.fault)
        except RecursionError:
            yield rejected(row, offset, line, ("bad_json", "nested too deeply"))


def _pair(row: int, record: dict[str, Any], fmt: TableFormat, allow_paths: bool) -> Pair:
    names = fmt.header or ()
    label = None if fmt.label_column is None else label_of(record.get(names[fmt.label_column]), fmt)
    url, caption = (_take(record, names[column]) for column in (fmt.url_column, fmt.caption_column))
    return make_pair(row, url, caption, to_json(record) if record else None, label, fmt, allow_paths)


def _take(record: dict[str, Any], name: str) -> str:
    """The text of a field, which is then no longer among the others."""
    if name not in record:
        raise BadRow("missing_field", f"there is no field {name[:40]!r}")
    value = record.pop(name)
    if value is not None and not isinstance(value, str):
        raise BadRow("not_a_string", f"the field {name[:40]!r} holds {to_json(value)[:80]}")
    return value or ""


def _cell(value: object) -> str:
    return value if isinstance(value, str) else ""


def _parse(line: bytes) -> dict[str, Any]:
    """The object of a line; BadRow where there is none."""
    check_line(line.removesuffix(b"\r"))
    try:
        value = _decoder.decode(line.decode())
    except UnicodeDecodeError as error:
        raise BadRow(*utf8_fault(error, "the line")) from None
    except ValueError as error:
        raise BadRow("bad_json", str(error)[:200]) from None
    if not isinstance(value, dict):
        raise BadRow("bad_json", f"a JSON {type(value).__name__} where an object is wanted")
    if b"\\u" in line:  # written out like this, a text can hold what UTF-8 cannot
        check_text(value)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the key {twice[:40]!r} occurs twice")
    return found


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


_decoder = json.JSONDecoder(object_pairs_hook=_object, parse_float=_finite, parse_constant=lambda _: None)
