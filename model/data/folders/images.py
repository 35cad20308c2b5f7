"""Image files with one table that names them: a directory, a tar or a zip.

A path in the table is taken from the top of the archive, from the folder of the table, or from the one folder that
holds all images. Rows with an http address stay as they are.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from model.data.folders.base import FolderSource
from model.data.folders.folder import Folder
from model.data.folders.listing import Listing
from model.data.folders.names import Member, clean_name, is_table, is_text
from model.data.rows import FileError, Pair, Reject, is_url, preview
from model.data.source import ImageSource, ReadOptions, Source
from model.data.tables import READERS

EXPECTED = "image files and exactly one table (.tsv, .csv, .jsonl or .parquet) that names them"


def find(folder: Folder, listing: Listing, options: ReadOptions) -> "Images | Source | None":
    """The images with their table; a table that lies alone in an archive is just that table."""
    tables = listing.names(is_table) or (listing.names(is_text) if listing.images else [])
    if listing.images and len(tables) > 1:
        raise FileError(
            "several_tables", f"Which table names the images? There are {', '.join(tables[:10])}. Keep one."
        )
    if len(tables) != 1:
        return None
    table = open_table_member(folder, listing.files[tables[0]], options, allow_paths=bool(listing.images))
    return Images(folder, listing, options, tables[0], table) if listing.images else table


def open_table_member(folder: Folder, member: Member, options: ReadOptions, *, allow_paths: bool) -> Source:
    """The table in a member, which is copied once where it does not lie in a file of its own."""
    from model.data.sources import open_source  # it opens folders, so this module comes first

    extent = folder.locate(member)
    home = folder.home()
    if home is not None and extent.path == home.path:
        with extent.open() as stream:
            extent = folder.scratch.unpack(extent, member.name, stream)
    kind = options.input_format if options.input_format in READERS else None
    wanted = replace(options, input_format=kind, allow_paths=allow_paths or options.allow_paths)
    return open_source(extent.path, wanted, folder.scratch.folder)


class Images(FolderSource):
    format = "images"
    images = ImageSource.MEMBERS

    def __init__(self, folder: Folder, listing: Listing, options: ReadOptions, name: str, table: Source) -> None:
        super().__init__(folder, listing, options)
        self.table_name, self.table = name, table
        # Each once, in this order.
        self._roots = list(dict.fromkeys(["", name.rpartition("/")[0], listing.image_folder or ""]))

    def details(self) -> dict[str, Any]:
        return {"image_files": self.listing.images, "table": {"name": self.table_name, **self.table.describe()}}

    def rows(self) -> Iterator[Pair | Reject]:
        for item in self.table.rows():
            if isinstance(item, Reject) or is_url(item.url):
                yield item
                continue
            member = self._member(item.url)
            if member is None:
                # The table gives no offset with a pair: the row counted from 0 stands in for it.
                detail = f"{self.table_name}: {item.url[:200]!r} is not in {self.folder.label}"
                yield Reject(item.row, item.row - 1, "no_image", detail, preview(item.caption.encode()))
            else:
                yield replace(item, place=self.folder.member_place(member))

    def _member(self, path: str) -> Member | None:
        name, fault = clean_name(path)
        if fault is not None:
            return None
        for root in self._roots:
            try:
                return self.folder.find(f"{root}/{name}" if root else name)
            except FileError:
                continue
        return None
