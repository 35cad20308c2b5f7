"""pairsift upload"""

from typing import Annotated

import typer

from cli import reading
from cli.output import JsonFlag, give
from cli.session import connected, upload_file
from service.schemas import Collection


def upload(
    file: reading.Source,
    name: Annotated[str | None, typer.Option(help="Name of the collection; the file's name by default.")] = None,
    input_format: reading.InputFormat = None,
    url_col: reading.Column = None,
    caption_col: reading.Column = None,
    label_col: reading.Column = None,
    image_root: reading.ImageRoot = None,
    split: reading.SplitName = None,
    noise_index: reading.NoiseIndex = None,
    features: reading.FeatureKind = None,
    as_json: JsonFlag = False,
) -> None:
    """Upload a file as a new collection, and say what became of its lines. A folder is read where it lies."""
    options = reading.given(
        input_format=input_format,
        url_column=url_col,
        caption_column=caption_col,
        label_column=label_col,
        image_root=str(image_root.resolve()) if image_root else None,
        split=split,
        noise_index=noise_index,
        features=features,
    )
    with connected() as client:
        collection = upload_file(client, file, name, options)
    give(collection.model_dump(mode="json"), as_json, describe(collection))


def describe(collection: Collection) -> str:
    lines = [
        f"collection {collection.id}",
        f"  lines     {collection.lines_read:,}",
        f"  accepted  {collection.accepted:,}",
    ]
    reasons = ", ".join(f"{reason}: {count:,}" for reason, count in collection.reject_reasons.items())
    return "\n".join([*lines, f"  rejected  {collection.rejected:,}" + (f"  ({reasons})" if reasons else "")])
