"""Names of members: which are safe, which are images, captions or tables, and the key that a sample shares."""

import posixpath
import re
from typing import NamedTuple

IMAGE_EXTENSIONS = ("jpg", "jpeg", "png", "webp", "gif")
TABLE_EXTENSIONS = ("tsv", "csv", "jsonl", "parquet")
MAX_NAME_BYTES = 1_024  # names become URLs and places of pairs; no file system allows longer paths to be useful
_HIDDEN = re.compile(r"(?:^|/)(?:\.(?!\.(?:/|$))|__MACOSX(?:/|$))")
_SIMPLE = re.compile(r"(?:[\w-][\w.-]*/)*[\w-][\w.-]*", re.ASCII)  # what nearly all names are: nothing to look into
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_PACKED = re.compile(r"\.(?:gz|zst)$", re.IGNORECASE)
_TAR = re.compile(r"\.(?:tar(?:\.gz|\.zst)?|tgz)$", re.IGNORECASE)


class Member(NamedTuple):
    name: str  # normal form: no leading "./", no doubled slashes
    size: int
    offset: int  # of its bytes in the file that holds it
    problem: str | None = None  # why it must not be read

    @property
    def is_hidden(self) -> bool:
        """What systems leave behind (.DS_Store, ._x, __MACOSX) is nobody's data."""
        return _HIDDEN.search(self.name) is not None


def clean_name(name: str) -> tuple[str, str | None]:
    """The normal form of a member's name that is safe to store and to show, and what is wrong with the name if any."""
    if len(name) <= MAX_NAME_BYTES and _SIMPLE.fullmatch(name):
        return name, None
    shown = name.encode("utf-8", "replace").decode()[:MAX_NAME_BYTES]
    if not name or _CONTROL.search(name):
        return _CONTROL.sub("\ufffd", shown), "its name is empty or holds control characters"
    if shown != name and len(name) <= MAX_NAME_BYTES:
        return shown, "its name is not UTF-8"
    if len(name.encode("utf-8", "replace")) > MAX_NAME_BYTES:
        return shown, f"its name is longer than {MAX_NAME_BYTES:,} bytes"
    if name.startswith("/"):
        return name, "its name is an absolute path"
    if ".." in name.split("/"):
        return name, "its name leads out of the archive (..)"
    return posixpath.normpath(name), None


def split_key(name: str) -> tuple[str, str]:
    """The key of a WebDataset sample (up to the first dot after the last slash) and the extension in lower case."""
    folder, slash, base = name.rpartition("/")
    stem, _, extension = base.partition(".")
    return folder + slash + stem, extension.lower()


def last_extension(name: str) -> str:
    return posixpath.splitext(name)[1][1:].lower()


def is_image(name: str) -> bool:
    return last_extension(name) in IMAGE_EXTENSIONS


def is_table(name: str) -> bool:
    return last_extension(_PACKED.sub("", name)) in TABLE_EXTENSIONS


def is_text(name: str) -> bool:
    return last_extension(_PACKED.sub("", name)) == "txt"


def is_tar_name(name: str) -> bool:
    return _TAR.search(name) is not None


def stem_of(name: str) -> str:
    """Without the extension, that of a packed tar or table included; the folder stays."""
    return posixpath.splitext(_PACKED.sub("", name))[0]


def natural(name: str) -> tuple[tuple[int, str], ...]:
    """A sort key that puts shard 2 before shard 10, the same everywhere."""
    parts = re.split(r"([0-9]+)", name)
    return tuple((int(part) if part.isdigit() and len(part) < 19 else -1, part) for part in parts)
