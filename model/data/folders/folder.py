"""One view of a directory, a tar and a zip: their members as a stream, and each member as a run of bytes in a file.

Nothing is ever extracted under a member's own name. Links, devices and names that lead outside carry a `problem` and
are not read.
"""

import os
import re
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from model.data.folders.extent import Extent
from model.data.folders.index import NameIndex
from model.data.folders.names import Member, clean_name
from model.data.folders.scratch import Scratch, compression_of, decompressed
from model.data.folders.tars import tar_members
from model.data.rows import FileError

_PLACE = re.compile(r"(?:(?P<name>.+)@)?(?P<offset>[0-9]{1,18})\+(?P<size>[0-9]{1,18})")


class Folder(ABC):
    kind: str
    label: str  # how messages call it

    def __init__(self, scratch: Scratch, label: str) -> None:
        self.scratch = scratch
        self.label = label
        self._plain: dict[str, Extent] = {}  # asked for once for every image of a shard

    @abstractmethod
    def members(self) -> Iterator[Member]:
        """Every file once, in a fixed order, those with a problem too."""

    @abstractmethod
    def locate(self, member: Member) -> Extent:
        """Where its bytes lie as they are; a compressed member of a zip is unpacked once."""

    @abstractmethod
    def find(self, name: str) -> Member:
        """By its exact name, one without a problem; FileError where there is none."""

    @abstractmethod
    def member_place(self, member: Member) -> str:
        """What `read_place` takes for a member itself."""

    @abstractmethod
    def _read_member(self, place: str, max_bytes: int) -> bytes: ...

    def home(self) -> Extent | None:
        """The file that holds everything; None for a directory."""
        return None

    def open(self, member: Member) -> IO[bytes]:
        return self.locate(member).open()

    def plain(self, member: Member) -> Extent:
        """Its content without gzip or zstd, which is removed once into the scratch folder."""
        if member.name not in self._plain:
            extent = self.locate(member)
            with extent.open() as file:
                is_packed = compression_of(file.peek(4)) is not None
            if is_packed:
                with decompressed(extent, member.name) as stream:
                    extent = self.scratch.unpack(extent, member.name, stream)
            self._plain[member.name] = extent
        return self._plain[member.name]

    def shard_place(self, shard: Member, extent: Extent, member: Member) -> str:
        """A member of a shard: by its offset in this file, else by the shard's name and the offset in the shard."""
        home = self.home()
        if home is not None and extent.path == home.path:
            return f"{member.offset}+{member.size}"
        return f"{shard.name}@{member.offset - extent.offset}+{member.size}"

    def read_place(self, place: str, max_bytes: int) -> bytes:
        found = _PLACE.fullmatch(place)
        if found is None:
            return self._read_member(place, max_bytes)
        offset, size = int(found["offset"]), int(found["size"])
        if found["name"] is not None:
            extent = self._plain.get(found["name"]) or self.plain(self.find(found["name"]))
            return extent.part(extent.offset + offset, size).read(max_bytes, f"The image {place}")
        home = self.home()
        if home is None:
            raise FileError("no_image", f"{self.label} is a directory and has no byte {offset:,}.")
        return home.part(offset, size).read(max_bytes, f"The image at byte {offset:,} of {self.label}")


class DirectoryFolder(Folder):
    kind = "directory"

    def __init__(self, path: Path, scratch: Scratch) -> None:
        super().__init__(scratch, path.name or str(path))
        self.path = path

    def members(self) -> Iterator[Member]:
        for folder, below, names in os.walk(self.path, onerror=_refuse):
            links = [name for name in below if os.path.islink(os.path.join(folder, name))]
            below[:] = sorted(name for name in below if not name.startswith(".") and name not in links)
            for name in sorted(names + links):
                full = os.path.join(folder, name)
                member = self._member(os.path.relpath(full, self.path).replace(os.sep, "/"), full)
                if member is not None:
                    yield member

    def _member(self, name: str, full: str) -> Member | None:
        try:
            status = os.lstat(full)
        except FileNotFoundError:
            return None  # gone since it was listed
        clean, fault = clean_name(name)
        if stat.S_ISLNK(status.st_mode):
            fault = "it is a link"
        elif not stat.S_ISREG(status.st_mode):
            fault = "it is a device or a pipe"
        return Member(clean, status.st_size, 0, fault)

    def find(self, name: str) -> Member:
        clean, fault = clean_name(name)
        full = self.path / clean
        member = None if fault else self._member(clean, str(full))
        # A link on the way would lead out of the folder just as one at its end.
        inside = full.parent.resolve().is_relative_to(self.path.resolve())
        if member is None or member.problem is not None or not inside:
            raise FileError("no_member", f"{self.label} has no file {name!r}.")
        return member

    def locate(self, member: Member) -> Extent:
        return Extent(self.path / member.name, 0, member.size)

    def member_place(self, member: Member) -> str:
        return member.name

    def _read_member(self, place: str, max_bytes: int) -> bytes:
        return self.locate(self.find(place)).read(max_bytes, f"The image {place}")


class TarFolder(Folder):
    kind = "tar"

    def __init__(self, extent: Extent, scratch: Scratch, label: str) -> None:
        super().__init__(scratch, label)
        self.extent = extent
        self._index: NameIndex | None = None

    def members(self) -> Iterator[Member]:
        return tar_members(self.extent, self.label)

    def home(self) -> Extent:
        return self.extent

    def find(self, name: str) -> Member:
        if self._index is None:
            self._index = NameIndex((member.name, member) for member in self.members() if member.problem is None)
        found = self._index.get(name)
        if found is None:
            raise FileError("no_member", f"The tar {self.label} has no member {name!r}.")
        return found

    def locate(self, member: Member) -> Extent:
        return self.extent.part(member.offset, member.size)

    def member_place(self, member: Member) -> str:
        return f"{member.offset}+{member.size}"

    def _read_member(self, place: str, max_bytes: int) -> bytes:
        raise FileError("no_image", f"{place!r} is no place in a tar; one looks like 1536+20480.")


def open_tar(path: Path, scratch: Scratch) -> TarFolder:
    """A plain tar where it lies; a compressed one is decompressed once into the scratch folder."""
    extent = Extent.of_file(path)
    with extent.open() as file:
        kind = compression_of(file.peek(4))
    if kind is not None:
        with decompressed(extent, path.name) as stream:
            extent = scratch.unpack(extent, "unpacked.tar", stream)
    return TarFolder(extent, scratch, path.name)


def _refuse(error: OSError) -> None:
    raise FileError("unreadable", f"The folder {error.filename} cannot be read: {error.strerror}.")
