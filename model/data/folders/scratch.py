"""Unpacked copies: made once, under a temporary name until complete, found again; with limits against bombs."""

import gzip
import hashlib
import os
import shutil
import tempfile
import uuid
import weakref
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from model.data.folders.extent import Extent
from model.data.rows import FileError

BLOCK_BYTES = 1 << 20
MAX_UNPACKED_BYTES = 256 << 30  # six times the largest feature file in use (44 GB)
MAX_RATIO = (
    200  # images and features hardly shrink, text about tenfold, padded tiny files fiftyfold; deflate can do 1,032
)
FREE_BYTES = 64 << 20  # below this the ratio says nothing and the disk is in no danger
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


class Scratch:
    """A folder for unpacked files; a temporary one, gone with this object, where none is given."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pairsift-")) if folder is None else folder
        self.folder.mkdir(parents=True, exist_ok=True)
        if folder is None:
            weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def unpack(self, origin: Extent, name: str, stream: IO[bytes]) -> Extent:
        """The content of the stream, which `origin` and `name` identify, as a file."""
        target = self.find(origin, name)
        if not target.exists():
            temporary = target.with_name(f".{uuid.uuid4().hex}")
            try:
                with temporary.open("wb") as out:
                    for block in limited(stream, origin.size, name):
                        out.write(block)
                    out.flush()
                    os.fsync(out.fileno())
                temporary.replace(target)
            finally:
                temporary.unlink(missing_ok=True)
        return Extent.of_file(target)

    def find(self, origin: Extent, name: str) -> Path:
        """Another name for every content: the same path with another size or time is another upload."""
        stat = origin.path.stat()
        identity = f"{origin.path.resolve()}\0{stat.st_size}\0{stat.st_mtime_ns}\0{origin.offset}\0{name}"
        digest = hashlib.sha256(identity.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        return self.folder / f"{digest}{Path(name).suffix[:16]}"


def limited(stream: IO[bytes], packed_bytes: int, name: str) -> Iterator[bytes]:
    """The blocks of a decompressing stream; FileError where it grows beyond what honest data does."""
    limit = min(MAX_UNPACKED_BYTES, max(FREE_BYTES, packed_bytes * MAX_RATIO))
    total = 0
    while block := stream.read(BLOCK_BYTES):
        total += len(block)
        if total > limit:
            raise FileError(
                "unpacks_too_large",
                f"{name} unpacks to more than {limit:,} bytes, {MAX_RATIO} times its packed size or the most that is "
                "taken. Upload it unpacked.",
            )
        yield block


def compression_of(head: bytes) -> str | None:
    return "gzip" if head.startswith(GZIP) else "zstd" if head.startswith(ZSTD) else None


@contextmanager
def decompressed(extent: Extent, label: str) -> Iterator[IO[bytes]]:
    """The decompressed content of a gzip or zstd file as a stream; a broken one is a FileError."""
    with extent.open() as file:
        kind = compression_of(file.peek(4))
        try:
            if kind == "gzip":
                with gzip.GzipFile(fileobj=file) as stream:
                    yield cast(IO[bytes], stream)
            elif kind == "zstd":
                import pyarrow as pa  # 40 MB: only where it is needed

                with pa.CompressedInputStream(file, "zstd") as stream:  # notices a stream that is cut short
                    yield stream
            else:
                yield file
        except EOFError:
            raise FileError("cut_short", f"{label} is cut short: its {kind} stream does not end.") from None
        except (OSError, zlib.error) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # of the system: a full disk is no fault of the file
            raise FileError("corrupt", f"{label} is corrupt ({kind}: {error}). Upload it again.") from None
