"""pairsift upload"""

from typing import Annotated, Any

import typer

from cli import reading
from cli.output import JsonFlag, give
from cli.session import connected, upload_file
from service.config import Settings
from service.schemas import Collection


@reading.with_reading
def upload(
    file: reading.Source,
    name: Annotated[str | None, typer.Option(help="Name of the collection; the file's name by default.")] = None,
    image_root: reading.ImageRoot = None,
    as_json: JsonFlag = False,
    *,
    reads: dict[str, Any],
) -> None:
    """Upload a file as a new collection, and say what became of its lines. A folder is read where it lies.

    Paths in the URL column are looked up next to the file, or below --image-root."""
    reads |= reading.image_root(file, image_root, is_local=not Settings().url)
    with connected() as client:
        collection = upload_file(client, file, name, reads)
    give(collection.model_dump(mode="json"), as_json, describe(collection))


def describe(collection: Collection) -> str:
    lines = [
        f"collection {collection.id}",
        f"  format    {_format(collection.format or {})}",
        f"  rows      {collection.lines_read:,}",
        f"  accepted  {collection.accepted:,}",
    ]
    reasons = ", ".join(f"{reason}: {count:,}" for reason, count in collection.reject_reasons.items())
    return "\n".join([*lines, f"  rejected  {collection.rejected:,}" + (f"  ({reasons})" if reasons else "")])


def _format(found: dict[str, Any]) -> str:
    """What was detected, so that a wrong guess is seen: `tsv (caption: column 0, url: column 1, no header)`."""
    table = found.get("table", found)
    header = table.get("header") or []
    parts = []
    for name in ("caption", "url", "label"):
        column = table.get(f"{name}_column")
        if column is not None:
            parts.append(f"{name}: {header[column] if column < len(header) else f'column {column}'}")
    if parts and not header:
        parts.append("no header")
    if found.get("images") in ("members", "features"):
        parts.append("images inside" if found["images"] == "members" else "features instead of images")
    return f"{found.get('format', 'unknown')}" + (f" ({', '.join(parts)})" if parts else "")
