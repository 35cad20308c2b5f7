"""Which column holds the URL, which the caption, and is the first row a header: guessed from sample rows.

The names are those people use in this field; what the caller says always wins over a guess.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from model.data.rows import FileError, is_url

URL_NAMES = frozenset({"url", "image_url", "filepath", "image_path"})
CAPTION_NAMES = frozenset({"caption", "text", "title"})

Column = int | str | None
Row = Sequence[str]


@dataclass(frozen=True)
class Layout:
    columns: int
    url: int
    caption: int
    header: tuple[str, ...] | None


def choose(sample: Sequence[Row], url: Column, caption: Column, header: bool | None, allow_paths: bool) -> Layout:
    """The layout of a table from its first rows; FileError where there is none, with what to do about it."""
    url, caption = _number(url), _number(caption)
    if header is None and (isinstance(url, str) or isinstance(caption, str)):
        header = True  # a column given by its name needs the row of names
    columns = _width(sample)
    body = [row for row in sample[1:] if len(row) == columns]
    if header is None:
        header = _is_header(sample[0], body, columns, allow_paths)
    names = _names(sample[0], columns) if header else None
    if not header and len(sample[0]) == columns:
        body.insert(0, sample[0])
    fixed_caption = _resolve(caption, names, columns, CAPTION_NAMES)
    fixed_url = _resolve(url, names, columns, URL_NAMES)
    url_index = _url_column(body, names, columns, fixed_caption, allow_paths) if fixed_url is None else fixed_url
    if fixed_caption is None:
        fixed_caption = _caption_column(body, names, columns, url_index)
    if fixed_caption == url_index:
        raise FileError("same_column", f"Column {url_index} cannot be both the URL and the caption.")
    return Layout(columns, url_index, fixed_caption, names)


def _number(column: Column) -> Column:
    return int(column) if isinstance(column, str) and column.isdecimal() else column


def _width(sample: Sequence[Row]) -> int:
    widths = Counter(len(row) for row in sample if len(row) > 1)
    if not widths:
        raise FileError(
            "one_column",
            f"None of the first {len(sample):,} lines has a TAB (line 1 has one column). "
            "A line must hold a URL and a caption with a TAB between them.",
        )
    return widths.most_common(1)[0][0]


def _is_header(first: Row, body: Sequence[Row], columns: int, allow_paths: bool) -> bool:
    """No URL in the first row while later rows have one. A row with an empty cell or a broken URL is data."""
    if len(first) != columns or not all(cell.strip() for cell in first):
        return False
    if any("/" in cell or is_url(cell, allow_paths=allow_paths) for cell in first):
        return False
    return any(is_url(cell, allow_paths=allow_paths) for row in body for cell in row)


def _names(first: Row, columns: int) -> tuple[str, ...]:
    if len(first) != columns:
        raise FileError(
            "bad_header",
            f"Line 1 should name the columns, but has {len(first)} of them where most lines have {columns}. "
            "Correct the header, or say that the file has none.",
        )
    return tuple(first)


def _resolve(column: Column, names: tuple[str, ...] | None, columns: int, aliases: frozenset[str]) -> int | None:
    if column is None:
        return None
    if isinstance(column, int):
        if 0 <= column < columns:
            return column
        raise FileError("no_such_column", f"There is no column {column}: columns are 0 to {columns - 1}.")
    if names is None:
        raise FileError("no_such_column", f"The file has no header, so give column {column!r} by its number from 0.")
    wanted = column.strip().lower()
    given = [name.strip().lower() for name in names]
    if column in names:
        return names.index(column)
    if wanted in given:
        return given.index(wanted)
    if wanted in aliases and (found := _named(names, aliases)) is not None:
        return found
    raise FileError("no_such_column", f"There is no column {column!r}: line 1 names {', '.join(names)[:200]}.")


def _named(names: tuple[str, ...] | None, aliases: frozenset[str]) -> int | None:
    found = [i for i, name in enumerate(names or ()) if name.strip().lower() in aliases]
    return found[0] if found else None


def _url_column(
    body: Sequence[Row], names: tuple[str, ...] | None, columns: int, caption: int | None, allow_paths: bool
) -> int:
    hits = [sum(is_url(row[i], allow_paths=allow_paths) for row in body) for i in range(columns)]
    if caption is not None:
        hits[caption] = 0
    if not any(hits):
        nul = any("\0" in cell for row in body for cell in row)
        hint = " The lines contain NUL bytes: is the file UTF-16 or binary? Save it as UTF-8." if nul else ""
        raise FileError(
            "no_url_column",
            f"No column of the first {len(body):,} lines of data looks like a URL (http, https or file). "
            f"Check the file, or name the URL column.{hint}",
        )
    named = _named(names, URL_NAMES)
    return named if named is not None and hits[named] else hits.index(max(hits))


def _caption_column(body: Sequence[Row], names: tuple[str, ...] | None, columns: int, url: int) -> int:
    named = _named(names, CAPTION_NAMES)
    if named is not None and named != url:
        return named
    others = [i for i in range(columns) if i != url]
    texts = [i for i in others if 2 * sum(_is_text(row[i]) for row in body) > len(body)]
    return max(texts or others, key=lambda i: sum(len(row[i]) for row in body))


def _is_text(value: str) -> bool:
    """Mostly letters and spaces, and no list: labels, ids and numbers joined by commas are not captions."""
    letters = sum(character.isalpha() or character == " " for character in value)
    return 2 * letters > len(value) and value.count(",") <= value.count(" ") and not is_url(value)
