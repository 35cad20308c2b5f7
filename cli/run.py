"""pairsift run"""

from typing import Annotated
from uuid import UUID

import typer

from cli.output import JsonFlag, give, say
from cli.session import Method, Options, Seed, Wait, connected, follow_kept_run, run_options
from cli.status import describe


def run(
    collection: Annotated[UUID, typer.Argument(help="As `pairsift upload` printed it.")],
    method: Method = None,
    seed: Seed = None,
    settings: Options = None,
    wait: Wait = True,
    as_json: JsonFlag = False,
) -> None:
    """Train on a collection and judge every pair of it."""
    with connected() as client:
        started = client.start_run(collection, run_options(method, seed, settings))
        if wait:
            say(f"run {started.id}")
        ended = follow_kept_run(client, started) if wait else started
    give(ended.model_dump(mode="json"), as_json, describe(ended))
