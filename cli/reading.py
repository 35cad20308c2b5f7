"""The options that say how a file or folder is to be read; `with_reading` gives them to every verb that reads one."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from service.schemas import FORMATS

Source = Annotated[
    Path,
    typer.Argument(
        help="TSV, CSV, JSONL (also gz, zst), Parquet, WebDataset, a tar or zip, or a folder.", show_default=False
    ),
]
_COLUMN = "Number from 0, or name in the header. Detected when not given."
# By the names they have in the REST API.
_OPTIONS: dict[str, Any] = {
    "input_format": typer.Option("--input-format", help=f"One of {', '.join(FORMATS)}. Detected when not given."),
    "url_column": typer.Option("--url-col", help=_COLUMN),
    "caption_column": typer.Option("--caption-col", help=_COLUMN),
    "label_column": typer.Option("--label-col", help=_COLUMN),
    "header": typer.Option(
        "--header/--no-header", help="Whether the first line names the columns.", show_default=False
    ),
    "split": typer.Option("--split", help="Of a precomp folder: train, dev or test."),
    "noise_index": typer.Option(
        "--noise-index", help="Of a precomp folder: a noise index file in it; the truth comes from it."
    ),
    "features": typer.Option("--features", help="Of a datacomp folder: b32 or l14."),
}
ImageRoot = Annotated[
    Path | None,
    typer.Option(help="Folder of image files: the URL column may then hold paths below it.", file_okay=False),
]


def image_root(file: Path, given: Path | None, *, is_local: bool) -> dict[str, str]:
    """Where paths in the URL column are looked up; next to the file only if the worker can see it there."""
    if given is None and (file.is_dir() or not is_local):
        return {}
    return {"image_root": str((given or file.parent).resolve())}


def with_reading(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb with these options beside its own; it gets those that were given as one dict, `reads`."""
    hints = get_type_hints(verb, include_extras=True)
    del hints["reads"]
    kinds: dict[str, Any] = {"header": bool | None}
    hints |= {name: Annotated[kinds.get(name, str | None), option] for name, option in _OPTIONS.items()}
    own = [item for item in inspect.signature(verb).parameters.values() if item.name != "reads"]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hints[name])
        for name in _OPTIONS
    ]

    @wraps(verb)
    def called(**given: Any) -> None:
        options = {name: given.pop(name) for name in _OPTIONS}
        verb(**given, reads={name: value for name, value in options.items() if value is not None})

    called.__annotations__ = hints
    # typer reads both
    called.__signature__ = inspect.Signature([*own, *added])  # type: ignore[attr-defined]
    return called
