"""What every reader yields: one Pair or one Reject for each row, never an exception for a bad one.

A file that cannot be read at all (empty, wrong encoding, cut short) is a FileError: a code, and what to do.
"""

import hashlib
import re
from dataclasses import dataclass

MAX_LINE_BYTES = 65_536  # without the newline; a longer line is no caption, and its memory must stay bounded
PREVIEW_CHARACTERS = 200

REASONS: dict[str, str] = {
    "empty_line": "The line is empty.",
    "too_few_columns": "The line has fewer columns than the file; is a separator missing?",
    "too_many_columns": "The line has more columns than the file; is there a separator inside the caption?",
    "empty_url": "The URL column is empty.",
    "empty_caption": "The caption column is empty or holds only spaces.",
    "not_a_url": "The URL column holds no http, https or file URL.",
    "not_utf8": "The line is not valid UTF-8.",
    "nul_byte": "The line contains a NUL byte.",
    "line_too_long": f"The line or row is longer than {MAX_LINE_BYTES:,} bytes.",
    "unbalanced_quote": "A quote opens a field of the line and is not closed as CSV wants it.",
    "bad_json": "The line is no JSON object.",
    "missing_field": "The object lacks the field with the URL or the caption.",
    "not_a_string": "The URL or the caption is not a string.",
}

# Case is ignored only where it must be: over the whole pattern it doubles the time of the hottest check.
_CONTROL = r"\x00-\x1f\x7f-\x9f"
_HOST = rf"(?:\[[0-9a-fA-F:.]+\]|[^\s/?#@:\[\]{_CONTROL}]+)"
_WEB = rf"(?i:https?)://(?:[^\s/?#@{_CONTROL}]*@)?{_HOST}(?::[0-9]*)?(?:[/?#][^\s{_CONTROL}]*)?"
# A path may hold spaces: names of files on disk do, and nothing is requested over a network.
_FILE = rf"(?i:file):(?://[^/{_CONTROL}]*/|(?!//))[^{_CONTROL}]*[^/\s{_CONTROL}]"
_PATH = rf"(?![A-Za-z][A-Za-z0-9+.-]+:)[^{_CONTROL}]*[^/\s{_CONTROL}]\.(?i:jpe?g|png|webp|gif)"
_is_url = re.compile(f"{_WEB}|{_FILE}").fullmatch
_is_usual_url = re.compile(r"https?://[a-zA-Z0-9.-]+/[!-~]*").fullmatch  # nearly all are; three times as fast
_is_path = re.compile(_PATH).fullmatch


# Not frozen: a frozen one takes five times as long to make, and there are millions of them.
@dataclass(slots=True)
class Pair:
    row: int  # line number in the file, from 1, a header counted; in other sources the number of the pair, from 1
    uid: str
    url: str
    caption: str
    # The other columns, None where there are none: joined by TAB if the source is TSV, else a JSON object.
    extra: str | None
    label: str | None = None  # the category, None where the file or the line has none
    place: str | None = None  # where in the source the image or its features lie (Source.read_image, Source.features)
    is_match: bool | None = None  # the truth, where the source knows it; to judge results with, never to train on


@dataclass(frozen=True, slots=True)
class Reject:
    row: int
    # Of the line's first byte in the decompressed file; of a tar member; in Parquet and arrays the row from 0.
    offset: int
    reason: str  # a key of REASONS
    detail: str
    text: str  # the start of the line, safe to store and to show


class FileError(ValueError):
    """The file as a whole cannot be read; `reason` is a short code, the message is for a person."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def is_url(value: str, *, allow_paths: bool = False) -> bool:
    """http(s) with a host, `file:` with a path, and where allowed a plain path to an image file."""
    if _is_usual_url(value) or _is_url(value):
        return True
    return allow_paths and _is_path(value) is not None


def pair_uid(url: str, caption: str) -> str:
    """The stable identity of a pair: the first 128 bits of a sha256, as 32 hex digits."""
    return hashlib.sha256(f"{url}\0{caption}".encode()).hexdigest()[:32]


def preview(line: bytes) -> str:
    """The first characters of a line, whatever its bytes; no NUL, which PostgreSQL text cannot hold."""
    text = line[: 4 * PREVIEW_CHARACTERS].decode("utf-8", "replace")[:PREVIEW_CHARACTERS]
    return text.replace("\0", "\ufffd")
