"""A run of bytes in a local file: a whole file, a member of a tar, a stored member of a zip.

Whatever can be read from an Extent (lines, arrays, Parquet, a tar in a tar) needs no copy and no unpacking.
"""

import io
from pathlib import Path
from typing import Any, NamedTuple

from model.data.rows import FileError


class Extent(NamedTuple):
    path: Path
    offset: int
    size: int

    @classmethod
    def of_file(cls, path: Path) -> "Extent":
        return cls(path, 0, path.stat().st_size)

    def open(self) -> io.BufferedReader:
        """A seekable stream of these bytes alone."""
        return io.BufferedReader(Window(self))

    def part(self, offset: int, size: int) -> "Extent":
        """A run inside this one, by its offset in the file; FileError where it leads outside."""
        if offset < self.offset or size < 0 or offset + size > self.offset + self.size:
            raise FileError(
                "outside",
                f"{size:,} bytes at byte {offset:,} lie outside {self.path.name}: is it cut short or changed?",
            )
        return Extent(self.path, offset, size)

    def read(self, max_bytes: int, what: str) -> bytes:
        if self.size > max_bytes:
            raise FileError("too_large", f"{what} has {self.size:,} bytes, more than the {max_bytes:,} that are read.")
        with self.path.open("rb") as file:
            file.seek(self.offset)
            data = file.read(self.size)
        if len(data) != self.size:
            raise FileError("cut_short", f"{what} ends after {len(data):,} of {self.size:,} bytes.")
        return data


class Window(io.RawIOBase):
    """The bytes of an extent as a file of their own."""

    def __init__(self, extent: Extent) -> None:
        super().__init__()
        self._start, self._size, self._at = extent.offset, extent.size, 0
        self._file = extent.path.open("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise ValueError("a position before the start")
        self._at = base + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)[: max(0, self._size - self._at)]
        if not len(view):
            return 0
        self._file.seek(self._start + self._at)
        count = self._file.readinto(view) or 0
        self._at += count
        return count

    def close(self) -> None:
        # Called by the base class too when its own construction failed.
        if not self.closed and hasattr(self, "_file"):
            self._file.close()
        super().close()
