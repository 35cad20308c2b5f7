import socket
from collections.abc import Iterator
from uuid import UUID

import pytest
from celery import Celery
from redis import Redis
from sqlalchemy import Engine, delete, select

from service.config import Settings
from service.db import jobs
from service.db.session import make_engine, transaction
from service.db.states import QUEUES, StageName
from service.db.tables import Stage, Workspace
from service.queue import announce, make_celery, task_name
from tests.factories import make_collection, make_run
from tests.service.serving import caller, serving


def dead_broker() -> str:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"redis://127.0.0.1:{listener.getsockname()[1]}/0"


@pytest.fixture
def stage_id(quiet_engine: Engine) -> Iterator[int]:
    with transaction(quiet_engine) as session:
        make_run(session, make_collection(session))
        stage_id = jobs.take_wakeups(session)[0].stage_id
    yield stage_id
    with transaction(quiet_engine) as session:
        session.execute(delete(Workspace))


@pytest.fixture
def celery(settings: Settings) -> Iterator[Celery]:
    app = make_celery(settings.required_broker_url)
    yield app
    app.close()


class TestAnnounce:
    def test_message_carries_the_id_to_the_queue_of_the_stage(
        self, quiet_engine: Engine, settings: Settings, celery: Celery, stage_id: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """On a queue that no worker of these tests listens to, so that the message can be looked at."""
        monkeypatch.setitem(QUEUES, StageName.FETCH, f"test-{stage_id}")
        assert announce(celery, quiet_engine, [jobs.Wakeup(stage_id, StageName.FETCH)]) == 1
        with Redis.from_url(settings.required_broker_url) as broker:
            [message] = broker.lrange(f"test-{stage_id}", 0, -1)
            broker.delete(f"test-{stage_id}")
        assert b'"task": "collection.fetch"' in message
        with transaction(quiet_engine) as session:
            assert session.get_one(Stage, stage_id).announced_at is not None

    def test_dead_broker_is_no_error_and_leaves_the_stage_unannounced(
        self, quiet_engine: Engine, stage_id: int
    ) -> None:
        app = make_celery(dead_broker())
        assert announce(app, quiet_engine, [jobs.Wakeup(stage_id, StageName.FETCH)]) == 0
        with transaction(quiet_engine) as session:
            assert [wakeup.stage_id for wakeup in jobs.unannounced(session, 30)] == [stage_id]

    def test_database_lost_after_sending_is_no_error(self, celery: Celery) -> None:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
        gone = make_engine(f"postgresql+psycopg://nobody@127.0.0.1:{port}/none")
        assert announce(celery, gone, [jobs.Wakeup(10**9, StageName.INGEST)]) == 1

    def test_nothing_to_send_needs_no_broker(self, quiet_engine: Engine) -> None:
        assert announce(make_celery(dead_broker()), quiet_engine, []) == 0


class TestTaskName:
    @pytest.mark.parametrize("name", list(StageName))
    def test_every_stage_has_a_task_and_a_queue(self, name: StageName) -> None:
        assert task_name(name) == f"collection.{name}"
        assert QUEUES[name] in ("cpu", "gpu")


class TestBrokerDownAtSubmit:
    def test_what_was_accepted_stands(self, idle_settings: Settings, idle_engine: Engine) -> None:
        settings = idle_settings.model_copy(update={"broker_url": dead_broker()})
        with serving(settings) as url, caller(url, idle_engine) as http:
            id = http.post("/v1/collections", json={}).json()["id"]
            upload = http.put(f"/v1/collections/{id}/file", content=b"a\thttp://127.0.0.1/a.png\n")
            run = http.post(f"/v1/collections/{id}/runs", json={})
            again = http.get(f"/v1/runs/{run.json()['id']}")
        assert (upload.status_code, run.status_code, again.status_code) == (202, 202, 200)
        assert self.unannounced(idle_engine, id) == ["ingest"]

    @staticmethod
    def unannounced(engine: Engine, collection_id: str) -> list[str]:
        with transaction(engine) as session:
            of_it = set(session.scalars(select(Stage.id).where(Stage.collection_id == UUID(collection_id))))
            return [wakeup.name for wakeup in jobs.unannounced(session, 30) if wakeup.stage_id in of_it]
