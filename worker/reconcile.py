"""The loop that finds what was lost: expired leases, and queued stages whose message never arrived.
It runs outside Celery, in every worker's supervisor; an advisory lock lets one of them work at a time."""

import logging
import threading

from celery import Celery
from sqlalchemy import Engine, func, select
from sqlalchemy.exc import DBAPIError

from service.config import Settings
from service.db import jobs
from service.db.session import transaction
from service.queue import announce

log = logging.getLogger(__name__)

RECONCILE_LOCK = 7_120_002


def reconcile_once(engine: Engine, app: Celery, settings: Settings) -> int:
    """Heal and announce; return how many messages were sent."""
    with transaction(engine) as session:
        if not session.scalar(select(func.pg_try_advisory_xact_lock(RECONCILE_LOCK))):
            return 0
        healed = jobs.heal_expired(session)
        if healed:
            log.warning("%d stages had lost their worker", healed)
        jobs.take_wakeups(session)  # requeued stages are unannounced, so the next line finds them too
        wakeups = jobs.unannounced(session, settings.announce_again_seconds)
    return announce(app, engine, wakeups)


def reconcile_until(stop: threading.Event, engine: Engine, app: Celery, settings: Settings) -> None:
    while not stop.wait(settings.reconcile_seconds):
        try:
            reconcile_once(engine, app, settings)
        except DBAPIError as error:
            log.warning("reconcile could not reach the database, trying again: %s", error)
