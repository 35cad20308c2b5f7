"""Parquet files one after the other, with features whose row i is pair i: clip-retrieval and DataComp."""

from collections.abc import Iterator
from typing import Any

from model.data.checks import BadRow
from model.data.columns import CAPTION_NAMES, LABEL_NAMES
from model.data.folders.arrays import Stacked
from model.data.folders.base import MEMBER_URL, FolderSource, judged
from model.data.folders.fields import caption_of, extra_of, label_of, name_of, pick, url_of
from model.data.folders.folder import Folder
from model.data.folders.listing import Listing
from model.data.folders.parquet_rows import ParquetRows
from model.data.rows import FileError, Pair, Reject, pair_uid
from model.data.source import ImageSource, ReadOptions, SourceFeatures

URL_NAMES = frozenset({"url", "image_url"})
PATH_NAMES = frozenset({"image_path", "filepath"})


class FeatureTables(FolderSource):
    def __init__(
        self, format: str, folder: Folder, listing: Listing, options: ReadOptions, tables: list[ParquetRows]
    ) -> None:
        super().__init__(folder, listing, options)
        self.format = format
        self.tables = tables
        self.images = ImageSource.URLS
        self._features: SourceFeatures | None = None
        names = tables[0].names
        self.caption = pick(names, options.caption_column, CAPTION_NAMES, "caption")
        self.url = pick(names, options.url_column, URL_NAMES, "URL")
        self.path = pick(names, None, PATH_NAMES, "path")
        self.label = pick(names, options.label_column, LABEL_NAMES, "label")
        if self.caption is None:
            raise FileError(
                "no_such_column",
                f"{tables[0].name} has the columns {', '.join(names)[:300]}: none of them is caption, text or title. "
                "Name the caption column.",
            )

    def add_features(self, images: Stacked, captions: Stacked | None) -> None:
        """Row i of the features belongs to row i of the tables."""
        self._features = SourceFeatures(images, captions)
        self.images = ImageSource.FEATURES

    def features(self) -> SourceFeatures:
        return super().features() if self._features is None else self._features

    def details(self) -> dict[str, Any]:
        columns = {"url": self.url, "caption": self.caption, "label": self.label}
        found: dict[str, Any] = {
            "shards": len(self.tables),
            "rows": sum(table.rows for table in self.tables),
            "columns": columns,
        }
        if self._features is not None:
            found["features"] = {
                name: {"shape": list(array.shape), "dtype": str(array.dtype)}
                for name, array in (("images", self._features.images), ("captions", self._features.captions))
                if array is not None
            }
        return found

    def rows(self) -> Iterator[Pair | Reject]:
        row = 0
        for table in self.tables:
            for number, record in enumerate(table):
                row += 1
                yield self._row(row, f"{table.name} row {number:,}", record)

    def _row(self, row: int, where: str, record: dict[str, Any]) -> Pair | Reject:
        text = record.get(self.caption or "") or record.get(self.url or "") or ""
        shown = text if isinstance(text, str | bytes) else str(text)
        return judged(row, row - 1, shown, lambda: self._pair(row, where, record))

    def _pair(self, row: int, where: str, record: dict[str, Any]) -> Pair:
        caption = caption_of(record.get(self.caption or ""), where)
        given = record.get(self.url) if self.url else None
        url = url_of(given, allow_paths=self.options.allow_paths)
        used = {self.caption, self.url if url else None}
        if url is None and self.images is ImageSource.FEATURES:
            url = MEMBER_URL + name_of(record.get(self.path) if self.path else None, row - 1)
        if url is None:
            reason = "not_a_url" if given else "empty_url"
            raise BadRow(reason, f"{where}: {self.url} holds {str(given or '')[:80]!r}")
        others = {name: value for name, value in record.items() if name not in used}
        label = label_of(record.get(self.label)) if self.label else None
        place = str(row - 1) if self.images is ImageSource.FEATURES else None
        return Pair(row, pair_uid(url, caption), url, caption, extra_of(others, where), label, place)
