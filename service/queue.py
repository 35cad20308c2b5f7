"""Sends wake-ups: a task by name with the id of a stage. A broker that is down is not an error here; the
stage stays unannounced in PostgreSQL and the reconcile loop sends it later."""

import logging
from collections.abc import Sequence

from celery import Celery
from kombu.exceptions import OperationalError
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from service.db.jobs import Wakeup, mark_announced
from service.db.session import transaction
from service.db.states import QUEUES, StageName

log = logging.getLogger(__name__)


def make_celery(broker_url: str) -> Celery:
    """Celery as RELIABILITY asks: JSON only, no results, early acknowledgement (the lease is the net)."""
    app = Celery("pairsift", broker=broker_url, set_as_current=False)
    app.conf.update(
        accept_content=["json"],
        task_serializer="json",
        task_ignore_result=True,
        task_acks_late=False,
        task_default_queue="cpu",
        task_create_missing_queues=True,
        worker_prefetch_multiplier=1,
        worker_hijack_root_logger=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        broker_connection_retry_on_startup=True,
        broker_transport_options={
            "socket_timeout": 10,
            "socket_connect_timeout": 3,
            "health_check_interval": 15,
            "retry_on_timeout": False,
            "max_retries": 0,
        },
    )
    return app


def task_name(stage: StageName) -> str:
    return f"collection.{stage}"


def announce(app: Celery, engine: Engine, wakeups: Sequence[Wakeup]) -> int:
    """Send messages for stages that are committed; return how many went out. It never fails: what was accepted
    stands, and what could not be told or noted here is told again by the reconcile loop."""
    sent: list[int] = []
    try:
        for wakeup in wakeups:
            app.send_task(task_name(wakeup.name), args=[wakeup.stage_id], queue=QUEUES[wakeup.name], retry=False)
            sent.append(wakeup.stage_id)
    except (OperationalError, OSError) as error:
        log.warning("the broker is not reachable, %d wake-ups are left for later: %s", len(wakeups) - len(sent), error)
    if sent:
        _note(engine, sent)
    return len(sent)


def _note(engine: Engine, sent: list[int]) -> None:
    try:
        with transaction(engine) as session:
            mark_announced(session, sent)
    except DBAPIError as error:
        log.warning("%d wake-ups were sent but not noted, and will be sent again: %s", len(sent), error)
