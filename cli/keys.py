"""pairsift keys: for whoever operates the service; works on the database itself, so it needs no key."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated
from uuid import UUID

import typer
from sqlalchemy.orm import Session

from cli.output import JsonFlag, give
from cli.stack import StackError, complete_settings
from service import keys, views
from service.config import Settings
from service.db.migrate import upgrade
from service.db.session import make_engine, transaction
from service.db.states import Scope

app = typer.Typer(help="Make, list and revoke API keys.", no_args_is_help=True)


@contextmanager
def _database() -> Iterator[Session]:
    with complete_settings(Settings()) as settings:
        engine = make_engine(settings.required_database_url)
        upgrade(engine)
        with transaction(engine) as session:
            yield session
        engine.dispose()


@app.command()
def create(
    name: Annotated[str, typer.Option(help="Where it is used, for the list.")] = "key",
    scope: Annotated[list[Scope], typer.Option(help="What it may do. Repeatable.")] = [Scope.WRITE],  # noqa: B006
    workspace: Annotated[str, typer.Option(help="Made when there is none of this name.")] = keys.DEFAULT_WORKSPACE,
    days: Annotated[int | None, typer.Option(min=1, help="Valid for so many days; for ever by default.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Make a key. Its secret is shown once and stored only as a hash."""
    with _database() as session:
        key, secret = keys.create_key(session, name, scope, workspace=workspace, days=days)
        result = {"id": str(key.id), "name": name, "scopes": [str(item) for item in scope], "secret": secret}
    give(result, as_json, secret)


@app.command("list")
def index(as_json: JsonFlag = False) -> None:
    """All keys, without their secrets."""
    with _database() as session:
        found = [views.key_view(key) for key in keys.list_keys(session)]
    lines = [
        f"{key.id}  {key.hint}…  {','.join(key.scopes):<16} {_state(key.revoked_at):<8} {key.name}" for key in found
    ]
    give(
        {"keys": [key.model_dump(mode="json") for key in found]},
        as_json,
        "\n".join(lines) or "There are no keys.",
    )


@app.command()
def revoke(id: UUID, as_json: JsonFlag = False) -> None:
    """Revoke a key at once."""
    with _database() as session:
        if not keys.revoke_key(session, id):
            raise StackError(f"there is no key {id}")
    give({"revoked": str(id)}, as_json, f"The key {id} is revoked.")


def _state(revoked_at: object) -> str:
    return "revoked" if revoked_at else "in force"
