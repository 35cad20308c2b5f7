"""Workers that die or are stopped in the middle of training: another one goes on, and the scores are the same."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, select

from service.client import Client
from service.config import Settings
from service.db.migrate import upgrade
from service.db.session import make_engine, transaction
from service.db.states import Scope
from service.db.tables import Score, Stage
from service.embedded import Servers
from service.schemas import Run
from service.storage import Storage
from tests.conftest import make_key, start_worker, stop_worker
from tests.service.serving import PATIENCE_SECONDS, serving
from tests.test_end_to_end import upload

# Long enough to be interrupted twice: some hundred epochs.
OPTIONS = {
    "method": "crcl",
    "method_options": {"piece_epochs": [50, 50], "freeze_epochs": 2},
    "batch_size": 16,
    "seed": 11,
}


@pytest.fixture(scope="module")
def own_settings(
    settings: Settings, servers: Servers, new_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> Settings:
    """A database and a broker of its own, so that only the workers of this file work here."""
    changes = {"database_url": new_database(), "storage": tmp_path_factory.mktemp("recovery")}
    changes["broker_url"] = servers.broker_url.rpartition("/")[0] + "/1"
    return settings.model_copy(update=changes)


@pytest.fixture(scope="module")
def own_engine(own_settings: Settings) -> Iterator[Engine]:
    engine = make_engine(own_settings.required_database_url)
    upgrade(engine)
    yield engine
    engine.dispose()


@pytest.fixture(scope="module")
def own_client(own_settings: Settings, own_engine: Engine) -> Iterator[Client]:
    with serving(own_settings) as url:
        client = Client(url, make_key(own_engine, Scope.WRITE))
        yield client
        client.close()


@pytest.fixture
def start(own_settings: Settings) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []

    def start_one() -> subprocess.Popen[bytes]:
        started.append(start_worker(own_settings))
        return started[-1]

    yield start_one
    for process in started:
        if process.poll() is None:
            stop_worker(process)


@pytest.fixture(scope="module")
def collection_id(own_client: Client, own_settings: Settings, scenes: Path) -> str:
    process = start_worker(own_settings)
    made = upload(own_client, scenes / "pairs.tsv")
    stop_worker(process)
    return made


def until_trained(client: Client, run: Run, share: float) -> None:
    """Watch the run until this share of its training is done."""
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        assert time.monotonic() < end, "training did not get so far"
        train = next(stage for stage in client.run(run.id).stages if stage.name == "train")
        assert train.state != "succeeded", "training was over before it could be interrupted"
        if train.progress >= share:
            return


def scores_of(engine: Engine, run: Run) -> list[tuple[object, ...]]:
    columns = [column for column in Score.__table__.columns if column.name != "run_id"]
    with transaction(engine) as session:
        chosen = select(*columns).where(Score.run_id == run.id).order_by(Score.row)
        return [tuple(row) for row in session.execute(chosen)]


def train_stage(engine: Engine, run: Run) -> Stage:
    with transaction(engine) as session:
        return session.scalars(select(Stage).where(Stage.run_id == run.id, Stage.name == "train")).one()


class TestRecovery:
    def test_killed_and_stopped_workers_change_no_score(
        self,
        own_client: Client,
        own_engine: Engine,
        collection_id: str,
        start: Callable[[], subprocess.Popen[bytes]],
    ) -> None:
        first = start()
        unbroken = own_client.wait_for_run(own_client.start_run(collection_id, OPTIONS).id)
        assert unbroken.state == "succeeded", unbroken.error

        broken = own_client.start_run(collection_id, OPTIONS)
        until_trained(own_client, broken, 0.2)
        os.killpg(first.pid, signal.SIGKILL)  # the supervisor, Celery and its children
        first.wait()
        assert train_stage(own_engine, broken).state == "running"

        second = start()
        until_trained(own_client, broken, 0.5)
        stop_worker(second)  # SIGTERM: gives its lease back
        released = train_stage(own_engine, broken)
        assert (released.state, released.attempt, released.forgiven) == ("queued", 2, 1)
        assert released.lease_until is None

        start()
        ended = own_client.wait_for_run(broken.id)
        assert ended.state == "succeeded", ended.error
        assert train_stage(own_engine, broken).attempt == 3
        assert scores_of(own_engine, ended) == scores_of(own_engine, unbroken)

    def test_a_stage_that_always_crashes_is_given_up_after_four_attempts(
        self,
        own_client: Client,
        own_engine: Engine,
        own_settings: Settings,
        scenes: Path,
        start: Callable[[], subprocess.Popen[bytes]],
    ) -> None:
        doomed = own_client.create_collection("doomed")
        own_client.upload(doomed.id, scenes / "pairs.tsv")
        run = own_client.start_run(doomed.id, {})
        Storage(own_settings.required_storage).upload(doomed.id).unlink()  # as a lost disk would
        start()
        failed = own_client.wait_for_collection(doomed.id)
        assert (failed.state, failed.accepted) == ("failed", 0)
        assert failed.error is not None
        assert failed.error.code == "crashed_too_often"
        assert "FileNotFoundError" in failed.error.detail
        with transaction(own_engine) as session:
            ingest = session.scalars(
                select(Stage).where(Stage.collection_id == doomed.id, Stage.name == "ingest")
            ).one()
        assert (ingest.state, ingest.attempt) == ("failed", 4)
        ended = own_client.wait_for_run(run.id)
        assert ended.error is not None
        assert (ended.state, ended.error.code) == ("failed", "collection_failed")
