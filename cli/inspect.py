"""pairsift inspect"""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from cli import reading
from cli.output import JsonFlag, printable
from cli.stack import StackError

console = Console(highlight=False)  # the tables are the result, so they go to stdout


@reading.with_reading
def inspect(
    source: reading.Source,
    rows: Annotated[int, typer.Option(min=0, help="How many of the first pairs to show.")] = 5,
    limit: Annotated[int | None, typer.Option(min=1, help="Read only so many rows. All of them by default.")] = None,
    as_json: JsonFlag = False,
    *,
    reads: dict[str, Any],
) -> None:
    """Say how a file or folder would be read: format, columns, first pairs, counts and rejects. Nothing is uploaded."""
    if not source.exists():
        raise typer.BadParameter(f"there is no file or folder {source}")
    # Takes a second to import, and the other verbs do not need it.
    from model.data.overview import overview
    from model.data.rows import FileError
    from model.data.source import ReadOptions
    from model.data.sources import open_source

    with TemporaryDirectory(prefix="pairsift-inspect-") as scratch:
        try:
            found = overview(open_source(source, ReadOptions(**reads, allow_paths=True), Path(scratch)), rows, limit)
        except FileError as error:
            raise StackError(f"{source} cannot be read ({error.reason}): {error}") from error
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        _show(source, found)


def _show(source: Path, found: dict[str, Any]) -> None:
    shown = {"first_pairs", "first_rejects", "reject_reasons"}
    facts = Table(title=printable(str(source)), show_header=False, title_justify="left")
    for name, value in _flat(found):
        if name not in shown and value is not None:
            text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
            text = "TAB" if text == "\t" else text
            facts.add_row(name.replace("_", " "), printable(text))
    for reason, count in found["reject_reasons"].items():
        facts.add_row(f"rejected: {reason}", f"{count:,}")
    console.print(facts)
    _show_rows("first pairs", found["first_pairs"], ("row", "url", "caption", "label"))
    _show_rows("first rejects", found["first_rejects"], ("row", "reason", "detail", "text"))


def _flat(found: dict[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """What is said of a part (the table in an archive) under the part's name."""
    for name, value in found.items():
        if isinstance(value, dict) and name != "reject_reasons":
            yield from _flat(value, f"{above}{name} ")
        else:
            yield f"{above}{name}", value


def _show_rows(title: str, rows: list[dict[str, Any]], columns: tuple[str, ...]) -> None:
    if not rows:
        return
    table = Table(*columns, title=title, title_justify="left")
    for row in rows:
        table.add_row(*(printable(str("" if row[name] is None else row[name])) for name in columns))
    console.print(table)
