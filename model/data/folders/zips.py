"""A zip as a folder. Its directory is held in memory; bytes are read with a file handle of each reader's own."""

import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, cast

from model.data.folders.extent import Extent
from model.data.folders.folder import Folder
from model.data.folders.names import Member, clean_name
from model.data.folders.scratch import FREE_BYTES, MAX_RATIO, MAX_UNPACKED_BYTES, Scratch
from model.data.rows import FileError

MAX_ZIP_MEMBERS = 200_000  # about 600 bytes of memory each; a tar is read without a directory
MAX_DIRECTORY_BYTES = MAX_ZIP_MEMBERS * 256
_LOCAL_HEADER = struct.Struct("<4s22xHH")  # signature; lengths of name and extra field
_END = struct.Struct("<4s4xHHII")  # signature, entries here and in all, bytes and offset of the directory
_ENCRYPTED = 0x1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class ZipFolder(Folder):
    kind = "zip"

    def __init__(self, extent: Extent, scratch: Scratch, label: str) -> None:
        super().__init__(scratch, label)
        self.extent = extent
        _check_directory(extent, label)
        try:
            with extent.open() as file, zipfile.ZipFile(file) as archive:
                infos = archive.infolist()
        except (zipfile.BadZipFile, NotImplementedError, struct.error, ValueError) as error:
            raise _corrupt(label, str(error)) from None
        self._check_total(infos)
        self._infos = {
            clean_name(info.orig_filename)[0]: info for info in infos if not info.orig_filename.endswith("/")
        }

    def _check_total(self, infos: list[zipfile.ZipInfo]) -> None:
        total = sum(info.file_size for info in infos)
        if total > min(MAX_UNPACKED_BYTES, max(FREE_BYTES, self.extent.size * MAX_RATIO)):
            raise FileError(
                "unpacks_too_large",
                f"The zip {self.label} of {self.extent.size:,} bytes claims to hold {total:,}: more than "
                f"{MAX_RATIO} times its size, or than is taken at all. Upload its content as a tar.",
            )

    def members(self) -> Iterator[Member]:
        for name, info in self._infos.items():
            fault = _kind_fault(info) or clean_name(info.orig_filename)[1]
            yield Member(name, info.file_size, info.header_offset, fault)

    def home(self) -> Extent:
        return self.extent

    def find(self, name: str) -> Member:
        info = self._infos.get(name)
        if info is None or (fault := _kind_fault(info) or clean_name(info.orig_filename)[1]) is not None:
            why = "" if info is None else f" that can be read: {fault}"
            raise FileError("no_member", f"The zip {self.label} has no member {name!r}{why}.")
        return Member(name, info.file_size, info.header_offset)

    def locate(self, member: Member) -> Extent:
        info = self._infos[member.name]
        if info.compress_type == zipfile.ZIP_STORED:
            if info.compress_size != info.file_size:
                raise _corrupt(self.label, f"{member.name} gives two sizes")
            return self.extent.part(self._data_offset(info), info.file_size)
        with self.open(member) as stream:
            return self.scratch.unpack(self.extent, member.name, stream)

    def member_place(self, member: Member) -> str:
        return member.name

    def _read_member(self, place: str, max_bytes: int) -> bytes:
        member = self.find(place)
        if member.size > max_bytes:
            raise FileError(
                "too_large", f"{place} has {member.size:,} bytes, more than the {max_bytes:,} that are read."
            )
        with self.open(member) as stream:
            return stream.read(member.size)

    def open(self, member: Member) -> IO[bytes]:
        return cast(IO[bytes], _Checked(self, self._infos[member.name]))

    def _data_offset(self, info: zipfile.ZipInfo) -> int:
        # The directory gives where the local header starts; the header alone says where it ends.
        with self.extent.open() as file:
            file.seek(max(0, info.header_offset))  # a wrong directory can even give a negative one
            header = file.read(_LOCAL_HEADER.size)
        if info.header_offset < 0 or len(header) < _LOCAL_HEADER.size or not header.startswith(b"PK\3\4"):
            raise _corrupt(self.label, f"no member starts at byte {info.header_offset:,}")
        _, name_bytes, extra_bytes = _LOCAL_HEADER.unpack(header)
        return self.extent.offset + info.header_offset + _LOCAL_HEADER.size + int(name_bytes) + int(extra_bytes)


