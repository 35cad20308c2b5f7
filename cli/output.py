"""What people see: progress and tables on stderr, results on stdout, JSON on request."""

import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from service.db.states import JobState
from service.schemas import Run

console = Console(stderr=True, highlight=False)

JsonFlag = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")]

# Without a terminal a line is printed this often, or whenever the stage changes.
PLAIN_LINE_SECONDS = 10.0


def complain(message: str) -> None:
    console.print(f"[bold red]error:[/] {printable(message)}", soft_wrap=True)


def say(message: str) -> None:
    console.print(printable(message), soft_wrap=True)


def give(result: Mapping[str, Any], as_json: bool, text: str) -> None:
    typer.echo(json.dumps(result, indent=2, default=str) if as_json else text)


def show_table(title: str, rows: list[tuple[str, str]]) -> None:
    table = Table(title=title, show_header=False, title_justify="left")
    for name, value in rows:
        table.add_row(name, value)
    console.print(table)


def seconds_text(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


class Follower:
    """Shows a run as it goes: a bar on a terminal, plain lines elsewhere."""

    def __init__(self, bar: Progress | None) -> None:
        self.bar = bar
        self.task = bar.add_task("waiting", total=1.0, eta="") if bar else None
        self.last: tuple[str | None, float] = ("", 0.0)
        self.ended = 0

    def see(self, run: Run) -> None:
        stage = next((stage for stage in run.stages if stage.name == run.stage), None)
        name = str(run.stage or run.state)
        if stage and stage.attempt > 1:
            name += f" (attempt {stage.attempt})"
        detail = f"{name}: {stage.message}" if stage and stage.message else name
        eta = f"about {seconds_text(run.eta_seconds)} left" if run.eta_seconds else ""
        if self.bar and self.task is not None:
            description = "done" if run.state == JobState.SUCCEEDED else detail
            self.bar.update(self.task, completed=run.progress, description=description, eta=eta)
            return
        # A stage may begin and end between two looks; it has its line all the same.
        succeeded = sum(stage.state == JobState.SUCCEEDED for stage in run.stages)
        for ended in run.stages[self.ended : succeeded]:
            say(f"{run.progress:4.0%}  {ended.name}: done in {seconds_text(ended.seconds)}")
        self.ended = succeeded
        if name != self.last[0] or time.monotonic() - self.last[1] > PLAIN_LINE_SECONDS:
            self.last = (name, time.monotonic())
            say(f"{run.progress:4.0%}  {detail}  {eta}".rstrip())


@contextmanager
def following() -> Iterator[Follower]:
    if not sys.stderr.isatty():
        yield Follower(None)
        return
    columns = (TextColumn("{task.description:<32}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
    with Progress(*columns, TimeElapsedColumn(), TextColumn("{task.fields[eta]}"), console=console) as bar:
        yield Follower(bar)


def printable(text: str) -> str:
    """Captions and URLs are hostile text: no markup, no control characters to the terminal."""
    kept = "".join(character if character.isprintable() or character == "\n" else "\ufffd" for character in text)
    return kept.replace("[", "\\[")
