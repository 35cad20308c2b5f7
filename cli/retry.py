"""pairsift retry"""

from typing import Annotated
from uuid import UUID

import typer

from cli.output import JsonFlag, give
from cli.session import connected


def retry(
    collection: Annotated[UUID, typer.Argument(help="As `pairsift upload` printed it.")],
    classes: Annotated[
        list[str] | None, typer.Option("--class", help="Only failures of this class, e.g. timeout. Repeatable.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Have images that failed tried again by the next run; what arrived is not fetched twice."""
    with connected() as client:
        retried = client.retry_images(collection, classes)
    give(
        retried.model_dump(mode="json"),
        as_json,
        f"{retried.forgotten:,} images will be tried again; now: pairsift run {collection}"
        if retried.forgotten
        else f"no failed image of that kind; GET /v1/collections/{collection} counts them by class in `images`",
    )
