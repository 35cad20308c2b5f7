"""The Celery app and its settings, nothing else. `celery -A worker.app worker` is what runs it."""

import os
import signal
import warnings

import billiard
from celery.exceptions import SecurityWarning
from celery.signals import worker_process_init, worker_shutting_down

from service.config import Settings
from service.processes import follow_parent
from service.queue import make_celery
from worker.lease import shutdown

# Who runs the embedded stack as root knows it; messages are JSON with an id, so there is nothing to unpickle.
warnings.filterwarnings("ignore", category=SecurityWarning)

settings = Settings()
follow_parent(settings)
app = make_celery(settings.required_broker_url)
app.set_current()
app.conf.imports = ["worker.tasks"]
app.conf.worker_concurrency = settings.worker_concurrency

# A warm shutdown waits for the running tasks; this tells them to stop at the next safe point.
STOP_SIGNAL = signal.SIGUSR2


@worker_process_init.connect
def listen_for_stop(**_: object) -> None:
    signal.signal(STOP_SIGNAL, lambda *_: shutdown.set())


@worker_shutting_down.connect
def tell_children_to_stop(**_: object) -> None:
    for child in billiard.active_children():
        os.kill(child.pid, STOP_SIGNAL)
