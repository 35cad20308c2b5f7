"""The options that say how a file or folder is to be read; every verb that reads one has them."""

from pathlib import Path
from typing import Annotated, Any

import typer

Source = Annotated[
    Path,
    typer.Argument(
        help="TSV, CSV, JSONL (also gz, zst), Parquet, WebDataset, a tar or zip, or a folder.", show_default=False
    ),
]
Column = Annotated[str | None, typer.Option(help="Number from 0, or name in the header. Detected when not given.")]
ImageRoot = Annotated[
    Path | None,
    typer.Option(help="Folder of image files: the URL column may then hold paths below it.", file_okay=False),
]
InputFormat = Annotated[str | None, typer.Option(help="Name of the format. Detected when not given.")]
SplitName = Annotated[str | None, typer.Option("--split", help="Of a precomp folder: train, dev or test.")]
NoiseIndex = Annotated[
    str | None, typer.Option(help="Of a precomp folder: a noise index file in it; the truth comes from it.")
]
FeatureKind = Annotated[str | None, typer.Option("--features", help="Of a datacomp folder: b32 or l14.")]


def given(**options: Any) -> dict[str, Any]:
    """What was said, under the names of the REST API."""
    return {name: value for name, value in options.items() if value is not None}
