"""Arrays of features that lie in `.npy` files or members, memory-mapped, and many of them stacked as one.

Only plain numbers are read: a header that asks for Python objects, which would be unpickled, is refused.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from model.data.folders.extent import Extent
from model.data.rows import FileError

FLOATS = (np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64))
MAX_OPEN_MAPS = 64  # each holds a file descriptor, and 1,024 are allowed in all
_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


class Header(NamedTuple):
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    is_fortran: bool
    offset: int  # of the numbers, from the start of the member


def read_header(stream: IO[bytes], name: str) -> Header:
    counted = _Counting(stream)
    try:
        version = npy.read_magic(counted)
        if version not in _READERS:
            raise ValueError(f"version {version} of the format is not read")
        shape, is_fortran, dtype = _READERS[version](counted)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise FileError("not_npy", f"{name} is not a readable .npy array: {str(error)[:200]}.") from None
    if dtype.hasobject or dtype.names is not None or dtype.subdtype is not None:
        raise FileError(
            "not_numbers", f"{name} holds pickled Python objects or records, which are never read. Save plain numbers."
        )
    if any(length < 0 for length in shape):
        raise FileError("not_npy", f"{name} claims the shape {shape}.")
    return Header(tuple(int(length) for length in shape), dtype, is_fortran, counted.count)


def map_array(extent: Extent, name: str) -> NDArray[Any]:
    with extent.open() as file:
        header = read_header(file, name)
    wanted = header.dtype.itemsize
    for length in header.shape:
        wanted *= length
    if header.offset + wanted > extent.size:
        raise FileError(
            "cut_short",
            f"{name} has {extent.size - header.offset:,} bytes of numbers, but its shape {header.shape} of "
            f"{header.dtype} needs {wanted:,}: is it cut short?",
        )
    if not wanted:
        return np.zeros(header.shape, header.dtype)  # nothing cannot be mapped
    start = extent.offset + header.offset
    order: Any = "F" if header.is_fortran else "C"
    return np.memmap(extent.path, header.dtype, "r", start, header.shape, order)


class Part(NamedTuple):
    """One array of a stack: what its header says, and how to map it when rows of it are asked for."""

    name: str
    header: Header
    load: Callable[[], NDArray[Any]]


class Stacked:
    """Arrays with the same kind of rows, one after the other, opened when rows of them are read."""

    def __init__(self, parts: Sequence[Part]) -> None:
        first = parts[0]
        for part in parts:
            _check_floats(part)
            if (part.header.shape[1:], part.header.dtype) != (first.header.shape[1:], first.header.dtype):
                raise FileError(
                    "shapes_differ",
                    f"{first.name} has rows of shape {first.header.shape[1:]} and {first.header.dtype}, but "
                    f"{part.name} of {part.header.shape[1:]} and {part.header.dtype}.",
                )
        counts = [part.header.shape[0] for part in parts]
        self._ends = np.cumsum(counts, dtype=np.int64)
        self.shape = (int(self._ends[-1]), *first.header.shape[1:])
        self.dtype = first.header.dtype
        self._map = lru_cache(maxsize=MAX_OPEN_MAPS)(lambda number: parts[number].load())

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        """The rows in the order asked for; only they are read."""
        rows = np.asarray(rows, np.int64)
        if rows.size and (rows.min() < 0 or rows.max() >= len(self)):
            raise IndexError(f"rows {rows.min()} to {rows.max()} of {len(self)}")
        found = np.empty((*rows.shape, *self.shape[1:]), self.dtype)
        numbers = np.searchsorted(self._ends, rows, side="right")
        for number in np.unique(numbers):
            here = numbers == number
            array = self._map(int(number))
            found[here] = array[rows[here] - (self._ends[number] - array.shape[0])]
        return found


def _check_floats(part: Part) -> None:
    if part.header.dtype not in FLOATS or len(part.header.shape) not in (2, 3):
        raise FileError(
            "not_features",
            f"{part.name} holds {part.header.dtype} of shape {part.header.shape}; features are float16, float32 or "
            "float64 of shape (rows, width) or (rows, regions, width).",
        )


class _Counting:
    """A stream of which we know how much was read; a compressed one cannot tell."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.count = 0

    def read(self, size: int = 0, /) -> bytes:
        data = self._stream.read(min(size, 1 << 16))  # no honest header is longer
        self.count += len(data)
        return data
