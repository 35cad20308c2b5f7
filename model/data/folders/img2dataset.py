"""The output of img2dataset: NNNNN.tar with the images and NNNNN.parquet with one row for every URL that was tried.

The Parquet file is the truth: failed downloads are rows too. An image is found in the tar by its key.
"""

from collections.abc import Iterator
from typing import Any

from model.data.checks import BadRow
from model.data.columns import CAPTION_NAMES, LABEL_NAMES, URL_NAMES
from model.data.folders.base import MEMBER_URL, FolderSource, judged
from model.data.folders.extent import Extent
from model.data.folders.fields import caption_of, extra_of, label_of, pick, url_of
from model.data.folders.folder import Folder
from model.data.folders.index import NameIndex
from model.data.folders.listing import Listing
from model.data.folders.names import is_image, is_tar_name, last_extension, split_key, stem_of
from model.data.folders.parquet_rows import ParquetRows
from model.data.folders.tars import tar_members
from model.data.rows import FileError, Pair, Reject, pair_uid
from model.data.source import ImageSource, ReadOptions

EXPECTED = "shards NNNNN.tar with NNNNN.parquet (columns key, url, caption, status) beside them"


def find(folder: Folder, listing: Listing, options: ReadOptions) -> "Img2Dataset | None":
    tars = {stem_of(name): name for name in listing.names(is_tar_name)}
    tables = {stem_of(name): name for name in listing.names(lambda name: last_extension(name) == "parquet")}
    shared = [stem for stem in tars if stem in tables]
    if not shared:
        return None
    alone = [name for stem, name in {**tables, **tars}.items() if stem not in tables or stem not in tars]
    if alone:
        raise FileError(
            "shards_incomplete",
            f"{len(shared):,} shards have a .tar and a .parquet, but {', '.join(alone[:5])} stand alone. Was the "
            "download interrupted? Remove or finish them, or read the tars as format webdataset.",
        )
    return Img2Dataset(folder, listing, options, [(tars[stem], tables[stem]) for stem in shared])


class Img2Dataset(FolderSource):
    format = "img2dataset"
    images = ImageSource.MEMBERS

    def __init__(self, folder: Folder, listing: Listing, options: ReadOptions, shards: list[tuple[str, str]]) -> None:
        super().__init__(folder, listing, options)
        self.shards = shards
        names = self._table(shards[0][1]).names
        self.caption = pick(names, options.caption_column, CAPTION_NAMES, "caption")
        self.url = pick(names, options.url_column, URL_NAMES, "URL")
        self.label = pick(names, options.label_column, LABEL_NAMES, "label")
        if "key" not in names or self.caption is None:
            raise FileError(
                "no_such_column",
                f"{shards[0][1]} has the columns {', '.join(names)[:300]}, but needs `key` and a caption "
                "(caption, text or title). Name the caption column.",
            )

    def _table(self, name: str) -> ParquetRows:
        return ParquetRows(self.folder.locate(self.listing.files[name]), name)

    def details(self) -> dict[str, Any]:
        columns = {"key": "key", "url": self.url, "caption": self.caption, "label": self.label}
        rows = sum(self._table(name).rows for _, name in self.shards)
        return {"shards": len(self.shards), "rows": rows, "columns": columns}

    def rows(self) -> Iterator[Pair | Reject]:
        row = 0
        for tar, table in self.shards:
            extent = self.folder.plain(self.listing.files[tar])
            # One shard at a time, 24 bytes an image: the order of the tar need not be that of the table.
            keys = NameIndex(
                (split_key(member.name)[0], member)
                for member in tar_members(extent, tar)
                if member.problem is None and is_image(member.name)
            )
            for offset, record in enumerate(self._table(table)):
                row += 1
                yield self._row(row, offset, tar, extent, keys, record)

    def _row(
        self, row: int, offset: int, tar: str, extent: Extent, keys: NameIndex, record: dict[str, Any]
    ) -> Pair | Reject:
        text = record.get(self.caption or "") or record.get(self.url or "") or str(record.get("key"))
        return judged(row, offset, text, lambda: self._pair(row, offset, tar, extent, keys, record))

    def _pair(self, row: int, offset: int, tar: str, extent: Extent, keys: NameIndex, record: dict[str, Any]) -> Pair:
        key, status = str(record.get("key")), record.get("status", "success")
        where = f"{stem_of(tar)}.parquet row {offset:,} (key {key[:80]})"
        if status != "success":
            error = str(record.get("error_message") or "")[:200]
            raise BadRow("image_failed", f"{where}: {str(status)[:80]}{': ' if error else ''}{error}")
        caption = caption_of(record.get(self.caption or ""), where)
        image = keys.get(key)
        if image is None:
            raise BadRow("no_image", f"{where}: {tar} has no image with this key")
        given = url_of(record.get(self.url)) if self.url else None
        url = given or f"{MEMBER_URL}{stem_of(tar)}/{key}"
        used = {self.caption, self.url if given else None}
        others = {name: value for name, value in record.items() if name not in used}
        label = label_of(record.get(self.label)) if self.label else None
        place = self.folder.shard_place(self.listing.files[tar], extent, image)
        return Pair(row, pair_uid(url, caption), url, caption, extra_of(others, where), label, place)
