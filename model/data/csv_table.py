"""Reader of CSV as RFC 4180 has it: quotes, doubled quotes, newlines inside quotes; comma or semicolon.

A quote that is not closed swallows nothing: a record of several lines counts only if a pair comes out of it. Else its
first line is a Reject, and reading goes on with the second.
"""

import re
from collections import Counter, deque
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from model.data.checks import BadRow, LineCheck, to_json
from model.data.columns import MAX_COLUMNS, choose
from model.data.lines import SAMPLE_LINES, compression_of, read_lines, sample_lines
from model.data.rows import MAX_LINE_BYTES, Pair, Reject
from model.data.source import ReadOptions
from model.data.table_format import TableFormat

DELIMITERS = (",", ";")
MAX_RECORD_LINES = 100
# Possessive: a doubled quote is never tried as the end of the field.
_quoted = re.compile(r'"[^"]*+(?:""[^"]*+)*+"').match

Line = tuple[int, int, bytes]


class OpenQuote(BadRow):
    """The text ends inside quotes."""


class Splitter:
    def __init__(self, delimiter: str) -> None:
        self.delimiter = delimiter

    def __call__(self, text: str) -> list[str]:
        if '"' not in text:
            return text.split(self.delimiter)
        cells: list[str] = []
        start = 0
        while start <= len(text):
            cell, start = self._next(text, start)
            cells.append(cell)
        return cells

    def _next(self, text: str, start: int) -> tuple[str, int]:
        """The cell that begins at `start`, and where the next one begins. A quote inside a bare cell is a character."""
        if not text.startswith('"', start):
            end = text.find(self.delimiter, start)
            return (text[start:], len(text) + 1) if end < 0 else (text[start:end], end + 1)
        quoted = _quoted(text, start)
        if quoted is None:
            limits = f"within {MAX_RECORD_LINES} lines and {MAX_LINE_BYTES:,} bytes"
            raise OpenQuote("unbalanced_quote", f"the quote at character {start} is not closed {limits}")
        end = quoted.end()
        if end < len(text) and text[end] != self.delimiter:
            raise BadRow("unbalanced_quote", f"text follows the closing quote at character {end - 1}")
        return text[start + 1 : end - 1].replace('""', '"'), end + 1


def detect(path: Path, options: ReadOptions) -> TableFormat:
    """Columns and delimiter, from the first lines; what the options say (number from 0, or name) is kept."""
    compression = compression_of(path)
    lines = list(_numbered(sample_lines(path, compression)))
    samples = {delimiter: _sample(lines, Splitter(delimiter)) for delimiter in DELIMITERS}
    delimiter = max(DELIMITERS, key=lambda candidate: _regularity(samples[candidate]))
    return choose(samples[delimiter], options, delimiter=delimiter, compression=compression)


def read(path: Path, fmt: TableFormat, *, allow_paths: bool = False) -> Iterator[Pair | Reject]:
    """Every record but the header gives one Pair or Reject; `row` is the number of its first line."""
    split = Splitter(fmt.delimiter)
    names = fmt.other_names
    check = LineCheck(fmt, allow_paths, split, lambda cells: to_json(dict(zip(names, cells, strict=True))))
    records = _Records(read_lines(path, fmt.compression), split)
    for lines in islice(records, int(fmt.has_header), None):
        row, offset, first = lines[0]
        found = check(row, offset, _joined(lines))
        if len(lines) > 1 and isinstance(found, Reject):
            records.give_back(lines[1:])
            found = check(row, offset, first.removesuffix(b"\r"))
        yield found


def is_likely(lines: list[bytes]) -> bool:
    """Whether some of the lines have several columns."""
    return any(_regularity(_sample(list(_numbered(lines)), Splitter(delimiter))) for delimiter in DELIMITERS)


def _regularity(sample: list[list[str]]) -> int:
    """How many rows have the width that most of those with several columns have."""
    return max(Counter(len(row) for row in sample if len(row) > 1).values(), default=0)


class _Records:
    """Lines put together to records: all that a quoted field spans, if it is closed within the limits."""

    def __init__(self, lines: Iterator[Line], split: Splitter) -> None:
        self._lines = lines
        self._ahead: deque[Line] = deque()
        self._split = split

    def __iter__(self) -> Iterator[list[Line]]:
        while (first := self._next()) is not None:
            yield self._whole(first)

    def give_back(self, lines: list[Line]) -> None:
        self._ahead.extendleft(reversed(lines))

    def _next(self) -> Line | None:
        return self._ahead.popleft() if self._ahead else next(self._lines, None)

    def _whole(self, first: Line) -> list[Line]:
        taken, size = [first], len(first[2])
        is_open = self._is_open(taken)
        while is_open:
            following = self._next()
            if following is not None:
                taken.append(following)
                size += 1 + len(following[2])
            if following is None or len(taken) > MAX_RECORD_LINES or size > MAX_LINE_BYTES:
                self.give_back(taken[1:])
                return [first]
            is_open = b'"' not in following[2] or self._is_open(taken)
        return taken

    def _is_open(self, lines: list[Line]) -> bool:
        record = _joined(lines)
        if b'"' not in record:
            return False
        try:
            self._split(record.decode("utf-8", "replace"))
        except OpenQuote:
            return True
        except BadRow:
            return False
        return False


def _joined(lines: list[Line]) -> bytes:
    return b"\n".join([line for _, _, line in lines]).removesuffix(b"\r")


def _numbered(lines: list[bytes]) -> Iterator[Line]:
    return ((row, 0, line) for row, line in enumerate(lines, start=1))


def _sample(lines: list[Line], split: Splitter) -> list[list[str]]:
    sample = []
    for record in islice(_Records(iter(lines), split), SAMPLE_LINES):
        text = _joined(record).decode("utf-8", "replace")
        try:
            sample.append(split(text)[: MAX_COLUMNS + 1])
        except BadRow:
            sample.append([text])
    return sample
