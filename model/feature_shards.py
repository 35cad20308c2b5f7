"""One shard of a feature store: a file with a header and its checksum, the keys in order, the rows in that order.

It is read through a memory map. Pages that were touched count as memory of the process until they are given back,
so a PageBudget does that from time to time: the size of a collection never shows in the memory used.
"""

import hashlib
import mmap
import struct
import weakref
from collections.abc import Iterable
from io import BufferedReader
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from model.feature_keys import SHORT_BYTES, ShortKeys
from model.feature_rows import MAX_DIMENSIONS, Raw, RowForm

SUFFIX = ".shard"
RESIDENT_BYTES = 64 * 1024**2

_HEADER = struct.Struct("<8sQ8s4I32s")  # magic, rows, dtype, shape, sha256 of the rest
_MAGIC = b"PSFEAT02"
_WINDOW_SHIFT = 16  # a fault maps up to 64 KiB around it


class FeatureError(Exception):
    """A shard that cannot be trusted, or vectors that cannot be stored; names the file."""


class PageBudget:
    """Gives mapped pages back to the system once `RESIDENT_BYTES` of them were touched."""

    def __init__(self) -> None:
        self._touched = 0
        self._shards: weakref.WeakSet[Shard] = weakref.WeakSet()

    def touch(self, shard: "Shard", size: int) -> None:
        self._shards.add(shard)
        self._touched += size
        if self._touched >= RESIDENT_BYTES:
            for touched in self._shards:
                touched.release()
            self._shards.clear()
            self._touched = 0


class Shard:
    """An open map. It stays readable when its file is deleted."""

    def __init__(self, file: BufferedReader, where: str, form: RowForm, budget: PageBudget) -> None:
        try:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            magic, rows, dtype, *shape, _ = _HEADER.unpack_from(self._map)
        except (OSError, ValueError, struct.error) as error:
            raise FeatureError(f"{where}: not a readable feature shard ({error})") from error
        if magic != _MAGIC or (dtype, tuple(shape)) != _type_fields(form):
            raise FeatureError(f"{where}: not a feature shard of {form}")
        self._start = _HEADER.size + rows * SHORT_BYTES
        size = self._start + rows * form.bytes
        if not rows or len(self._map) != size:
            raise FeatureError(f"{where}: {len(self._map):,} bytes where {size:,} belong; delete it and encode again")
        high, low = np.frombuffer(self._map, "<u8", 2 * rows, _HEADER.size).reshape(2, rows)
        self._keys = ShortKeys(high, low)
        self._rows = np.frombuffer(self._map, np.uint8, offset=self._start).reshape(rows, form.bytes)
        self._budget = budget
        self._map.madvise(mmap.MADV_RANDOM)

    def __len__(self) -> int:
        return len(self._rows)

    def keys(self) -> ShortKeys:
        """In order. Copy what outlives the next call."""
        self._map.madvise(mmap.MADV_WILLNEED, 0, self._start)
        self._budget.touch(self, self._start)
        return self._keys

    def take(self, rows: NDArray[np.integer]) -> Raw:
        """The named rows, which must ascend, as a copy."""
        width = self._rows.shape[1]
        first = self._start + rows.astype(np.int64) * width
        low, high = first >> _WINDOW_SHIFT, (first + width - 1) >> _WINDOW_SHIFT
        windows = int((high - low + 1).sum() - np.count_nonzero(low[1:] == high[:-1]))
        if 2 * windows > high[-1] - low[0] + 1:  # most of a stretch: read it in one go
            start = int(low[0]) << _WINDOW_SHIFT
            self._map.madvise(mmap.MADV_WILLNEED, start, int(first[-1]) + width - start)
        taken: Raw = np.take(self._rows, rows, axis=0)
        self._budget.touch(self, windows << _WINDOW_SHIFT)
        return taken

    def release(self) -> None:
        self._map.madvise(mmap.MADV_DONTNEED)


def write_shard(file: BinaryIO, form: RowForm, keys: ShortKeys, blocks: Iterable[Raw]) -> None:
    """Keys must ascend and differ; blocks are their rows, in order, from as many pieces as is convenient."""
    digest = hashlib.sha256()
    file.seek(_HEADER.size)
    for part in (keys.high, keys.low):
        data = np.ascontiguousarray(part, "<u8").data
        digest.update(data)
        file.write(data)
    for block in blocks:
        digest.update(block.data)
        file.write(block.data)
    dtype, shape = _type_fields(form)
    file.seek(0)
    file.write(_HEADER.pack(_MAGIC, len(keys), dtype, *shape, digest.digest()))


def check_shard(file: BufferedReader, where: str) -> None:
    """Read a whole file against its checksum; FeatureError where it does not match."""
    file.seek(0)
    header = file.read(_HEADER.size)
    if len(header) < _HEADER.size or hashlib.file_digest(file, "sha256").digest() != _HEADER.unpack(header)[-1]:
        raise FeatureError(f"{where}: checksum does not match; delete the file and encode again")
    file.seek(0)


def rows_in(size: int, form: RowForm) -> int:
    """How many rows a sound file of this size has."""
    return max(0, size - _HEADER.size) // (SHORT_BYTES + form.bytes)


def _type_fields(form: RowForm) -> tuple[bytes, tuple[int, ...]]:
    padding = (0,) * (MAX_DIMENSIONS - len(form.shape))
    return form.dtype.encode().ljust(8, b"\0"), form.shape + padding