class _Checked:
    """A member's decompressed bytes: exactly as many as the directory says, with the right checksum."""

    def __init__(self, folder: ZipFolder, info: zipfile.ZipInfo) -> None:
        self._label, self._info, self._left = folder.label, info, info.file_size
        packed = folder.extent.part(folder._data_offset(info), info.compress_size)
        self._stream = zipfile.ZipExtFile(packed.open(), "r", info, close_fileobj=True)

    def read(self, size: int = -1) -> bytes:
        wanted = self._left if size < 0 else min(size, self._left)
        try:
            data = self._stream.read(wanted)
            if self._left == len(data) and self._stream.read(1):
                raise zipfile.BadZipFile("more bytes than its size says")
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise _corrupt(self._label, f"{self._info.filename[:200]}: {error}") from None
        if len(data) < wanted:
            raise _corrupt(self._label, f"{self._info.filename[:200]} has fewer bytes than its size says")
        self._left -= len(data)
        return data

    def __enter__(self) -> "_Checked":
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()


def _kind_fault(info: zipfile.ZipInfo) -> str | None:
    mode = info.external_attr >> 16
    if mode and (mode & 0o170000) not in (0, 0o100000):
        return "it is a link" if (mode & 0o170000) == 0o120000 else "it is a device or a pipe"
    if info.flag_bits & _ENCRYPTED:
        return "it is encrypted"
    return None if info.compress_type in _METHODS else f"its compression (method {info.compress_type}) is not read"


def _check_directory(extent: Extent, label: str) -> None:
    """The standard reader loads the whole directory: its size is looked at first."""
    tail_bytes = min(extent.size, (1 << 16) + _END.size + 2)
    with extent.open() as file:
        file.seek(extent.size - tail_bytes)
        tail = file.read(tail_bytes)
    at = tail.rfind(b"PK\5\6")
    if at < 0 or len(tail) - at < _END.size:
        raise _corrupt(label, "its directory, which should be at the end, is missing, as in a file cut short")
    _, _, entries, directory_bytes, offset = _END.unpack_from(tail, at)
    # Zip64 says 0xffffffff here: the directory then fills what lies between the last member and the end.
    if entries == 0xFFFF or 0xFFFFFFFF in (directory_bytes, offset):
        entries, directory_bytes = _zip64_counts(extent, tail, at, label)
    if entries > MAX_ZIP_MEMBERS or directory_bytes > MAX_DIRECTORY_BYTES:
        raise FileError(
            "too_many_members",
            f"The zip {label} has {entries:,} members; at most {MAX_ZIP_MEMBERS:,} are read. Pack them as a tar.",
        )


def _zip64_counts(extent: Extent, tail: bytes, at: int, label: str) -> tuple[int, int]:
    locator = tail[at - 20 : at]
    if len(locator) < 20 or not locator.startswith(b"PK\6\7"):
        return struct.unpack_from("<HI", tail, at + 10)  # exactly 65,535 members and no zip64 at all
    (offset,) = struct.unpack_from("<Q", locator, 8)
    with extent.open() as file:
        file.seek(min(offset, extent.size))
        record = file.read(56)
    if len(record) < 56 or not record.startswith(b"PK\6\6"):
        raise _corrupt(label, "its zip64 directory is missing")
    entries, directory_bytes = struct.unpack_from("<QQ", record, 32)
    return entries, directory_bytes


def _corrupt(label: str, what: str) -> FileError:
    return FileError("zip_corrupt", f"The zip {label} is corrupt: {what}. Check it with `unzip -t`.")
