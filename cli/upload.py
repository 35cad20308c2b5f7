"""pairsift upload"""

from pathlib import Path
from typing import Annotated

import typer

from cli.output import JsonFlag, give
from cli.session import Column, ImageRoot, connected, upload_file
from service.schemas import Collection


def upload(
    file: Annotated[Path, typer.Argument(help="CC-style TSV, plain or gzip.")],
    name: Annotated[str | None, typer.Option(help="Name of the collection; the file's name by default.")] = None,
    url_col: Column = None,
    caption_col: Column = None,
    image_root: ImageRoot = None,
    as_json: JsonFlag = False,
) -> None:
    """Upload a file as a new collection, and say what became of its lines."""
    root = str(image_root.resolve()) if image_root else None
    with connected() as client:
        collection = upload_file(client, file, name, url_column=url_col, caption_column=caption_col, image_root=root)
    give(collection.model_dump(mode="json"), as_json, describe(collection))


def describe(collection: Collection) -> str:
    lines = [
        f"collection {collection.id}",
        f"  lines     {collection.lines_read:,}",
        f"  accepted  {collection.accepted:,}",
    ]
    reasons = ", ".join(f"{reason}: {count:,}" for reason, count in collection.reject_reasons.items())
    return "\n".join([*lines, f"  rejected  {collection.rejected:,}" + (f"  ({reasons})" if reasons else "")])
