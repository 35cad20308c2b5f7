"""How far a benchmark is, on stderr: a bar on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from cli.output import PLAIN_LINE_SECONDS, console, say, seconds_text

See = Callable[[Any], None]  # of a benchmarks.protocol.runner.Event


@contextmanager
def watching() -> Iterator[See]:
    if not sys.stderr.isatty():
        yield _Lines().see
        return
    columns = (TextColumn("{task.description:<48}"), BarColumn(), TextColumn("{task.fields[cells]}"))
    with Progress(*columns, TimeElapsedColumn(), TextColumn("{task.fields[eta]}"), console=console) as bar:
        task = bar.add_task("", total=1, cells="", eta="")

        def see(event: Any) -> None:
            bar.update(
                task,
                completed=event.finished + event.share,
                total=event.total,
                description=event.message,
                cells=f"{event.finished} of {event.total}",
                eta=_eta(event),
            )

        yield see


class _Lines:
    """A line for every cell, and one now and then while it is trained."""

    def __init__(self) -> None:
        self._finished, self._shown = -1, 0.0

    def see(self, event: Any) -> None:
        if event.finished == self._finished and time.monotonic() - self._shown < PLAIN_LINE_SECONDS:
            return
        self._finished, self._shown = event.finished, time.monotonic()
        share = f" ({event.share:.0%})" if event.share else ""
        say(f"{event.finished} of {event.total}  {event.message}{share}  {_eta(event)}".rstrip())


def _eta(event: Any) -> str:
    return f"about {seconds_text(event.eta_seconds)} left" if event.eta_seconds else ""
