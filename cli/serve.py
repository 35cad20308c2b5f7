"""pairsift serve"""

import signal
import threading
from typing import Annotated

import typer

from cli.output import JsonFlag, give
from cli.stack import announced, running_stack
from service.config import Settings


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on; loopback by default.")] = None,
    port: Annotated[int | None, typer.Option(help="Port; 8000 by default, 0 for any free one.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Run everything on this machine until Ctrl-C: database, broker, REST service and worker.

    Nothing needs to be configured. With DATABASE_URL and BROKER_URL set, those servers are used instead."""
    settings = Settings()
    given = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    stop = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: stop.set())
    with running_stack(settings.model_copy(update=given)) as stack, announced(stack):
        text = f"Pairsift serves at {stack.url}\n  docs  {stack.url}/docs\n  key   {stack.key}\nCtrl-C ends it."
        give({"url": stack.url, "key": stack.key, "docs": f"{stack.url}/docs"}, as_json, text)
        stop.wait()
