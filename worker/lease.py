"""Holding a stage: a thread extends the lease and shows progress, and learns when to stop."""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from service.config import Settings
from service.db import jobs
from service.db.session import transaction

log = logging.getLogger(__name__)

# Progress is shown this often; without progress the lease is extended every heartbeat_seconds.
SHOW_PROGRESS_SECONDS = 1.0


class Stop(StrEnum):
    CANCELLED = "cancelled"  # by the user
    SHUTDOWN = "shutdown"  # this worker was asked to end
    LOST = "lost"  # another worker holds the stage


class Stopped(Exception):
    """Raised inside a stage at a safe point."""

    def __init__(self, cause: Stop) -> None:
        super().__init__(cause)
        self.cause = cause


# Set by the signal that asks this worker process to end; every stage of the process sees it.
shutdown = threading.Event()


class Lease:
    """What a stage function gets: progress out, wishes in, and the one fenced transaction at the end."""

    def __init__(self, engine: Engine, claim: jobs.Claim, settings: Settings) -> None:
        self.engine = engine
        self.claim = claim
        self.settings = settings
        self._shown = self._progress = (0, 0, "")
        self._cause: Stop | None = None
        self._ended = threading.Event()
        self.wakeups: list[jobs.Wakeup] = []  # what may start now, once completing() has committed

    def progress(self, done: int, total: int, message: str = "") -> None:
        self._progress = (done, total, message)

    def should_stop(self) -> bool:
        return self._cause is not None or shutdown.is_set()

    @property
    def stop_cause(self) -> Stop:
        return self._cause or Stop.SHUTDOWN

    def check(self) -> None:
        if self.should_stop():
            raise Stopped(self.stop_cause)

    @contextmanager
    def completing(self) -> Iterator[Session]:
        """The transaction that writes the stage's results and ends it: both or neither."""
        with transaction(self.engine) as session:
            yield session
            jobs.finish(session, self.claim)
        self.wakeups = jobs.take_wakeups(session)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep the lease alive while the body runs."""
        thread = threading.Thread(target=self._beat, name=f"lease-{self.claim.stage_id}", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def _beat(self) -> None:
        last = time.monotonic()
        while not self._ended.wait(min(SHOW_PROGRESS_SECONDS, self.settings.heartbeat_seconds)):
            is_due = time.monotonic() - last >= self.settings.heartbeat_seconds
            if not is_due and self._progress == self._shown:
                continue
            try:
                self._extend()
                last = time.monotonic()
            except jobs.LeaseLost:
                self._cause = Stop.LOST
                return
            except DBAPIError as error:
                # Only the database can say that the lease is lost; while it is away, nobody else can claim.
                log.warning("heartbeat of stage %d failed, going on: %s", self.claim.stage_id, error)

    def _extend(self) -> None:
        done, total, message = progress = self._progress
        with transaction(self.engine) as session:
            seconds = self.settings.lease_seconds
            if jobs.heartbeat(session, self.claim, seconds, done, total, message or None):
                self._cause = Stop.CANCELLED
        self._shown = progress
