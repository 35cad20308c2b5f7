"""pairsift worker"""

from typing import Annotated

import typer

from service.config import Settings


def worker(
    queues: Annotated[str, typer.Option(help="Which queues to serve, comma between them.")] = "cpu,gpu",
    concurrency: Annotated[int | None, typer.Option(min=1, help="How many stages at the same time.")] = None,
) -> None:
    """Run a worker. Any number may run, on any machine that reaches DATABASE_URL, BROKER_URL and the storage."""
    from worker.supervisor import supervise

    settings = Settings()
    update = {"worker_concurrency": concurrency} if concurrency else {}
    supervise(settings.model_copy(update=update), queues)
