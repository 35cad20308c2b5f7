"""Files of a feature store behind any fsspec URL, read through a folder of this machine that holds copies.

Give the cache room for what is read at random: where it is smaller, the same files are fetched again and again.
"""

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

import fsspec

from model.features.files import STALE_SECONDS, TEMPORARY, Files, delete_stale, written_whole
from model.features.shards import SUFFIX, FeatureError, check_shard

# Here a put appears whole or not at all, and a move would be a copy; elsewhere a move is what is atomic.
_ATOMIC_PUT = frozenset({"abfs", "abfss", "az", "gcs", "gs", "memory", "oss", "s3", "s3a"})


class Remote(Files):
    def __init__(self, url: str, cache: Path, cache_bytes: int) -> None:
        self.location = url.rstrip("/")
        self._system, root = fsspec.core.url_to_fs(url)
        self._root = root.rstrip("/")
        protocols = self._system.protocol
        self._is_put_atomic = not _ATOMIC_PUT.isdisjoint((protocols,) if isinstance(protocols, str) else protocols)
        self._cache = cache
        self._cache_bytes = cache_bytes
        self._sound: set[str] = set()  # cached files that this object has checked
        self._system.makedirs(self._root, exist_ok=True)
        cache.mkdir(parents=True, exist_ok=True)
        delete_stale(cache)
        for name in self._older([name for name in self.sizes() if name.endswith(TEMPORARY)]):
            self.delete(name)

    def sizes(self) -> dict[str, int]:
        self._system.invalidate_cache()
        try:
            entries = self._system.ls(self._root, detail=True)
        except FileNotFoundError:  # a bucket without objects has no folder either
            return {}
        return {entry["name"].rsplit("/", 1)[-1]: entry["size"] for entry in entries if entry["type"] == "file"}

    def read(self, name: str) -> bytes:
        return bytes(self._system.cat_file(self._remote(name)))

    def open(self, name: str) -> BufferedReader:
        """From the cache; what is not there or not sound is fetched."""
        path = self._cache / name
        try:
            file = path.open("rb")
        except FileNotFoundError:
            return self._fetch(name)
        try:
            if name not in self._sound:
                check_shard(file, str(path))
        except FeatureError:
            file.close()
            path.unlink(missing_ok=True)
            return self._fetch(name)
        self._sound.add(name)
        os.utime(file.fileno())  # the least recently used go first
        return file

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        path = self._cache / name
        with written_whole(path) as file:
            yield file
        try:
            self._upload(path, name)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        if name.endswith(SUFFIX):
            self._evict(name)
        else:
            path.unlink(missing_ok=True)

    def delete(self, name: str) -> None:
        try:
            self._system.rm_file(self._remote(name))
        except FileNotFoundError:
            return  # another process was faster

    def hold(self) -> ExitStack:
        """Nobody elsewhere can be told; what was replaced stays for a day instead."""
        return ExitStack()

    @contextmanager
    def free(self, names: list[str]) -> Iterator[list[str]]:
        yield self._older(names)

    @contextmanager
    def merging(self) -> Iterator[bool]:
        yield True

    def _remote(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _older(self, names: list[str]) -> list[str]:
        older = []
        for name in names:
            try:
                modified = self._system.modified(self._remote(name))
            except FileNotFoundError:
                continue  # another process was faster
            if time.time() - modified.timestamp() > STALE_SECONDS:
                older.append(name)
        return older

    def _upload(self, path: Path, name: str) -> None:
        if self._is_put_atomic:
            self._system.put_file(str(path), self._remote(name))
            return
        temporary = self._remote(name) + TEMPORARY
        try:
            self._system.put_file(str(path), temporary)
            self._system.mv(temporary, self._remote(name))
        except BaseException:
            if self._system.exists(temporary):
                self._system.rm_file(temporary)
            raise

    def _fetch(self, name: str) -> BufferedReader:
        with ExitStack() as opened:
            with written_whole(self._cache / name) as file:
                self._system.get_file(self._remote(name), file.name)
                fetched = opened.enter_context(Path(file.name).open("rb"))
                check_shard(fetched, f"{self.location}/{name}")
            self._sound.add(name)
            self._evict(name)
            opened.pop_all()
        return fetched

    def _evict(self, newest: str) -> None:
        """Delete the least recently used copies beyond the budget. Who has one open can read it to the end."""
        copies = []
        for entry in os.scandir(self._cache):
            if entry.name.endswith(SUFFIX):
                try:
                    copies.append((entry.stat().st_mtime, entry.stat().st_size, Path(entry.path)))
                except FileNotFoundError:
                    continue  # another process was faster
        excess = sum(size for _, size, _ in copies) - self._cache_bytes
        for _, size, path in sorted(copies):
            if excess <= 0:
                return
            if path.name != newest:
                path.unlink(missing_ok=True)
                excess -= size
