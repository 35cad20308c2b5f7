"""The lines of a text that lies in an extent, by number: eight bytes of memory a line, whatever its length."""

import mmap
from array import array
from collections.abc import Iterator

import numpy as np

from model.data.folders.extent import Extent
from model.data.rows import MAX_LINE_BYTES, FileError

_BOM = b"\xef\xbb\xbf"


class Lines:
    """Split on newline only; a `\\r` before it belongs to the line end. A line over the cap is cut one byte past it."""

    def __init__(self, extent: Extent, name: str) -> None:
        if not extent.size:
            raise FileError("empty_file", f"{name} is empty: it should have one caption a line.")
        with extent.path.open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._start, self._stop = extent.offset, extent.offset + extent.size
        starts = array("q")
        at = self._start + (len(_BOM) if self._bytes[self._start : self._start + 3] == _BOM else 0)
        while at < self._stop:
            starts.append(at)
            end = self._bytes.find(b"\n", at, self._stop)
            at = self._stop if end < 0 else end + 1
        self._starts = np.frombuffer(starts, np.int64) if starts else np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, number: int) -> bytes:
        start = int(self._starts[number])
        stop = int(self._starts[number + 1]) if number + 1 < len(self) else self._stop
        line = self._bytes[start : min(stop, start + MAX_LINE_BYTES + 3)]
        line = line.removesuffix(b"\n").removesuffix(b"\r")
        return line[: MAX_LINE_BYTES + 1]

    def __iter__(self) -> Iterator[bytes]:
        return (self[number] for number in range(len(self)))

    def offset(self, number: int) -> int:
        """Of a line's first byte, from the start of the text."""
        return int(self._starts[number]) - self._start
