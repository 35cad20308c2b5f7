"""What every stage function is given, and how it says that it cannot go on."""

from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from sqlalchemy import Engine, exists, select
from sqlalchemy.orm import Session

from model.config import RunConfig, parse_run_config
from service.config import Settings
from service.db import jobs
from service.db.session import transaction
from service.db.states import StageName
from service.db.tables import Collection, Export, Run, Stage
from service.storage import Storage
from worker.lease import Lease

Row = TypeVar("Row", Collection, Run, Export)


class StageFailed(Exception):
    """The stage cannot succeed, however often it is tried; the user is told this and nothing else."""

    def __init__(self, code: str, title: str, detail: str) -> None:
        super().__init__(detail)
        self.problem = jobs.problem(code, title, detail)


@dataclass(frozen=True)
class StageContext:
    lease: Lease
    storage: Storage

    @property
    def engine(self) -> Engine:
        return self.lease.engine

    @property
    def settings(self) -> Settings:
        return self.lease.settings

    @property
    def collection_id(self) -> UUID:
        return self.lease.claim.collection_id

    @property
    def run_id(self) -> UUID:
        run_id = self.lease.claim.run_id
        if run_id is None:
            raise RuntimeError(f"the stage '{self.lease.claim.name}' belongs to no run")
        return run_id

    @property
    def export_id(self) -> UUID:
        export_id = self.lease.claim.export_id
        if export_id is None:
            raise RuntimeError(f"the stage '{self.lease.claim.name}' belongs to no export")
        return export_id

    def collection(self) -> Collection:
        return self._get(Collection, self.collection_id)

    def export(self) -> Export:
        return self._get(Export, self.export_id)

    def run(self) -> Run:
        return self._get(Run, self.run_id)

    def run_config(self) -> RunConfig:
        return parse_run_config(self.run().config)

    def is_borrowing(self) -> bool:
        """Whether the run has its pairs judged by another run. By its stages: that other one may be gone."""
        trains = exists().where(Stage.run_id == self.run_id, Stage.name == StageName.TRAIN)
        with transaction(self.engine) as session:
            return not session.scalar(select(trains))

    def _get(self, table: type[Row], key: UUID) -> Row:
        with transaction(self.engine) as session:
            return session.get_one(table, key)


def lift_time_limit(session: Session) -> None:
    """Bulk work in one statement may take long; the stage's own limit and lease watch over it."""
    session.connection().exec_driver_sql("SET LOCAL statement_timeout = 0")
    session.connection().exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
