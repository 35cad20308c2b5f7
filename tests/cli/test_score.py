"""`pairsift score` with a run that cannot judge; with one that can: tests/test_new_pairs.py."""

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine, delete, func, select
from sqlalchemy.orm import Session
from typer.testing import CliRunner

from cli.main import app
from service.config import Settings, child_environment
from service.db.session import transaction
from service.db.states import JobState, Scope, StageName
from service.db.tables import Collection, Run, Stage, Workspace
from tests.conftest import make_key
from tests.factories import make_collection, publish_run


def cannot_judge(session: Session, run: Run) -> None:
    run.summary = (run.summary or {}) | {"cannot_judge": "the captions are too much alike"}


def is_waiting(session: Session, run: Run) -> None:
    run.state = JobState.QUEUED


def has_borrowed(session: Session, run: Run) -> None:
    session.execute(delete(Stage).where(Stage.run_id == run.id, Stage.name == StageName.TRAIN))


class TestScore:
    @pytest.mark.parametrize(
        ("changed", "reason"),
        [
            (cannot_judge, "the captions are too much alike"),
            (is_waiting, "once it has succeeded"),
            (has_borrowed, "with the networks of another run"),
        ],
    )
    def test_run_that_cannot_judge_is_said_before_the_upload(
        self,
        engine: Engine,
        settings: Settings,
        service_url: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        changed: Callable[[Session, Run], None],
        reason: str,
    ) -> None:
        with transaction(engine) as session:
            run = publish_run(session, make_collection(session, 1), {1: 0.9})
            changed(session, run)
            workspace = session.get_one(Workspace, run.workspace_id).name
        key = make_key(engine, Scope.WRITE, workspace)
        environment = child_environment(settings.model_copy(update={"url": service_url, "key": key}))
        for name in ("PAIRSIFT_URL", "PAIRSIFT_KEY"):
            monkeypatch.setenv(name, environment[name])
        new = tmp_path / "new.tsv"
        new.write_text("a caption\thttp://127.0.0.1/1.png\n")
        done = CliRunner().invoke(app, ["score", str(new), "--run", str(run.id)], env={"COLUMNS": "300"})
        assert done.exit_code == 2
        assert reason in done.output
        with transaction(engine) as session:
            of_workspace = select(func.count()).where(Collection.workspace_id == run.workspace_id)
            assert session.scalar(of_workspace) == 1
