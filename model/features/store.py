"""The feature store: rows by content hash, in immutable, memory-mapped shard files, never loaded whole.

A writer only makes new files, so any number of processes may add at once. Keys are sha256 digests as uint8, (N, 32).
"""

import hashlib
import uuid
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.features.catalogue import Catalogue, Shards
from model.features.files import Files, Folder
from model.features.keys import KEY_BYTES, Keys, ShortKeys, ascending, in_chunks, shorten
from model.features.reader import ShardReader
from model.features.rows import Dtype, Raw, RowForm, Vectors
from model.features.shards import SUFFIX, write_shard
from model.features.shards import FeatureError as FeatureError

COMPACT_AFTER = 256  # shards of one writer; every question looks at every shard
CACHE_BYTES = 64 * 1024**3

_BLOCK_BYTES = 8 * 1024**2


def content_key(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def stack_keys(digests: Iterable[bytes]) -> Keys:
    """sha256 digests as the (N, 32) array the store takes."""
    return np.frombuffer(b"".join(digests), np.uint8).reshape(-1, KEY_BYTES)


class FeatureStore:
    """`location` is a folder, or an fsspec URL with a folder as `cache`. A row is (D,) or (R, D)."""

    def __init__(
        self,
        location: str | Path,
        shape: int | tuple[int, ...],
        dtype: Dtype = "float16",
        *,
        cache: Path | None = None,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        self._form = RowForm(shape, dtype)
        self._files = _open_files(location, cache, cache_bytes)
        self._reader = ShardReader(self._files, self._form)
        self._catalogue = Catalogue(self._files)
        self._catalogue.sweep()
        self._added = 0
        self.refresh()

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one row."""
        return self._form.shape

    def refresh(self) -> None:
        """See the shards that other processes have added; `missing` and `view` do it themselves."""
        self._shards = self._catalogue.shards(self._form)

    def missing(self, keys: Keys) -> NDArray[np.bool_]:
        """Which keys have no row yet. Ask once for many keys: every shard is searched each time."""
        missing = np.empty(len(keys), np.bool_)
        with self._files.hold():
            self.refresh()
            for part, chunk in in_chunks(keys):
                missing[part] = self._reader.find(self._shards, chunk) < 0
        return missing

    def add(self, keys: Keys, vectors: NDArray[Any]) -> None:
        """Write one shard, whole or not at all. A key that is stored twice does no harm."""
        if vectors.shape != (len(keys), *self.shape):
            raise ValueError(f"vectors are {vectors.shape}, expected {(len(keys), *self.shape)}")
        if not len(keys):
            return
        short = shorten(keys)
        order = ascending(short)
        try:
            rows = self._form.encode(vectors[order])
        except ValueError as error:
            raise FeatureError(f"{self._files.location}: {error}") from error
        self._write(short[order], iter([rows]))
        self._added += 1
        if self._added >= COMPACT_AFTER:
            self.compact()

    def view(self, keys: Any) -> "FeatureView":
        """The rows of these keys, in this order; KeyError where one has none. `keys` is an (N, 32) array, best a
        np.memmap where there are many: it is read piece by piece."""
        held = self._files.hold()
        try:
            self.refresh()
            places = self._locate(keys)
        except BaseException:
            held.close()
            raise
        return FeatureView(self._reader, self._form, self._shards, places, held)

    def compact(self) -> int:
        """Merge small shards into large ones; how many went into others. Views that are in use stay readable."""
        merged = 0
        with self._files.merging() as is_mine, self._files.hold():
            self.refresh()
            while is_mine and (groups := list(self._shards.small(self._form))):
                for group in groups:
                    self._merge(group)
                    merged += len(group.names)
                self.refresh()
        self._added = 0
        self._reader.open.cache_clear()  # else what was merged stays open, and mapped
        self._catalogue.sweep()
        self.refresh()
        return merged

    def verify(self) -> int:
        """Read every shard against its checksum; the number of rows, or FeatureError for a bad file."""
        with self._files.hold():
            self.refresh()
            return sum(self._reader.check(name) for name in self._shards.names)

    def _locate(self, keys: Any) -> NDArray[Any]:
        places = np.empty(len(keys), np.uint32 if self._shards.rows < 2**32 else np.int64)
        absent, first = 0, b""
        for part, chunk in in_chunks(keys):
            places[part] = found = self._reader.find(self._shards, chunk)
            lost = np.flatnonzero(found < 0)
            if len(lost):
                absent, first = absent + len(lost), first or chunk[lost[0]].tobytes()
        if absent:
            where = f"{self._files.location} for {absent} of {len(keys)} keys"
            raise KeyError(f"no features in {where}, first {first.hex()}")
        return places

    def _write(self, keys: ShortKeys, blocks: Iterator[Raw]) -> str:
        name = uuid.uuid4().hex + SUFFIX
        with self._files.writing(name) as file:
            write_shard(file, self._form, keys, blocks)
        return name

    def _merge(self, group: Shards) -> None:
        keys = ShortKeys(*np.empty((2, group.rows), np.uint64))
        for name, start in zip(group.names, group.starts, strict=False):
            part = slice(start, start + self._reader.check(name))  # a new checksum must not hide a fault
            stored = self._reader.open(name).keys()
            keys.high[part], keys.low[part] = stored.high, stored.low
        order = ascending(keys)
        step = max(1, _BLOCK_BYTES // self._form.bytes)
        blocks = (self._reader.take(group, order[at : at + step]) for at in range(0, len(order), step))
        self._catalogue.replace(group, self._write(keys[order], blocks))


class FeatureView:
    """Chosen rows of a store as if they were one array; only what is indexed is read. 4 bytes a row."""

    dtype = np.dtype(np.float32)

    def __init__(
        self, reader: ShardReader, form: RowForm, shards: Shards, places: NDArray[Any], held: ExitStack
    ) -> None:
        self._reader = reader
        self._form = form
        self._shards = shards
        self._places = places  # (N,)
        self._held = held  # as long as the view lives, its files stay

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self._places), *self._form.shape)

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, index: NDArray[np.int64] | slice) -> Vectors:
        return self._form.decode(self._reader.take(self._shards, self._places[index]))

    def load(self) -> Vectors:
        return self[:]


def _open_files(location: str | Path, cache: Path | None, cache_bytes: int) -> Files:
    if "://" not in str(location):
        return Folder(Path(location))
    if cache is None:
        raise ValueError(f"{location} is read through copies on this machine: say where they may lie with cache=FOLDER")
    from model.features.remote import Remote  # fsspec is needed here only

    return Remote(str(location), cache, cache_bytes)
