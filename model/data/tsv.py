"""Reader of CC-style TSV: split on TAB and newline only, quotes are literal, captions are kept byte for byte.

`detect` says from the first lines what the columns are; `read` streams every line as a Pair or a Reject.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from model.data.columns import Layout, choose
from model.data.lines import Compression, compression_of, read_lines
from model.data.rows import MAX_LINE_BYTES, FileError, Pair, Reject, is_url, pair_uid, preview

__all__ = ["FileError", "Pair", "Reject", "TsvFormat", "detect", "read", "rebuild"]

SAMPLE_LINES = 1_000


@dataclass(frozen=True)
class TsvFormat:
    columns: int
    url_column: int
    caption_column: int
    has_header: bool = False
    header: tuple[str, ...] | None = None
    compression: Compression = None
    label_column: int | None = None
    is_label_list: bool = False  # labels with commas between them: the first counts

    def __post_init__(self) -> None:
        if not (0 <= self.url_column < self.columns and 0 <= self.caption_column < self.columns):
            raise ValueError(f"url and caption must be among the {self.columns} columns, counted from 0")
        if self.url_column == self.caption_column:
            raise ValueError(f"url and caption cannot both be column {self.url_column}")
        if self.label_column is not None and (
            not 0 <= self.label_column < self.columns or self.label_column in (self.url_column, self.caption_column)
        ):
            raise ValueError(f"column {self.label_column} cannot be the label")

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"header": None if self.header is None else list(self.header)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "TsvFormat":
        header = values.get("header")
        return cls(**values | {"header": None if header is None else tuple(header)})


def detect(
    path: str | Path,
    *,
    url_column: int | str | None = None,
    caption_column: int | str | None = None,
    label_column: int | str | None = None,
    header: bool | None = None,
    allow_paths: bool = False,
) -> TsvFormat:
    """The columns of a file, from its first lines; what the caller gives (number from 0, or name) is kept."""
    path = Path(path)
    compression = compression_of(path)
    sample: list[list[str]] = []
    for row, _, line in read_lines(path, compression):
        sample.append(line.removesuffix(b"\r").decode("utf-8", "replace").split("\t"))
        if row == SAMPLE_LINES:
            break
    layout: Layout = choose(sample, url_column, caption_column, label_column, header, allow_paths)
    return TsvFormat(
        columns=layout.columns,
        url_column=layout.url,
        caption_column=layout.caption,
        has_header=layout.header is not None,
        header=layout.header,
        compression=compression,
        label_column=layout.label,
        is_label_list=layout.is_label_list,
    )


def read(path: str | Path, fmt: TsvFormat, *, allow_paths: bool = False) -> Iterator[Pair | Reject]:
    """Every line but the header gives exactly one Pair or Reject; FileError where the file breaks off."""
    columns, url_column, caption_column = fmt.columns, fmt.url_column, fmt.caption_column
    others = [i for i in range(columns) if i not in (url_column, caption_column)]
    lines = read_lines(Path(path), fmt.compression)
    if fmt.has_header:
        next(lines, None)
    for row, offset, line in lines:
        if line.endswith(b"\r"):
            line = line[:-1]
        try:
            cells = line.decode().split("\t")
            url, caption = cells[url_column], cells[caption_column]
        except (UnicodeDecodeError, IndexError):
            yield _reject(row, offset, line, fmt)
            continue
        if (
            len(cells) != columns
            or not is_url(url, allow_paths=allow_paths)
            or not caption
            or caption.isspace()
            or b"\0" in line
            or len(line) > MAX_LINE_BYTES
        ):
            yield _reject(row, offset, line, fmt)
            continue
        extra = "\t".join([cells[i] for i in others]) if others else None
        yield Pair(row, pair_uid(url, caption), url, caption, extra, _label(cells, fmt))


def rebuild(url: str, caption: str, extra: str | None, fmt: TsvFormat) -> str:
    """The line a pair came from, without its newline."""
    cells = [] if extra is None else extra.split("\t")
    for column, value in sorted([(fmt.url_column, url), (fmt.caption_column, caption)]):
        cells.insert(column, value)
    return "\t".join(cells)


def _label(cells: list[str], fmt: TsvFormat) -> str | None:
    """As it stands in the file, the first where several are listed; spaces alone are no label."""
    if fmt.label_column is None:
        return None
    label = cells[fmt.label_column]
    if fmt.is_label_list:
        label = label.split(",")[0]
    return label if label and not label.isspace() else None


def _reject(row: int, offset: int, line: bytes, fmt: TsvFormat) -> Reject:
    reason, detail = _why(line, fmt)
    return Reject(row, offset, reason, detail, preview(line))


def _why(line: bytes, fmt: TsvFormat) -> tuple[str, str]:
    """What is wrong with a line that `read` would not take: the first fault found, coarse ones first."""
    if len(line) > MAX_LINE_BYTES:
        return "line_too_long", f"more than {MAX_LINE_BYTES:,} bytes"
    if not line.strip(b" "):
        return "empty_line", "nothing before the newline"
    if (nul := line.find(b"\0")) >= 0:
        return "nul_byte", f"NUL at byte {nul} of the line"
    try:
        cells = line.decode().split("\t")
    except UnicodeDecodeError as error:
        return "not_utf8", f"byte 0x{line[error.start]:02x} at byte {error.start} of the line: {error.reason}"
    if len(cells) != fmt.columns:
        fault = "too_few_columns" if len(cells) < fmt.columns else "too_many_columns"
        return fault, f"{len(cells)} columns, expected {fmt.columns}"
    url = cells[fmt.url_column]
    if not url.strip():
        return "empty_url", f"column {fmt.url_column} is empty"
    if not cells[fmt.caption_column].strip():
        return "empty_caption", f"column {fmt.caption_column} is empty"
    return "not_a_url", f"column {fmt.url_column} holds {url[:80]!r}"
