"""One shard of a feature store: a file with a header and its checksum, the keys in order, the rows in that order.

Keys are memory-mapped, and rows as far as a MapBudget goes. What lies beyond is read by position: a fault of a map
brings in up to 2 MiB, all of which counts as memory, and to give that back costs several times the read.
"""

import hashlib
import mmap
import os
import struct
import weakref
from collections.abc import Iterable
from io import BufferedReader
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from model.features.keys import SHORT_BYTES, ShortKeys
from model.features.rows import MAX_DIMENSIONS, Raw, RowForm

SUFFIX = ".shard"
MAPPED_BYTES = 64 * 1024**2

_HEADER = struct.Struct("<8sQ8s4I32s")  # magic, rows, dtype, shape, sha256 of the rest
_MAGIC = b"PSFEAT02"


class FeatureError(Exception):
    """A shard that cannot be trusted, or vectors that cannot be stored; names the file."""


class MapBudget:
    """How much of a store may be mapped for as long as its files are open, whatever the size of the collection."""

    def __init__(self) -> None:
        self._free = MAPPED_BYTES

    def take(self, shard: "Shard", size: int) -> bool:
        if size > self._free:
            return False
        self._free -= size
        weakref.finalize(shard, self._give_back, size)
        return True

    def _give_back(self, size: int) -> None:
        self._free += size


class Shard:
    """An open file. It stays readable when it is deleted."""

    def __init__(self, file: BufferedReader, where: str, form: RowForm, budget: MapBudget) -> None:
        self._where = where
        try:
            magic, rows, dtype, *shape, _ = _HEADER.unpack(file.read(_HEADER.size))
        except struct.error as error:
            raise FeatureError(f"{where}: not a readable feature shard ({error})") from error
        if magic != _MAGIC or (dtype, tuple(shape)) != _type_fields(form):
            raise FeatureError(f"{where}: not a feature shard of {form}")
        self._start = _HEADER.size + rows * SHORT_BYTES
        found, size = os.fstat(file.fileno()).st_size, self._start + rows * form.bytes
        if not rows or found != size:
            raise FeatureError(f"{where}: {found:,} bytes where {size:,} belong; delete it and encode again")
        self._count: int = rows
        self._width = form.bytes
        self._descriptor = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._descriptor)
        self._mapped: Raw | None = None
        if budget.take(self, size):
            content = mmap.mmap(self._descriptor, 0, access=mmap.ACCESS_READ)
            self._mapped = np.frombuffer(content, np.uint8, offset=self._start).reshape(rows, self._width)

    def __len__(self) -> int:
        return self._count

    def keys(self) -> ShortKeys:
        """In order; mapped until they are dropped."""
        content = mmap.mmap(self._descriptor, self._start, access=mmap.ACCESS_READ)
        high, low = np.frombuffer(content, "<u8", offset=_HEADER.size).reshape(2, self._count)
        return ShortKeys(high, low)

    def take(self, rows: NDArray[np.int64]) -> Raw:
        """The named rows as a copy; best in ascending order, as neighbours are read together."""
        if self._mapped is not None:
            return self._mapped[rows]
        taken = np.empty((len(rows), self._width), np.uint8)
        buffer = taken.reshape(-1).data
        starts = np.flatnonzero(np.diff(rows, prepend=-2) != 1)
        offsets = (self._start + rows[starts] * self._width).tolist()
        bounds = (np.append(starts, len(rows)) * self._width).tolist()
        for offset, begin, end in zip(offsets, bounds, bounds[1:], strict=False):
            self._read(offset, buffer[begin:end])
        return taken

    def _read(self, offset: int, into: memoryview) -> None:
        while count := os.preadv(self._descriptor, [into], offset):
            if count == len(into):
                return
            offset, into = offset + count, into[count:]
        raise FeatureError(f"{self._where}: ends too early; delete it and encode again")


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
