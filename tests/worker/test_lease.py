"""Holding a stage, on a database that no worker looks at."""

import pytest
from sqlalchemy import Engine, text

from service.config import Settings
from service.db import jobs
from service.db.session import transaction
from service.db.tables import Collection, Stage
from tests.service.machine import cancel, claim, claimed, expire, first_stage, get, new_run, states
from tests.service.serving import eventually
from worker.lease import Lease, Stop, Stopped

FAST = Settings(lease_seconds=60, heartbeat_seconds=0.05)


def held_stage(engine: Engine) -> Lease:
    return Lease(engine, claimed(engine, first_stage(engine, new_run(engine))), FAST)


class TestHeld:
    def test_the_lease_is_extended_and_progress_shown(self, quiet_engine: Engine) -> None:
        lease = held_stage(quiet_engine)
        stage_id = lease.claim.stage_id
        expire(quiet_engine, stage_id)
        with lease.held():
            lease.progress(3, 8, "on the way")
            eventually(lambda: get(quiet_engine, Stage, stage_id).done == 3)
            shown = get(quiet_engine, Stage, stage_id)
        assert (shown.total, shown.message) == (8, "on the way")
        with transaction(quiet_engine) as session:
            assert session.scalar(text("SELECT lease_until > now() FROM stages WHERE id = :id"), {"id": stage_id})

    def test_a_stage_taken_over_stops_its_old_holder(self, quiet_engine: Engine) -> None:
        lease = held_stage(quiet_engine)
        expire(quiet_engine, lease.claim.stage_id)
        assert claim(quiet_engine, lease.claim.stage_id, "another") is not None
        with lease.held():
            eventually(lease.should_stop)
        assert lease.stop_cause is Stop.LOST
        with pytest.raises(Stopped):
            lease.check()

    def test_a_wish_to_cancel_arrives(self, quiet_engine: Engine) -> None:
        run_id = new_run(quiet_engine)
        lease = Lease(quiet_engine, claimed(quiet_engine, first_stage(quiet_engine, run_id)), FAST)
        assert not lease.should_stop()
        cancel(quiet_engine, run_id)
        with lease.held():
            eventually(lease.should_stop)
        assert lease.stop_cause is Stop.CANCELLED


class TestCompleting:
    def test_results_and_end_come_together_and_the_next_stage_may_start(self, quiet_engine: Engine) -> None:
        run_id = new_run(quiet_engine)
        lease = Lease(quiet_engine, claimed(quiet_engine, first_stage(quiet_engine, run_id)), FAST)
        with lease.completing() as session:
            session.get_one(Collection, lease.claim.collection_id).name = "written"
        assert get(quiet_engine, Collection, lease.claim.collection_id).name == "written"
        assert states(quiet_engine, run_id)[:3] == ["succeeded", "queued", "waiting"]
        assert [wakeup.name for wakeup in lease.wakeups] == ["encode"]

    def test_a_zombie_writes_nothing(self, quiet_engine: Engine) -> None:
        lease = held_stage(quiet_engine)
        expire(quiet_engine, lease.claim.stage_id)
        assert claim(quiet_engine, lease.claim.stage_id, "another") is not None
        with pytest.raises(jobs.LeaseLost), lease.completing() as session:
            session.get_one(Collection, lease.claim.collection_id).name = "written by a zombie"
        assert get(quiet_engine, Collection, lease.claim.collection_id).name == "made"
        assert get(quiet_engine, Stage, lease.claim.stage_id).state == "running"
