"""The loop that finds what was lost, on a database and a broker of its own."""

from collections.abc import Iterator

import pytest
from celery import Celery
from redis import Redis
from sqlalchemy import Engine, func, select

from service.config import Settings
from service.db.session import transaction
from service.db.tables import Stage
from service.embedded import Servers
from service.queue import make_celery
from tests.service.machine import claimed, expire, first_stage, get, new_run
from worker.reconcile import RECONCILE_LOCK, reconcile_once

SETTINGS = Settings(announce_again_seconds=3600)


@pytest.fixture
def broker(servers: Servers) -> Iterator[Redis]:
    url = servers.broker_url.rpartition("/")[0] + "/2"
    with Redis.from_url(url) as client:
        client.flushdb()
        yield client


@pytest.fixture
def app(servers: Servers) -> Iterator[Celery]:
    app = make_celery(servers.broker_url.rpartition("/")[0] + "/2")
    yield app
    app.close()


@pytest.fixture(autouse=True)
def told(quiet_engine: Engine, app: Celery, broker: Redis) -> None:
    """Whatever earlier tests left queued is announced before the test begins."""
    reconcile_once(quiet_engine, app, SETTINGS)
    broker.flushdb()


class TestReconcileOnce:
    def test_a_queued_stage_is_announced_once(self, quiet_engine: Engine, app: Celery, broker: Redis) -> None:
        stage_id = first_stage(quiet_engine, new_run(quiet_engine))
        assert reconcile_once(quiet_engine, app, SETTINGS) == 1
        assert broker.llen("cpu") == 1
        assert get(quiet_engine, Stage, stage_id).announced_at is not None
        assert reconcile_once(quiet_engine, app, SETTINGS) == 0

    def test_a_wiped_broker_is_told_again(self, quiet_engine: Engine, app: Celery, broker: Redis) -> None:
        new_run(quiet_engine)
        reconcile_once(quiet_engine, app, SETTINGS)
        broker.flushdb()
        impatient = Settings(announce_again_seconds=1e-6)
        assert reconcile_once(quiet_engine, app, impatient) >= 1
        assert broker.llen("cpu") >= 1

    def test_a_silent_stage_is_queued_again_and_announced(
        self, quiet_engine: Engine, app: Celery, broker: Redis
    ) -> None:
        taken = claimed(quiet_engine, first_stage(quiet_engine, new_run(quiet_engine)))
        reconcile_once(quiet_engine, app, SETTINGS)
        expire(quiet_engine, taken.stage_id)
        assert reconcile_once(quiet_engine, app, SETTINGS) == 1
        assert get(quiet_engine, Stage, taken.stage_id).state == "queued"

    def test_only_one_works_at_a_time(self, quiet_engine: Engine, app: Celery, broker: Redis) -> None:
        new_run(quiet_engine)
        with transaction(quiet_engine) as another:
            another.execute(select(func.pg_advisory_xact_lock(RECONCILE_LOCK)))
            assert reconcile_once(quiet_engine, app, SETTINGS) == 0
        assert reconcile_once(quiet_engine, app, SETTINGS) == 1
