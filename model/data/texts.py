"""Many texts in one file: written as a stream, read one at a time, so that a million captions cost no memory."""

import mmap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import overload

import numpy as np
import numpy.typing as npt


class PackedTexts(Sequence[str]):
    """Texts that lie in a file one after the other as UTF-8; `ends` holds where each one ends."""

    def __init__(self, path: Path, ends: npt.NDArray[np.int64]) -> None:
        self._ends = ends
        size = path.stat().st_size
        if size != (int(ends[-1]) if len(ends) else 0):
            raise ValueError(f"{path.name} has {size:,} bytes, which is not where its last text ends")
        with path.open("rb") as file:  # an empty file cannot be mapped
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(len(self)))]
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        place %= len(self)
        start = int(self._ends[place - 1]) if place else 0
        return self._bytes[start : int(self._ends[place])].decode()

    def __iter__(self) -> Iterator[str]:
        return (self[at] for at in range(len(self)))
