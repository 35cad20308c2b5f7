"""pairsift upload"""

from typing import Annotated, Any

import typer

from cli import reading
from cli.output import JsonFlag, give
from cli.session import connected, upload_file
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
    """Upload a file as a new collection, and say what became of its lines. A folder is read where it lies."""
    if image_root:
        reads["image_root"] = str(image_root.resolve())
    with connected() as client:
        collection = upload_file(client, file, name, reads)
    give(collection.model_dump(mode="json"), as_json, describe(collection))


def describe(collection: Collection) -> str:
    lines = [
        f"collection {collection.id}",
        f"  lines     {collection.lines_read:,}",
        f"  accepted  {collection.accepted:,}",
    ]
    reasons = ", ".join(f"{reason}: {count:,}" for reason, count in collection.reject_reasons.items())
    return "\n".join([*lines, f"  rejected  {collection.rejected:,}" + (f"  ({reasons})" if reasons else "")])
