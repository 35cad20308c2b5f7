"""pairsift resume"""

from typing import Annotated
from uuid import UUID

import typer

from cli.output import JsonFlag, give
from cli.session import Wait, connected, follow_kept_run
from cli.status import describe


def resume(
    run: Annotated[UUID, typer.Argument(help="As `pairsift run` printed it.")],
    wait: Wait = True,
    as_json: JsonFlag = False,
) -> None:
    """Go on with a run that failed or was cancelled, from its last finished stage or checkpoint."""
    with connected() as client:
        resumed = client.resume(run)
        ended = follow_kept_run(client, resumed) if wait else resumed
    give(ended.model_dump(mode="json"), as_json, describe(ended))
