"""One file with a row for each pair: TSV, CSV, JSONL or Parquet. The images are at the rows' URLs."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from model.data import csv_table
from model.data.lines import compression_of, sample_lines
from model.data.rows import FileError, Pair, Reject
from model.data.source import ImageSource, ReadOptions, SourceFeatures
from model.data.table_format import TableFormat

# Imported when needed: Parquet's reader takes 40 MB.
READERS = {
    "tsv": "model.data.tsv",
    "csv": "model.data.csv_table",
    "jsonl": "model.data.jsonl",
    "parquet": "model.data.parquet",
}


class Reader(Protocol):
    """What each of these modules has."""

    def detect(self, path: Path, options: ReadOptions, /) -> TableFormat: ...
    def read(self, path: Path, fmt: TableFormat, /, *, allow_paths: bool) -> Iterator[Pair | Reject]: ...


class TableSource:
    images = ImageSource.URLS

    def __init__(self, path: Path, name: str, options: ReadOptions) -> None:
        self.format = name
        self._path = path
        self._allow_paths = options.allow_paths
        self._reader = cast(Reader, import_module(READERS[name]))
        self.layout = self._reader.detect(path, options)

    def describe(self) -> dict[str, Any]:
        """All that TableFormat.from_dict needs, and more."""
        return {"format": self.format, "images": str(self.images), **self.layout.to_dict()}

    def rows(self) -> Iterator[Pair | Reject]:
        return self._reader.read(self._path, self.layout, allow_paths=self._allow_paths)

    def read_image(self, place: str, max_bytes: int) -> bytes:
        raise FileError("no_images", f"A {self.format} file holds no images: they are at the URLs of its rows.")

    def features(self) -> SourceFeatures:
        raise FileError("no_features", f"A {self.format} file holds no features.")


def open_table(path: Path, options: ReadOptions) -> TableSource:
    """The table in a file, of the format that the options name, if it is one of a table, or else the content shows."""
    name = options.input_format
    return TableSource(path, name if name is not None and name in READERS else table_format_of(path), options)


def table_format_of(path: Path) -> str:
    """By the content, never by the name. A TAB in most lines wins over commas: captions are full of them."""
    with path.open("rb") as file:
        if file.read(4) == b"PAR1":
            return "parquet"
    sample = [line for line in sample_lines(path, compression_of(path)) if line.strip()]
    if sample and sample[0].lstrip().startswith(b"{"):
        return "jsonl"
    if 2 * sum(b"\t" in line for line in sample) >= max(1, len(sample)):
        return "tsv"
    return "csv" if csv_table.is_likely(sample) else "tsv"
