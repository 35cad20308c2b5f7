"""Lines of a text file, plain, gzip or zstd, as bytes: a stream in constant memory, each with row and offset."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, Protocol

from model.data.rows import MAX_LINE_BYTES, FileError

Compression = Literal["gzip", "zstd"] | None

BLOCK_BYTES = 1 << 18
SAMPLE_LINES = 1_000
SAMPLE_BYTES = 4 << 20  # of all lines of a sample together
UTF8_BOM = b"\xef\xbb\xbf"
_MAGIC: dict[bytes, Compression] = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_RESAVE = "Save it as UTF-8 and upload it again."
# The four-byte mark first: the one of UTF-16 is its beginning.
_FOREIGN: dict[bytes, tuple[str, str]] = {
    b"\xff\xfe\x00\x00": ("utf32", f"The file is UTF-32 (byte order mark at byte 0). {_RESAVE}"),
    b"\x00\x00\xfe\xff": ("utf32", f"The file is UTF-32 (byte order mark at byte 0). {_RESAVE}"),
    b"\xff\xfe": ("utf16", f"The file is UTF-16 (byte order mark at byte 0). {_RESAVE}"),
    b"\xfe\xff": ("utf16", f"The file is UTF-16 (byte order mark at byte 0). {_RESAVE}"),
    b"PK\x03\x04": ("not_text", "The file is a zip archive, or begins like one. Unpack it and upload what is inside."),
    b"\x1f\x8b": ("not_text", "The file is compressed twice. Unpack it once and upload it again."),
    b"\x28\xb5\x2f\xfd": ("not_text", "The file is compressed twice. Unpack it once and upload it again."),
    b"\xfd7zX": ("not_text", "The file is compressed with xz. Upload it plain, as gzip or as zstd."),
    b"PAR1": (
        "not_text",
        "The file is Parquet and compressed as a whole, or not wanted as Parquet. Upload it as it was.",
    ),
}
_EMPTY = "The file is empty: it has no line at all. Upload a file with one pair a line."


class ByteStream(Protocol):
    def read(self, size: int, /) -> bytes: ...
    def read1(self, size: int, /) -> bytes: ...


def compression_of(path: Path) -> Compression:
    """By the first bytes, never by the name."""
    with path.open("rb") as file:
        head = file.read(4)
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)


@contextmanager
def open_stream(path: Path, compression: Compression) -> Iterator[ByteStream]:
    """The file's bytes, decompressed as they are read."""
    if compression == "zstd":
        # Of the libraries at hand the one that notices a file that is cut short.
        import pyarrow as pa

        with pa.OSFile(str(path)) as raw, pa.CompressedInputStream(raw, "zstd") as stream:
            yield stream
    else:
        with path.open("rb") as file:
            yield gzip.GzipFile(fileobj=file) if compression == "gzip" else file


def read_lines(path: Path, compression: Compression) -> Iterator[tuple[int, int, bytes]]:
    """(row, offset, line without its newline). A line over the cap is cut to one byte more than the cap."""
    row = 0
    try:
        with open_stream(path, compression) as stream:
            start, blocks = _blocks(stream)
            for row, (offset, line) in enumerate(_split(blocks, start), start=1):
                yield row, offset, line
    except EOFError:
        raise FileError("gzip_cut_short", _broken("gzip", "is cut short", row)) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise FileError("gzip_corrupt", _broken("gzip", f"is corrupt ({error})", row)) from None
    except OSError as error:
        if compression != "zstd" or error.errno is not None:  # a fault of the disk, not of the file
            raise
        if "Truncated" in str(error):
            raise FileError("zstd_cut_short", _broken("zstd", "is cut short", row)) from None
        raise FileError("zstd_corrupt", _broken("zstd", f"is corrupt ({error})", row)) from None
    if row == 0:
        raise FileError("empty_file", _EMPTY)


def sample_lines(path: Path, compression: Compression) -> list[bytes]:
    """The first lines, to look at."""
    sample: list[bytes] = []
    for row, offset, line in read_lines(path, compression):
        sample.append(line)
        if row == SAMPLE_LINES or offset > SAMPLE_BYTES:
            break
    return sample


def _broken(kind: str, what: str, row: int) -> str:
    return f"The {kind} file {what} after line {row:,}. Check it with `{kind} -t` and upload it again."


def _blocks(stream: ByteStream) -> tuple[int, Iterator[bytes]]:
    """The offset of the first line and the bytes from there on; a foreign encoding is refused here."""
    head = stream.read(4)
    for magic, (reason, message) in _FOREIGN.items():
        if head.startswith(magic):
            raise FileError(reason, message)
    start = len(UTF8_BOM) if head.startswith(UTF8_BOM) else 0

    def blocks() -> Iterator[bytes]:
        yield head[start:]
        # read1, not read: what was decompressed before the place where a file breaks is not lost.
        while block := stream.read1(BLOCK_BYTES):
            yield block

    return start, blocks()


def _split(blocks: Iterator[bytes], offset: int) -> Iterator[tuple[int, bytes]]:
    tail = b""  # the unfinished last line; longer than the cap means: drop the rest of it
    dropped = 0
    for block in blocks:
        if len(tail) > MAX_LINE_BYTES:
            end = block.find(b"\n")
            if end < 0:
                dropped += len(block)
                continue
            yield offset, tail
            offset += len(tail) + dropped + end + 1
            tail, block = b"", block[end + 1 :]
        lines = (tail + block).split(b"\n")
        tail = lines.pop()
        for line in lines:
            yield offset, line[: MAX_LINE_BYTES + 1]
            offset += len(line) + 1
        dropped = max(0, len(tail) - MAX_LINE_BYTES - 1)
        tail = tail[: MAX_LINE_BYTES + 1]
    if tail:
        yield offset, tail
