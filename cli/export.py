"""pairsift export"""

from pathlib import Path
from typing import Annotated, Literal, get_args
from uuid import UUID

import typer

from cli.output import JsonFlag, give
from cli.session import connected, export_file
from service.db.states import Split

Format = Literal["tsv", "jsonl", "parquet"]


def export(
    run: Annotated[UUID, typer.Argument(help="As `pairsift run` printed it.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write.", dir_okay=False)],
    split: Annotated[Split | None, typer.Option(help="Which pairs; all of them by default.")] = None,
    min_confidence: Annotated[float | None, typer.Option(min=0, max=1, help="A cut of your own.")] = None,
    max_confidence: Annotated[float | None, typer.Option(min=0, max=1)] = None,
    format: Annotated[Format | None, typer.Option(help="By the file's ending when not given.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Download pairs of a run: the clean subset with --split clean, the flagged ones with --split noisy."""
    chosen = {"split": split, "min_confidence": min_confidence, "max_confidence": max_confidence}
    filters = {name: value for name, value in chosen.items() if value is not None}
    with connected() as client:
        made = export_file(client, run, out, format or format_of(out), **filters)
    give(made.model_dump(mode="json"), as_json, f"{out}: {made.rows:,} rows, sha256 {made.sha256}")


def format_of(path: Path) -> str:
    ending = path.suffix.lower().removeprefix(".")
    format = {"json": "jsonl", "ndjson": "jsonl", "": "tsv", "txt": "tsv"}.get(ending, ending)
    if format not in get_args(Format):
        raise typer.BadParameter(f"{path}: the ending must be one of .{', .'.join(get_args(Format))}")
    return format
