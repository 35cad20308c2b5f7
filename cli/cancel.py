"""pairsift cancel"""

from typing import Annotated
from uuid import UUID

import typer

from cli.output import JsonFlag, give
from cli.session import connected
from cli.status import describe


def cancel(
    run: Annotated[UUID, typer.Argument(help="As `pairsift run` printed it.")],
    as_json: JsonFlag = False,
) -> None:
    """Stop a run. What is done so far is kept: `pairsift resume` goes on from there."""
    with connected() as client:
        stopping = client.cancel(run)
    give(stopping.model_dump(mode="json"), as_json, describe(stopping))
