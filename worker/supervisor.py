"""A worker: Celery in a child process, and beside it, outside Celery, the reconcile loop. A Celery that dies
is started again; SIGTERM lets running stages stop at a checkpoint and give their lease back."""

import logging
import os
import signal
import subprocess
import sys
import threading

from sqlalchemy.exc import DBAPIError

from service.config import Settings, child_environment
from service.db.session import make_engine
from service.processes import follow_parent
from service.queue import make_celery
from worker.reconcile import reconcile_once, reconcile_until

log = logging.getLogger(__name__)

# How long running stages get to reach a safe point before the worker is killed; their leases run out then.
GRACE_SECONDS = 60
RESTART_PAUSE_SECONDS = 1.0


def supervise(settings: Settings, queues: str) -> None:
    follow_parent(settings)
    stop = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: stop.set())
    engine, app = (
        make_engine(settings.required_database_url, pool_size=2),
        make_celery(settings.required_broker_url),
    )
    try:
        reconcile_once(engine, app, settings)  # what a worker before this one left behind
    except DBAPIError as error:
        log.warning("the database is not reachable yet: %s", error)
    loop = threading.Thread(target=reconcile_until, args=(stop, engine, app, settings), daemon=True)
    loop.start()
    _keep_running(stop, settings, queues)
    loop.join()
    app.close()
    engine.dispose()


def _keep_running(stop: threading.Event, settings: Settings, queues: str) -> None:
    while not stop.is_set():
        celery = _start_celery(settings, queues)
        while celery.poll() is None and not stop.wait(0.2):
            pass
        if stop.is_set():
            _end(celery)
        else:
            log.error("Celery ended with code %s; starting it again", celery.returncode)
            stop.wait(RESTART_PAUSE_SECONDS)


def _start_celery(settings: Settings, queues: str) -> subprocess.Popen[bytes]:
    name = f"pairsift-{os.getpid()}@%h"
    concurrency = str(settings.worker_concurrency)
    command = [sys.executable, "-m", "celery", "--app", "worker.app", "--quiet", "worker"]
    options = ["--queues", queues, "--concurrency", concurrency, "--hostname", name, "--loglevel", "WARNING"]
    quieter = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    # Celery says good-bye on stdout, which belongs to the results of whatever command runs this worker.
    # Waiting threads of torch must not spin: on a machine that has anything else to do, training then took ten
    # times as long (225 s against 24 s for 4,000 pairs on two busy cores).
    environment = {"OMP_WAIT_POLICY": "PASSIVE"} | child_environment(settings)
    return subprocess.Popen(command + options + quieter, env=environment, stdout=subprocess.DEVNULL)


def _end(celery: subprocess.Popen[bytes]) -> None:
    celery.terminate()
    try:
        celery.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        log.error("Celery did not end within %d s and is killed; its leases will run out", GRACE_SECONDS)
        celery.kill()
        celery.wait()
