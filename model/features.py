"""The feature store: vectors by content hash, in immutable, memory-mapped shard files, never loaded whole.

A shard is one file: a header with a checksum, the sorted keys, the vectors in the same order. A writer only
makes new files, so any number of processes may add at once. Keys are sha256 digests as uint8, (N, 32).
"""

import hashlib
import os
import struct
import time
import uuid
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

KEY_BYTES = 32
STORED_KEY_BYTES = 16  # half of a sha256: a chance meeting among 10^12 contents is still below 10^-14
MAX_OPEN_SHARDS = 256  # each map holds a file descriptor, and 1,024 are allowed in all
STALE_TEMP_SECONDS = 86_400

_HEADER = struct.Struct("<8sQI12s32s")  # magic, rows, width, dtype, sha256 of the rest: 64 bytes
_MAGIC = b"PSFEAT01"

Keys = NDArray[np.uint8]  # (N, 32)
Vectors = NDArray[np.float32]  # (N, D)


class FeatureError(Exception):
    """A shard that cannot be trusted, or vectors that cannot be stored; names the file."""


class Shard(NamedTuple):
    keys: NDArray[Any]  # (n,) of 16 bytes, sorted
    vectors: NDArray[Any]  # (n, D)


def content_key(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def stack_keys(digests: Iterable[bytes]) -> Keys:
    """sha256 digests as the (N, 32) array the store takes."""
    return np.frombuffer(b"".join(digests), np.uint8).reshape(-1, KEY_BYTES)


class FeatureStore:
    def __init__(self, folder: str | Path, width: int, dtype: Literal["float16", "float32"] = "float16") -> None:
        self.folder = Path(folder)
        self.width = width
        self.dtype = np.dtype(dtype)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._names: list[str] = []  # only ever appended to: the views count on a shard's number
        self._open = lru_cache(maxsize=MAX_OPEN_SHARDS)(self._open_shard)
        self._clean()
        self.refresh()

    def refresh(self) -> None:
        """See the shards that other processes have added; `missing` and `view` do it themselves."""
        found = {entry.name for entry in os.scandir(self.folder) if entry.name.endswith(".shard")}
        self._names += sorted(found.difference(self._names))

    def missing(self, keys: Keys) -> NDArray[np.bool_]:
        """Which keys have no vector yet. Ask once for many keys: every shard is searched each time."""
        missing: NDArray[np.bool_] = self._places(keys) < 0
        return missing

    def add(self, keys: Keys, vectors: NDArray[Any]) -> None:
        """Write one shard, whole or not at all. A key that is stored twice does no harm."""
        if vectors.shape != (len(keys), self.width):
            raise ValueError(f"vectors are {vectors.shape}, expected {(len(keys), self.width)}")
        if not len(keys):
            return
        stored, first = np.unique(_short(keys), return_index=True)
        with np.errstate(over="ignore"):  # what overflows is refused in the next line
            rows = np.ascontiguousarray(vectors[first], self.dtype)
        if not np.isfinite(rows).all():
            raise FeatureError(f"vectors for {self.folder} are not finite in {self.dtype}")
        self._write(stored.tobytes(), rows)

    def view(self, keys: Keys) -> "FeatureView":
        """The rows of these keys, in this order; KeyError where one has no vector."""
        places = self._places(keys)
        absent = np.flatnonzero(places < 0)
        if len(absent):
            key = keys[absent[0]].tobytes().hex()
            raise KeyError(f"no features in {self.folder} for {len(absent)} of {len(keys)} keys, first {key}")
        return FeatureView(self, places)

    def verify(self) -> int:
        """Read every shard against its checksum; the number of rows, or FeatureError for a bad file."""
        self.refresh()
        rows = 0
        for number, name in enumerate(self._names):
            rows += len(self._open(number).keys)
            path = self.folder / name
            with path.open("rb") as file:
                expected = _HEADER.unpack(file.read(_HEADER.size))[-1]
                if hashlib.file_digest(file, "sha256").digest() != expected:
                    raise FeatureError(f"{path}: checksum does not match; delete the file and encode again")
        return rows

    def gather(self, places: NDArray[np.int64]) -> Vectors:
        """(n,) places of a view -> (n, D)."""
        out = np.empty((len(places), self.width), np.float32)
        order = np.argsort(places)  # by shard, and within it as the rows lie in the file
        shards, rows = places[order] >> 32, places[order] & 0xFFFFFFFF
        numbers, starts, counts = np.unique(shards, return_index=True, return_counts=True)
        for number, start, count in zip(numbers, starts, counts, strict=True):
            part = slice(start, start + count)
            out[order[part]] = self._open(int(number)).vectors[rows[part]]
        return out

    def _places(self, keys: Keys) -> NDArray[np.int64]:
        """(N,) shard number and row packed in one integer, -1 where absent."""
        self.refresh()
        wanted, inverse = np.unique(_short(keys), return_inverse=True)
        places = np.full(len(wanted), -1, np.int64)
        for number in range(len(self._names) if len(wanted) else 0):
            stored = self._open(number).keys
            # The shorter list is looked up in the longer: linear in what is stored when everything is asked.
            if len(wanted) <= len(stored):
                at = np.minimum(np.searchsorted(stored, wanted), len(stored) - 1)
                hit = np.flatnonzero(stored[at] == wanted)
                places[hit] = (number << 32) | at[hit]
            else:
                at = np.minimum(np.searchsorted(wanted, stored), len(wanted) - 1)
                hit = np.flatnonzero(wanted[at] == stored)
                places[at[hit]] = (number << 32) | hit
        return places[inverse]

    def _open_shard(self, number: int) -> Shard:
        path = self.folder / self._names[number]
        try:
            data = np.memmap(path, np.uint8, "r")
            magic, rows, width, dtype, _ = _HEADER.unpack(data[: _HEADER.size].tobytes())
        except (OSError, ValueError, struct.error) as error:
            raise FeatureError(f"{path}: not a readable feature shard ({error})") from error
        if magic != _MAGIC or (width, dtype.rstrip(b"\0").decode("latin-1")) != (self.width, self.dtype.name):
            raise FeatureError(f"{path}: not a feature shard of width {self.width} in {self.dtype}")
        split = _HEADER.size + rows * STORED_KEY_BYTES
        size = split + rows * width * self.dtype.itemsize
        if len(data) != size:
            raise FeatureError(f"{path}: {len(data):,} bytes where {size:,} belong; delete it and encode again")
        keys = data[_HEADER.size : split].view(f"S{STORED_KEY_BYTES}")
        return Shard(keys, data[split:].view(self.dtype).reshape(rows, width))

    def _write(self, keys: bytes, rows: NDArray[Any]) -> None:
        name = uuid.uuid4().hex
        temporary = self.folder / f"{name}.tmp"
        digest = hashlib.sha256(keys)
        digest.update(rows.data)
        dtype = self.dtype.name.encode()
        header = _HEADER.pack(_MAGIC, len(rows), self.width, dtype, digest.digest())
        try:
            with temporary.open("xb") as file:
                file.write(header)
                file.write(keys)
                file.write(rows.data)
                file.flush()
                os.fsync(file.fileno())
            temporary.rename(self.folder / f"{name}.shard")
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(folder)  # the rename itself must survive a power cut
        finally:
            os.close(folder)

    def _clean(self) -> None:
        """A crash may leave a temporary file; after a day nobody is writing it any more."""
        for path in self.folder.glob("*.tmp"):
            try:
                if time.time() - path.stat().st_mtime > STALE_TEMP_SECONDS:
                    path.unlink()
            except FileNotFoundError:
                continue  # another process was faster


class FeatureView:
    """Chosen rows of a store as if they were an (N, D) array; only what is indexed is read. 8 bytes a row."""

    def __init__(self, store: FeatureStore, places: NDArray[np.int64]) -> None:
        self._store = store
        self._places = places

    @property
    def shape(self) -> tuple[int, int]:
        return len(self._places), self._store.width

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, index: NDArray[np.int64] | slice) -> Vectors:
        return self._store.gather(self._places[index])

    def load(self) -> Vectors:
        return self._store.gather(self._places)


def _short(keys: Keys) -> NDArray[Any]:
    """(N, 32) digests -> (N,) 16-byte strings: the one numpy type that is that wide and can be sorted."""
    if keys.ndim != 2 or keys.shape[1] != KEY_BYTES or keys.dtype != np.uint8:
        raise ValueError(f"keys must be uint8 of shape (N, {KEY_BYTES}), not {keys.dtype} {keys.shape}")
    return np.ascontiguousarray(keys[:, :STORED_KEY_BYTES]).view(f"S{STORED_KEY_BYTES}").reshape(-1)
