"""Thin tasks: a message wakes one up with the id of a stage; it claims the stage, calls the plain function
and records the end. All of them are safe to run twice: the second claim finds nothing."""

import importlib
import logging
import os
import socket
from collections.abc import Callable
from functools import cache
from typing import Any

from sqlalchemy import Engine

from service.db import jobs
from service.db.session import make_engine, transaction
from service.db.states import StageName
from service.queue import announce, task_name
from service.storage import Storage
from worker.app import app, settings
from worker.lease import Lease, Stop, Stopped
from worker.stages.context import StageContext, StageFailed

log = logging.getLogger(__name__)


@cache
def engine() -> Engine:
    """One pool per process, made after the fork."""
    return make_engine(settings.required_database_url, pool_size=4)


def run_stage(stage_id: int) -> None:
    owner = f"{socket.gethostname()}:{os.getpid()}"
    with transaction(engine()) as session:
        claim = jobs.claim(session, stage_id, owner, settings.lease_seconds)
    if claim is None:
        return  # a duplicate message, or the stage has ended
    lease = Lease(engine(), claim, settings)
    with lease.held():
        wakeups = _work(lease, claim)
    announce(app, engine(), wakeups)


def _work(lease: Lease, claim: jobs.Claim) -> list[jobs.Wakeup]:
    """Run the stage to one of its ends; return what may start now."""
    try:
        # Imported here, in the child that works: the parent never loads torch, and nothing forks after it.
        stage = importlib.import_module(f"worker.stages.{claim.name}")
        stage.run(StageContext(lease, Storage(settings.required_storage)))
        return lease.wakeups
    except jobs.LeaseLost:
        log.warning("stage %d was taken over; what this worker did is dropped", claim.stage_id)
        return []
    except Stopped as stopped:
        return _end(claim, {Stop.CANCELLED: jobs.end_cancelled, Stop.SHUTDOWN: jobs.release}.get(stopped.cause))
    except StageFailed as failure:
        return _end(claim, jobs.fail, failure.problem)
    except Exception as error:
        log.exception("stage %d (%s) crashed", claim.stage_id, claim.name)
        detail = f"{type(error).__name__}: {error}"
        return _end(claim, jobs.retry, jobs.problem("crashed", f"The stage '{claim.name}' crashed", detail[:2000]))


def _end(claim: jobs.Claim, transition: Callable[..., None] | None, *details: Any) -> list[jobs.Wakeup]:
    if transition is None:
        return []
    try:
        with transaction(engine()) as session:
            transition(session, claim, *details)
            return jobs.take_wakeups(session)
    except jobs.LeaseLost:
        return []


# Retries are the state machine's business, never Celery's. The limits are the last resort against a hung
# stage: its process is killed, the lease runs out and reconcile decides.
LIMIT_HOURS = {
    StageName.INGEST: 6,
    StageName.FETCH: 168,
    StageName.ENCODE: 72,
    StageName.TRAIN: 72,
    StageName.SCORE: 12,
    StageName.EXPLAIN: 24,
    StageName.PUBLISH: 6,
    StageName.EXPORT: 6,
}
for stage_name, hours in LIMIT_HOURS.items():
    seconds = hours * 3600
    app.task(run_stage, name=task_name(stage_name), max_retries=0, soft_time_limit=seconds, time_limit=seconds + 60)
