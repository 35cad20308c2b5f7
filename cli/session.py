"""A client for the verbs that talk to a service, and the steps that several verbs share."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.output import following, say
from cli.stack import StackError, find_service
from service.client import Client
from service.config import Settings
from service.db.states import CollectionState, JobState
from service.schemas import Collection, Export, Failure, Run

Method = Annotated[str | None, typer.Option(help="Learning method; GET /v1/methods lists them with their options.")]
Seed = Annotated[int | None, typer.Option(help="The same seed gives the same scores.")]
Options = Annotated[
    list[str] | None,
    typer.Option("--set", help="Any other option as name=value, e.g. --set method_options.q=0.5. Repeatable."),
]
Wait = Annotated[bool, typer.Option(help="Follow the run to its end.")]


@contextmanager
def connected(settings: Settings | None = None) -> Iterator[Client]:
    client = Client(*find_service(settings or Settings()))
    try:
        yield client
    finally:
        client.close()


def upload_file(client: Client, file: Path, name: str | None, options: dict[str, Any]) -> Collection:
    """Upload and wait until every line is read. A folder is not sent: the worker reads it where it lies."""
    if file.is_dir():
        collection = client.create_collection(name or file.resolve().name, folder=str(file.resolve()), **options)
    elif not file.is_file():
        raise typer.BadParameter(f"there is no file or folder {file}")
    elif not file.stat().st_size:
        raise StackError(f"{file} is empty")
    else:
        collection = client.create_collection(name or file.name, **options)
        client.upload(collection.id, file)
    read = client.wait_for_collection(collection.id)
    if read.state == CollectionState.FAILED:
        raise StackError(_reason(f"{file} cannot be used", read.error))
    return read


def follow_run(client: Client, run: Run) -> Run:
    with following() as follower:
        ended = client.wait_for_run(run.id, follower.see)
    if ended.state != JobState.SUCCEEDED:
        raise StackError(_reason(f"the run is {ended.state}", ended.error))
    return ended


def follow_kept_run(client: Client, run: Run) -> Run:
    """The same for a run that the command does not take with it: who stops looking is told how to go on."""
    try:
        return follow_run(client, run)
    except KeyboardInterrupt:
        say(
            f"run {run.id} is not cancelled and goes on while there is a worker. "
            f"Follow it: pairsift status {run.id} --wait. End it: pairsift cancel {run.id}"
        )
        raise


def export_file(client: Client, run_id: Any, target: Path, format: str, **filters: Any) -> Export:
    export = client.wait_for_export(client.start_export(run_id, format, **filters).id)
    if export.state != JobState.SUCCEEDED:
        again = f"The scores are kept: pairsift export {run_id} -o FILE.jsonl"
        raise StackError(_reason(f"the export is {export.state}", export.error) + f" {again}")
    target.parent.mkdir(parents=True, exist_ok=True)
    client.download(export, target)
    return export


def run_options(method: str | None, seed: int | None, settings: list[str] | None) -> dict[str, Any]:
    """What the command line says, as the body of POST /runs."""
    body: dict[str, Any] = {}
    for setting in settings or []:
        name, equals, value = setting.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"--set {setting}: expected name=value")
        group, _, field = name.rpartition(".")
        (body.setdefault(group, {}) if group else body)[field] = _value(value)
    return body | {key: value for key, value in (("method", method), ("seed", seed)) if value is not None}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _reason(what: str, failure: Failure | None) -> str:
    return f"{what}: {failure.detail}" if failure else what
