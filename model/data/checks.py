"""The checks that a row of any table must pass to be a pair; else the first fault found, coarse ones first."""

import json
from collections.abc import Callable, Iterator

from model.data.rows import MAX_LINE_BYTES, Pair, Reject, is_url, pair_uid, preview
from model.data.table_format import TableFormat

Fault = tuple[str, str]  # a key of REASONS, and the detail

to_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


class BadRow(ValueError):
    """No cells or values can be had of the row."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.fault: Fault = reason, detail


class LineCheck:
    """Makes a Pair or a Reject of each line of a table whose cells are text."""

    def __init__(
        self,
        fmt: TableFormat,
        allow_paths: bool,
        split: Callable[[str], list[str]],
        extra_of: Callable[[list[str]], str],
    ) -> None:
        self.fmt = fmt
        self.allow_paths = allow_paths
        self.split = split
        self.extra_of = extra_of
        self.others = fmt.others

    def __call__(self, row: int, offset: int, line: bytes) -> Pair | Reject:
        fmt = self.fmt
        try:
            if b"\0" in line or len(line) > MAX_LINE_BYTES:
                check_line(line)
            cells = self.split(line.decode())
            if len(cells) != fmt.columns:
                check_line(line)
                reason = "too_few_columns" if len(cells) < fmt.columns else "too_many_columns"
                raise BadRow(reason, f"{len(cells)} columns, expected {fmt.columns}")
            url, caption = cells[fmt.url_column], cells[fmt.caption_column]
            label = None if fmt.label_column is None else label_of(cells[fmt.label_column], fmt)
            extra = self.extra_of([cells[i] for i in self.others]) if self.others else None
            return make_pair(row, url, caption, extra, label, fmt, self.allow_paths)
        except UnicodeDecodeError as error:
            return rejected(row, offset, line, utf8_fault(error, "the line"))
        except BadRow as error:
            return rejected(row, offset, line, error.fault)


def make_pair(
    row: int, url: str, caption: str, extra: str | None, label: str | None, fmt: TableFormat, allow_paths: bool
) -> Pair:
    """The pair; BadRow where these values are none."""
    if is_url(url, allow_paths=allow_paths) and caption and not caption.isspace():
        return Pair(row, pair_uid(url, caption), url, caption, extra, label)
    if not url.strip():
        raise BadRow("empty_url", f"{fmt.name(fmt.url_column)} is empty")
    if not caption.strip():
        raise BadRow("empty_caption", f"{fmt.name(fmt.caption_column)} is empty")
    raise BadRow("not_a_url", f"{fmt.name(fmt.url_column)} holds {url[:80]!r}")


def check_line(line: bytes) -> None:
    """BadRow where something is wrong with the bytes of a line, before any format is looked at."""
    if len(line) > MAX_LINE_BYTES:
        raise BadRow("line_too_long", f"more than {MAX_LINE_BYTES:,} bytes")
    if not line.strip(b" "):
        raise BadRow("empty_line", "nothing before the newline")
    if (nul := line.find(b"\0")) >= 0:
        raise BadRow("nul_byte", f"NUL at byte {nul} of the line")


def utf8_fault(error: UnicodeDecodeError, where: str) -> Fault:
    return "not_utf8", f"byte 0x{error.object[error.start]:02x} at byte {error.start} of {where}: {error.reason}"


def check_text(value: object) -> None:
    """BadRow where a text of a JSON value holds what no database stores: NUL, or half a surrogate pair."""
    for text in _texts(value):
        if "\0" in text:
            raise BadRow("nul_byte", f"NUL at character {text.index(chr(0))} of {text[:40]!r}")
        if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
            raise BadRow("not_utf8", f"half a surrogate pair (\\ud800 to \\udfff) in {text[:40]!r}")


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(key)
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def label_of(value: object, fmt: TableFormat) -> str | None:
    """As it stands in the file, the first where several are listed; spaces alone are no label."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, int | float):
        value = str(value)
    if not isinstance(value, str):
        return None
    label = value.split(",")[0] if fmt.is_label_list else value
    return label if label and not label.isspace() else None


def rejected(row: int, offset: int, line: bytes, fault: Fault) -> Reject:
    return Reject(row, offset, *fault, preview(line))
