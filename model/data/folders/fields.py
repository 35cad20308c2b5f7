"""What makes a pair of the fields of a row or a member: the checks that all formats share, and why one is refused."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from model.data.checks import BadRow, check_text, to_json
from model.data.folders.names import MAX_NAME_BYTES
from model.data.rows import MAX_LINE_BYTES, FileError, is_url
from model.data.source import Column

MAX_EXTRA = 65_536  # characters of what comes with a pair; more is no metadata

REASONS: dict[str, str] = {
    "no_image": "The row or sample has no image in the archive or folder.",
    "image_failed": "The image could not be downloaded when the collection was made.",
    "unsafe_member": "A member is a link, a device or has a name that leads outside: it is not read.",
    "broken_json": "The .json of the sample is not a JSON object.",
    "caption_too_long": f"The caption is longer than {MAX_LINE_BYTES:,} bytes.",
    "fields_too_long": f"The other fields take more than {MAX_EXTRA:,} characters.",
    "no_features": "The row names features that are not there.",
}


def caption_of(value: Any, where: str) -> str:
    """A caption, byte for byte; BadRow where it is none."""
    if isinstance(value, bytes):
        if len(value) > MAX_LINE_BYTES:
            raise BadRow("caption_too_long", f"{where}: more than {MAX_LINE_BYTES:,} bytes")
        try:
            value = value.decode()
        except UnicodeDecodeError as error:
            raise BadRow("not_utf8", f"{where}: byte {error.start} of the caption: {error.reason}") from None
    if not isinstance(value, str) or not value or value.isspace():
        kind = "" if value is None or isinstance(value, str) else f", but holds {type(value).__name__}"
        raise BadRow("empty_caption", f"{where} has no caption{kind}")
    try:
        size = len(value.encode())
    except UnicodeEncodeError as error:  # JSON can spell half a character
        raise BadRow("not_utf8", f"{where}: character {error.start} of the caption: {error.reason}") from None
    if size > MAX_LINE_BYTES:
        raise BadRow("caption_too_long", f"{where}: {size:,} bytes")
    if "\0" in value:
        raise BadRow("nul_byte", f"{where}: NUL at character {value.index(chr(0))} of the caption")
    return value


def extra_of(fields: Mapping[str, Any], where: str) -> str | None:
    """The other fields as a JSON object; None where there are none."""
    if not fields:
        return None
    try:
        plain = _plain(fields)
        check_text(plain)
        text = to_json(plain)
    except BadRow as error:
        reason, detail = error.fault
        raise BadRow(reason, f"{where}: {detail}") from None
    except RecursionError:
        raise BadRow("broken_json", f"{where}: its fields are nested too deeply") from None
    if len(text) > MAX_EXTRA:
        raise BadRow("fields_too_long", f"{where}: {len(text):,} characters")
    return text


def url_of(value: Any, *, allow_paths: bool = False) -> str | None:
    """The value if it is a URL that can be stored, half characters out of JSON excluded."""
    if not isinstance(value, str) or len(value) > MAX_LINE_BYTES or not is_url(value, allow_paths=allow_paths):
        return None
    return value if value.encode("utf-8", "replace").decode() == value else None


def name_of(value: Any, number: int) -> str:
    """What an image without a URL is called: as the source calls it if that can be shown, else by its number."""
    usable = isinstance(value, str) and value.isprintable() and 0 < len(value.strip()) <= MAX_NAME_BYTES
    return str(value).strip() if usable else str(number)


def label_of(value: Any) -> str | None:
    text = value if isinstance(value, str) else str(value) if isinstance(value, int) else ""
    text = text.encode("utf-8", "replace").decode().replace("\0", "")
    return text if text and not text.isspace() else None


def pick(names: Iterable[str], given: Column, aliases: Iterable[str], what: str) -> str | None:
    """Which field to use: the one that the user gives, else the first with a name that people use for it."""
    known = list(names)
    if isinstance(given, int) or (isinstance(given, str) and given.isdecimal() and given not in known):
        number = int(given)
        if 0 <= number < len(known):
            return known[number]
        raise FileError("no_such_column", f"There is no column {number} for the {what}: there are {len(known)}.")
    lower = {name.lower(): name for name in reversed(known)}
    if given is not None:
        found = given if given in known else lower.get(given.lower())
        if found is None:
            raise FileError(
                "no_such_column", f"There is no column {given!r} for the {what}: there are {', '.join(known)[:300]}."
            )
        return found
    return next((lower[alias] for alias in sorted(aliases) if alias in lower), None)


def _plain(value: Any) -> Any:
    """What JSON can spell: dates and decimals as text, bytes in hex, no number for NaN."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return value.hex()
    return value if value is None or isinstance(value, str | int) else str(value)
