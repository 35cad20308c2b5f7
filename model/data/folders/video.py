"""Pooled features of videos (or of anything): one .npy of shape (N, D) and one text, TSV or CSV with the captions."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from model.data.checks import BadRow
from model.data.folders.arrays import Stacked
from model.data.folders.base import MEMBER_URL, FolderSource, judged
from model.data.folders.caption_table import Assignment, CaptionTable, Row
from model.data.folders.clip_retrieval import npy_part
from model.data.folders.fields import caption_of, extra_of, name_of
from model.data.folders.folder import Folder
from model.data.folders.lines import Lines
from model.data.folders.listing import Listing
from model.data.folders.names import is_table, is_text, last_extension, stem_of
from model.data.rows import Pair, Reject, pair_uid
from model.data.source import ImageSource, ReadOptions, SourceFeatures

EXPECTED = "one .npy of shape (N, D) and one .tsv, .csv or .txt with the captions"


def find(folder: Folder, listing: Listing, options: ReadOptions) -> "Video | None":
    arrays = listing.names(lambda name: last_extension(name) == "npy")
    tables = listing.names(is_table) or listing.names(is_text)
    if len(arrays) != 1 or len(tables) != 1 or listing.images or tables[0].endswith((".parquet", ".jsonl")):
        return None
    return Video(folder, listing, options, arrays[0], tables[0])


class Video(FolderSource):
    format = "video"
    images = ImageSource.FEATURES

    def __init__(self, folder: Folder, listing: Listing, options: ReadOptions, array: str, table: str) -> None:
        super().__init__(folder, listing, options)
        self.stem = stem_of(array).rpartition("/")[2]
        self._array = Stacked([npy_part(folder, listing, array)])
        self.table = CaptionTable(Lines(folder.plain(listing.files[table]), table), table, options)
        self.assignment = Assignment(self.table, len(self._array), array)

    def details(self) -> dict[str, Any]:
        layout = self.table.layout
        return {
            "captions": len(self.table),
            "columns": {"caption": layout.caption, "id": layout.id},
            "header": None if layout.header is None else list(layout.header),
            "rows_belong_by": self.assignment.rule,
            "features": {"images": {"shape": list(self._array.shape), "dtype": str(self._array.dtype)}},
        }

    def features(self) -> SourceFeatures:
        return SourceFeatures(self._array, None)

    def rows(self) -> Iterator[Pair | Reject]:
        for row, place in self.assignment:
            offset = self.table.lines.offset(row.line)
            yield judged(row.line + 1, offset, self.table.lines[row.line], partial(self._pair, row, place))

    def _pair(self, row: Row, place: int | None) -> Pair:
        where = f"{self.table.name} line {row.line + 1:,}"
        if row.fault is not None:
            raise row.fault
        layout = self.table.layout
        if place is None:
            given = row.cells[layout.id or 0][:80]
            raise BadRow(
                "no_features", f"{where}: {given!r} is no row of the array; they are 0 to {len(self._array) - 1:,}"
            )
        caption = caption_of(row.cells[layout.caption].encode(), where)
        is_named = self.assignment.rule.startswith("ids") and layout.id is not None
        url = f"{MEMBER_URL}{self.stem}/{name_of(row.cells[layout.id or 0] if is_named else None, place)}"
        names = layout.header or tuple(str(number) for number in range(layout.columns))
        others = {names[i]: cell for i, cell in enumerate(row.cells) if i not in (layout.caption, layout.id)}
        return Pair(row.line + 1, pair_uid(url, caption), url, caption, extra_of(others, where), None, str(place))
