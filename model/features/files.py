"""Where the files of a feature store lie: in a folder, each there whole or not at all."""

import fcntl
import os
import time
import uuid
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

TEMPORARY = ".tmp"
STALE_SECONDS = 86_400  # after a day nobody is writing a temporary file any more

_READERS = "readers.lock"
_MERGING = "merging.lock"


class Files(ABC):
    """Named files that never change. Only what compaction has replaced is ever deleted."""

    location: str

    @abstractmethod
    def sizes(self) -> dict[str, int]:
        """Every file with its size."""

    @abstractmethod
    def open(self, name: str) -> BufferedReader:
        """A shard, to be mapped."""

    @abstractmethod
    def read(self, name: str) -> bytes:
        """A small file."""

    @abstractmethod
    def writing(self, name: str) -> AbstractContextManager[BinaryIO]:
        """A file that appears under its name only when complete; after an exception it is not there."""

    @abstractmethod
    def delete(self, name: str) -> None: ...

    @abstractmethod
    def hold(self) -> ExitStack:
        """Until it is closed, what is there now stays."""

    @abstractmethod
    def free(self, names: list[str]) -> AbstractContextManager[list[str]]:
        """Those of the named lists whose shards nobody can be reading any more."""

    @abstractmethod
    def merging(self) -> AbstractContextManager[bool]:
        """False where another process is merging the same files."""


class Folder(Files):
    """A folder of this machine. Readers hold a shared lock, which ends with their process if not before."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.location = str(path)
        path.mkdir(parents=True, exist_ok=True)
        delete_stale(path)

    def sizes(self) -> dict[str, int]:
        found = {}
        for entry in os.scandir(self.path):
            try:
                found[entry.name] = entry.stat().st_size
            except FileNotFoundError:
                continue  # a temporary file that has got its name meanwhile
        return found

    def open(self, name: str) -> BufferedReader:
        return (self.path / name).open("rb")

    def read(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def writing(self, name: str) -> AbstractContextManager[BinaryIO]:
        return written_whole(self.path / name)

    def delete(self, name: str) -> None:
        (self.path / name).unlink(missing_ok=True)

    def hold(self) -> ExitStack:
        held = self._lock(_READERS, fcntl.LOCK_SH)
        assert held is not None  # without LOCK_NB it waits
        return held

    @contextmanager
    def free(self, names: list[str]) -> Iterator[list[str]]:
        held = self._lock(_READERS, fcntl.LOCK_EX | fcntl.LOCK_NB) if names else None
        with held or ExitStack():
            yield names if held else []

    @contextmanager
    def merging(self) -> Iterator[bool]:
        held = self._lock(_MERGING, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with held or ExitStack():
            yield held is not None

    def _lock(self, name: str, kind: int) -> ExitStack | None:
        descriptor = os.open(self.path / name, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, kind)
        except BaseException as error:
            os.close(descriptor)
            if isinstance(error, BlockingIOError):
                return None
            raise
        held = ExitStack()
        held.callback(weakref.finalize(held, os.close, descriptor))
        return held


@contextmanager
def written_whole(target: Path) -> Iterator[BinaryIO]:
    temporary = target.with_name(f"{target.name}.{uuid.uuid4().hex}{TEMPORARY}")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # the rename itself must survive a power cut
    finally:
        os.close(folder)


def delete_stale(folder: Path) -> None:
    """A crash may leave temporary files."""
    for path in folder.glob(f"*{TEMPORARY}"):
        try:
            if time.time() - path.stat().st_mtime > STALE_SECONDS:
                path.unlink()
        except FileNotFoundError:
            continue  # another process was faster
