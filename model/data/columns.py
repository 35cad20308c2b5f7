"""Which column holds the URL, the caption, the label, and is the first row a header: guessed from sample rows.

The names are those people use in this field; what the caller says always wins over a guess.
"""

import re
from collections import Counter
from collections.abc import Sequence

from model.data.lines import Compression
from model.data.rows import FileError, is_url
from model.data.source import Column as Column
from model.data.source import ReadOptions
from model.data.table_format import TableFormat

MAX_COLUMNS = 1_000
# Where a table has several of them, the one named first here counts.
URL_NAMES = ("url", "image_url", "filepath", "image_path")
CAPTION_NAMES = ("caption", "text", "title")
LABEL_NAMES = ("label", "category", "class")
LABEL_LIST_NAMES = ("labels",)  # several with commas between them: the first counts
Aliases = tuple[str, ...]
# The labels subset of Conceptual Captions: caption, URL, labels, machine ids, confidences; the last three are lists.
_SUBSET_COLUMNS, _SUBSET_LABELS = 5, 2
_MACHINE_ID = re.compile(r"/[mg]/\w+")
_SHARE = re.compile(r"[01]?\.?\d+(?:[eE]-?\d+)?")

Row = Sequence[str]


def choose(
    sample: Sequence[Row],
    options: ReadOptions,
    *,
    names: tuple[str, ...] | None = None,
    delimiter: str = "\t",
    compression: Compression = None,
) -> TableFormat:
    """The format of a table from its first rows; FileError where there is none, with what to do about it.
    `names` are those of a table whose rows are all data."""
    url, caption, label = map(_number, (options.url_column, options.caption_column, options.label_column))
    columns = _width(sample, delimiter) if names is None else _count(names)
    body = [row for row in sample if len(row) == columns]
    has_header = names is None and _has_header(sample, columns, options, (url, caption, label))
    if has_header:
        names = _names(sample[0], columns)
        body = body[1:]
    if names is not None and any("\0" in name for name in names):
        raise FileError("bad_header", "The name of a column contains a NUL byte. Correct it and upload the file again.")
    fixed_caption = _resolve(caption, names, columns, CAPTION_NAMES)
    fixed_url = _resolve(url, names, columns, URL_NAMES)
    if fixed_url is None:
        fixed_url = _url_column(body, names, columns, fixed_caption, options.allow_paths)
    if fixed_caption is None:
        fixed_caption = _caption_column(body, names, columns, fixed_url)
    if fixed_caption == fixed_url:
        raise FileError("same_column", f"Column {fixed_url} cannot be both the URL and the caption.")
    fixed_label = _resolve(label, names, columns, LABEL_NAMES)
    if fixed_label in (fixed_url, fixed_caption):
        raise FileError("same_column", f"Column {fixed_label} cannot be the label as well.")
    guessed_label, is_list = _label_column(body, names, {fixed_url, fixed_caption})
    is_list = is_list and fixed_label in (None, guessed_label)
    fixed_label = guessed_label if fixed_label is None else fixed_label
    return TableFormat(
        columns, fixed_url, fixed_caption, has_header, names, compression, fixed_label, is_list, delimiter
    )


def _has_header(sample: Sequence[Row], columns: int, options: ReadOptions, given: tuple[Column, ...]) -> bool:
    if options.header is not None:
        return options.header
    if any(isinstance(column, str) for column in given):
        return True  # a column given by its name needs the row of names
    body = [row for row in sample[1:] if len(row) == columns]
    return _is_header(sample[0], body, columns, options.allow_paths)


def _number(column: Column) -> Column:
    return int(column) if isinstance(column, str) and column.isdecimal() else column


def _width(sample: Sequence[Row], delimiter: str) -> int:
    widths = Counter(len(row) for row in sample if len(row) > 1)
    if not widths:
        sign = {"\t": "TAB", ",": "comma", ";": "semicolon"}[delimiter]
        raise FileError(
            "one_column",
            f"None of the first {len(sample):,} lines has a {sign} (line 1 has one column). "
            f"A line must hold a URL and a caption with a {sign} between them.",
        )
    width = widths.most_common(1)[0][0]
    if width > MAX_COLUMNS:
        raise FileError(
            "too_many_columns", f"The lines have more than {MAX_COLUMNS:,} columns. Is this the right file?"
        )
    return width


def _count(names: tuple[str, ...]) -> int:
    if len(names) < 2:
        raise FileError(
            "one_column",
            f"There is only {', '.join(names)[:200] or 'nothing'} in each row. A row must hold a URL and a caption.",
        )
    return len(names)


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


def _resolve(column: Column, names: tuple[str, ...] | None, columns: int, aliases: Aliases) -> int | None:
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
    raise FileError("no_such_column", f"There is no column {column!r}: there are {', '.join(names)[:200]}.")


def _all_named(names: tuple[str, ...] | None, aliases: Aliases) -> list[int]:
    plain = [name.strip().lower() for name in names or ()]
    return sorted((i for i, name in enumerate(plain) if name in aliases), key=lambda i: aliases.index(plain[i]))


def _named(names: tuple[str, ...] | None, aliases: Aliases) -> int | None:
    return next(iter(_all_named(names, aliases)), None)


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
    named = [i for i in _all_named(names, URL_NAMES) if hits[i]]
    return named[0] if named else hits.index(max(hits))


def _caption_column(body: Sequence[Row], names: tuple[str, ...] | None, columns: int, url: int) -> int:
    named = _named(names, CAPTION_NAMES)
    if named is not None and named != url:
        return named
    others = [i for i in range(columns) if i != url]
    texts = [i for i in others if 2 * sum(_is_text(row[i]) for row in body) > len(body)]
    return max(texts or others, key=lambda i: sum(len(row[i]) for row in body))


def _label_column(body: Sequence[Row], names: tuple[str, ...] | None, taken: set[int]) -> tuple[int | None, bool]:
    """The column with the label, if there is one, and whether it is a list."""
    for aliases, is_list in ((LABEL_NAMES, False), (LABEL_LIST_NAMES, True)):
        named = _named(names, aliases)
        if named is not None and named not in taken:
            return named, is_list
    is_subset = taken == {0, 1} and 2 * sum(_is_of_subset(row) for row in body) > len(body)
    return (_SUBSET_LABELS, True) if is_subset else (None, False)


def _is_of_subset(row: Row) -> bool:
    if len(row) != _SUBSET_COLUMNS:
        return False
    machine_ids, shares = (cell.split(",")[0].strip() for cell in row[_SUBSET_LABELS + 1 :])
    return _MACHINE_ID.fullmatch(machine_ids) is not None and _SHARE.fullmatch(shares) is not None


def _is_text(value: str) -> bool:
    """Mostly letters and spaces, and no list: labels, ids and numbers joined by commas are not captions."""
    letters = sum(character.isalpha() or character == " " for character in value)
    return 2 * letters > len(value) and value.count(",") <= value.count(" ") and not is_url(value)
