"""Lines of a text file, plain or gzip, as bytes: a stream in constant memory, each with row and offset."""

import gzip
import zlib
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Literal

from model.data.rows import MAX_LINE_BYTES, FileError

Compression = Literal["gzip"] | None

BLOCK_BYTES = 1 << 20
GZIP_MAGIC = b"\x1f\x8b"
UTF8_BOM = b"\xef\xbb\xbf"
_RESAVE = "Save it as UTF-8 and upload it again."
# The four-byte mark first: the one of UTF-16 is its beginning.
_FOREIGN: dict[bytes, tuple[str, str]] = {
    b"\xff\xfe\x00\x00": ("utf32", f"The file is UTF-32 (byte order mark at byte 0). {_RESAVE}"),
    b"\x00\x00\xfe\xff": ("utf32", f"The file is UTF-32 (byte order mark at byte 0). {_RESAVE}"),
    b"\xff\xfe": ("utf16", f"The file is UTF-16 (byte order mark at byte 0). {_RESAVE}"),
    b"\xfe\xff": ("utf16", f"The file is UTF-16 (byte order mark at byte 0). {_RESAVE}"),
    b"PK\x03\x04": (
        "not_text",
        "The file is a zip archive (from byte 0). Unpack it and upload the TSV inside.",
    ),
    b"\x28\xb5\x2f\xfd": ("not_text", "The file is compressed with zstd. Upload it plain or as gzip."),
    b"\xfd7zX": ("not_text", "The file is compressed with xz. Upload it plain or as gzip."),
}
_EMPTY = "The file is empty: it has no line at all. Upload a TSV with one pair a line."


def compression_of(path: Path) -> Compression:
    """By the first bytes, never by the name."""
    with path.open("rb") as file:
        return "gzip" if file.read(2) == GZIP_MAGIC else None


def read_lines(path: Path, compression: Compression) -> Iterator[tuple[int, int, bytes]]:
    """(row, offset, line without its newline). A line over the cap is cut to one byte more than the cap."""
    row = 0
    try:
        with path.open("rb") as raw:
            start, blocks = _blocks(gzip.GzipFile(fileobj=raw) if compression == "gzip" else raw)
            for row, (offset, line) in enumerate(_split(blocks, start), start=1):
                yield row, offset, line
    except EOFError:
        raise FileError("gzip_cut_short", _gzip_message("is cut short", row)) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise FileError("gzip_corrupt", _gzip_message(f"is corrupt ({error})", row)) from None
    if row == 0:
        raise FileError("empty_file", _EMPTY)


def _gzip_message(what: str, row: int) -> str:
    return f"The gzip file {what} after line {row:,}. Check it with `gzip -t` and upload it again."


def _blocks(stream: BufferedReader | gzip.GzipFile) -> tuple[int, Iterator[bytes]]:
    """The offset of the first line and the bytes from there on; a foreign encoding is refused here."""
    head = stream.read(4)
    for magic, (reason, message) in _FOREIGN.items():
        if head.startswith(magic):
            raise FileError(reason, message)
    start = len(UTF8_BOM) if head.startswith(UTF8_BOM) else 0

    def blocks() -> Iterator[bytes]:
        yield head[start:]
        # read1, not read: what was decompressed before the place where a gzip breaks is not lost.
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
