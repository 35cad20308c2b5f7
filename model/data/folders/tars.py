"""The members of a tar as a stream: headers only, in constant memory, whatever the archive claims.

The standard reader parses the headers; here it gets bounds: it may read only a little for each header, positions
must grow, a member must lie within the file, and an archive that just stops is an error, not the end.
"""

import tarfile
from collections.abc import Iterator
from io import BufferedReader
from typing import Any

from model.data.folders.extent import Extent, Window
from model.data.folders.names import Member, clean_name
from model.data.rows import FileError

BLOCK = tarfile.BLOCKSIZE
HEADER_BYTES = 1 << 17  # a long name or the extended header of one member; larger ones only serve to exhaust memory
MAX_MEMBERS = 50_000_000  # five files for each of ten million pairs


def is_tar_head(block: bytes) -> bool:
    """Whether the first 512 bytes of a file are a tar header: its checksum is right."""
    try:
        tarfile.TarInfo.frombuf(block[:BLOCK], "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


def tar_members(extent: Extent, label: str) -> Iterator[Member]:
    """Every file of the archive in order; offsets count from the start of the file that holds the extent."""
    window = _Headers(extent)
    with BufferedReader(window) as file:
        try:
            tar = tarfile.TarFile(fileobj=file, mode="r", encoding="utf-8", errors="surrogateescape")
            last = -1
            for number in range(MAX_MEMBERS + 1):
                window.budget = HEADER_BYTES
                info = tar.next()
                tar.members.clear()  # type: ignore[attr-defined]  # the reader would keep every header it has seen
                if info is None:
                    _check_end(extent, tar.offset, label)
                    return
                if info.size < 0 or info.offset_data <= last or number == MAX_MEMBERS:
                    raise _corrupt(label, info.offset, "a header that points backwards, or too many members")
                last = info.offset_data
                if info.isdir():
                    continue
                if info.isreg() and info.offset_data + info.size > extent.size:
                    raise _cut_short(label, info.offset_data)
                name, fault = clean_name(info.name)
                yield Member(name, info.size, extent.offset + info.offset_data, _kind_fault(info) or fault)
        except (tarfile.TarError, RecursionError, OverflowError) as error:
            if "unexpected end" in str(error):
                raise _cut_short(label, extent.size) from None
            raise _corrupt(label, None, str(error) or type(error).__name__) from None


class _Headers(Window):
    """Refuses to hand out more than its budget: nobody but the header parser reads from it."""

    budget = HEADER_BYTES

    def readinto(self, buffer: Any) -> int:
        count = super().readinto(buffer)
        self.budget -= count
        if self.budget < 0:
            raise FileError("tar_corrupt", f"A header of the tar is larger than {HEADER_BYTES:,} bytes.")
        return count


def _kind_fault(info: tarfile.TarInfo) -> str | None:
    if info.issym() or info.islnk():
        return "it is a link"
    if not info.isreg():
        return "it is a device or a pipe"
    return "it is a sparse file" if info.issparse() else None


def _check_end(extent: Extent, offset: int, label: str) -> None:
    """The reader also stops quietly at a broken or half a header; only zeros or the very end are an end."""
    with extent.open() as file:
        file.seek(offset)
        block = file.read(BLOCK)
    if block.strip(b"\0"):
        raise _corrupt(label, offset, "no valid header") if len(block) == BLOCK else _cut_short(label, offset)
    if offset > extent.size:
        raise _cut_short(label, extent.size)


def _cut_short(label: str, offset: int) -> FileError:
    return FileError("tar_cut_short", f"The tar {label} is cut short near byte {offset:,}. Upload it again.")


def _corrupt(label: str, offset: int | None, what: str) -> FileError:
    where = "" if offset is None else f" at byte {offset:,}"
    return FileError("tar_corrupt", f"The tar {label} is corrupt{where}: {what}. Check it with `tar -tf`.")
