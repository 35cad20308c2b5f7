"""Reader of CC-style TSV: split on TAB and newline only, quotes are literal, captions are kept byte for byte.

`detect` says from the first lines what the columns are; `read` streams every line as a Pair or a Reject.
"""

from collections.abc import Iterator
from pathlib import Path

from model.data.checks import LineCheck
from model.data.columns import MAX_COLUMNS, choose
from model.data.lines import compression_of, read_lines, sample_lines
from model.data.rows import FileError, Pair, Reject
from model.data.source import ReadOptions
from model.data.table_format import TableFormat

TsvFormat = TableFormat  # what an export needs to write the lines again


def detect(path: Path, options: ReadOptions) -> TableFormat:
    """The columns of a file, from its first lines; what the options say (number from 0, or name) is kept."""
    compression = compression_of(path)
    lines = sample_lines(path, compression)
    if len(lines) == 1 and lines[0].count(b"\r") > 1:
        raise FileError(
            "cr_lines", "Its lines end in CR alone (old Mac OS). Save it with LF or CRLF and upload it again."
        )
    sample = [line.removesuffix(b"\r").decode("utf-8", "replace").split("\t", MAX_COLUMNS) for line in lines]
    return choose(sample, options, compression=compression)


def read(path: Path, fmt: TableFormat, *, allow_paths: bool = False) -> Iterator[Pair | Reject]:
    """Every line but the header gives exactly one Pair or Reject; FileError where the file breaks off."""
    check = LineCheck(fmt, allow_paths, _split, "\t".join)
    lines = read_lines(path, fmt.compression)
    if fmt.has_header:
        next(lines, None)
    for row, offset, line in lines:
        yield check(row, offset, line[:-1] if line.endswith(b"\r") else line)


def rebuild(url: str, caption: str, extra: str | None, fmt: TableFormat) -> str:
    """The line a pair came from, without its newline."""
    cells = [] if extra is None else extra.split("\t")
    for column, value in sorted([(fmt.url_column, url), (fmt.caption_column, caption)]):
        cells.insert(column, value)
    return "\t".join(cells)


def _split(line: str) -> list[str]:
    return line.split("\t")
