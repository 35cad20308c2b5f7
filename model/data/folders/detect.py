"""Which format a directory or an archive holds: seen in its members, or as the user says."""

from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from model.data.folders.extent import Extent
from model.data.folders.folder import DirectoryFolder, Folder, open_tar
from model.data.folders.listing import Listing, scan
from model.data.folders.scratch import Scratch, compression_of, decompressed
from model.data.folders.tars import BLOCK, is_tar_head
from model.data.folders.zips import ZipFolder
from model.data.rows import FileError
from model.data.source import ReadOptions, Source
from model.data.tables import READERS

# In the order in which they are tried: what only one format has comes first. Imported when needed: Parquet's reader
# takes 40 MB, and every table is asked whether it is an archive.
FINDERS = {
    "clip-retrieval": "model.data.folders.clip_retrieval",
    "precomp": "model.data.folders.precomp",
    "img2dataset": "model.data.folders.img2dataset",
    "datacomp": "model.data.folders.datacomp",
    "webdataset": "model.data.folders.webdataset",
    "video": "model.data.folders.video",
    "images": "model.data.folders.images",
}
_ZIP_STARTS = (b"PK\3\4", b"PK\5\6")


class Finder(Protocol):
    """What each of these modules has."""

    EXPECTED: str  # for a message: which members make this format

    def find(self, folder: Folder, listing: Listing, options: ReadOptions, /) -> Source | None:
        """None where the members are not of this format; FileError where they are, but wrong."""


def is_archive(path: Path) -> bool:
    """A tar, plain or in gzip or zstd, or a zip: by its content, never by its name."""
    extent = Extent.of_file(path)
    with extent.open() as file:
        head = file.read(BLOCK)
    if head.startswith(_ZIP_STARTS):
        return True
    if compression_of(head) is None:
        return is_tar_head(head)
    try:
        with decompressed(extent, path.name) as stream:
            return is_tar_head(stream.read(BLOCK))
    except FileError:
        return False  # whoever reads it as a table says what is wrong with it


def open_folder(path: Path, options: ReadOptions, scratch: Path | None) -> Source:
    """The source in a directory, tar or zip; FileError where nothing fits, with what was found and what is expected."""
    folder = _open(path, Scratch(scratch))
    # A format of tables is that of the one table inside.
    wanted = "images" if options.input_format in READERS else options.input_format
    listing = scan(folder, whole=wanted is not None and wanted != "webdataset")
    if wanted is not None and wanted not in FINDERS:
        raise FileError("unknown_format", f"There is no format {wanted!r}; choose one of {', '.join(FINDERS)}.")
    for name in FINDERS if wanted is None else [wanted]:
        source = _finder(name).find(folder, listing, options)
        if source is not None:
            return source
    expected = "; or ".join(_finder(name).EXPECTED for name in ([wanted] if wanted else FINDERS))
    raise FileError(
        "no_format_fits",
        f"{folder.label} ({folder.kind}) holds {listing.show()}. "
        f"{f'For the format {wanted} expected' if wanted else 'Expected'} is {expected}.",
    )


def _finder(name: str) -> Finder:
    return cast(Finder, import_module(FINDERS[name]))


def _open(path: Path, scratch: Scratch) -> Folder:
    if path.is_dir():
        return DirectoryFolder(path, scratch)
    with path.open("rb") as file:
        is_zip = file.read(4).startswith(_ZIP_STARTS)
    return ZipFolder(Extent.of_file(path), scratch, path.name) if is_zip else open_tar(path, scratch)
