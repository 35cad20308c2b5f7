"""How stages go forward, on a database that no worker looks at."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.orm import Session

from service.db import jobs, submissions
from service.db.session import transaction
from service.db.states import RUN_STAGES, CollectionState, StageName
from service.db.tables import Collection, Run, Stage
from tests.factories import make_collection, make_run
from tests.service.machine import (
    CRASH,
    LEASE,
    advance,
    cancel,
    claim,
    claimed,
    do,
    expire,
    first_stage,
    get,
    new_ingest,
    new_run,
    stages,
    states,
)


@pytest.fixture
def engine(clean_engine: Engine) -> Engine:
    return clean_engine


class TestSubmit:
    def test_ready_collection_queues_only_the_first_stage(self, engine: Engine) -> None:
        run_id = new_run(engine)
        assert states(engine, run_id) == ["queued", *["waiting"] * 5]
        assert tuple(stage.name for stage in stages(engine, Stage.run_id == run_id)) == RUN_STAGES

    def test_ingesting_collection_keeps_all_stages_waiting(self, engine: Engine) -> None:
        assert set(states(engine, new_run(engine, CollectionState.INGESTING))) == {"waiting"}

    def test_only_what_may_start_is_to_be_announced(self, engine: Engine) -> None:
        with transaction(engine) as session:
            run = make_run(session, make_collection(session))
            wakeups = jobs.take_wakeups(session)
            assert jobs.take_wakeups(session) == []
        assert wakeups == [jobs.Wakeup(first_stage(engine, run.id), StageName.FETCH)]


class TestClaim:
    def test_first_claim_runs_stage_and_run(self, engine: Engine) -> None:
        run_id = new_run(engine)
        taken = claimed(engine, first_stage(engine, run_id))
        stage = get(engine, Stage, taken.stage_id)
        assert (taken.attempt, taken.name, taken.run_id) == (1, StageName.FETCH, run_id)
        assert (stage.state, stage.owner) == ("running", "worker")
        assert stage.started_at is not None
        assert get(engine, Run, run_id).state == "running"

    def test_second_claim_gets_nothing(self, engine: Engine) -> None:
        stage_id = first_stage(engine, new_run(engine))
        claimed(engine, stage_id)
        assert claim(engine, stage_id, "other") is None
        assert get(engine, Stage, stage_id).owner == "worker"

    def test_waiting_stage_cannot_be_claimed(self, engine: Engine) -> None:
        second = stages(engine, Stage.run_id == new_run(engine))[1]
        assert claim(engine, second.id) is None

    def test_unknown_stage_gives_nothing(self, engine: Engine) -> None:
        assert claim(engine, 10**9) is None

    def test_ended_stage_cannot_be_claimed(self, engine: Engine) -> None:
        stage_id = first_stage(engine, new_run(engine))
        do(engine, jobs.finish, claimed(engine, stage_id))
        assert claim(engine, stage_id) is None

    def test_expired_lease_gives_a_higher_attempt(self, engine: Engine) -> None:
        stage_id = first_stage(engine, new_run(engine))
        claimed(engine, stage_id)
        expire(engine, stage_id)
        assert claimed(engine, stage_id).attempt == 2

    def test_of_eight_at_once_exactly_one_wins(self, engine: Engine) -> None:
        stage_id = first_stage(engine, new_run(engine))
        barrier = threading.Barrier(8)

        def race(number: int) -> jobs.Claim | None:
            barrier.wait()
            return claim(engine, stage_id, f"worker {number}")

        with ThreadPoolExecutor(8) as pool:
            won = [taken for taken in pool.map(race, range(8)) if taken is not None]
        assert [taken.attempt for taken in won] == [1]

    def test_claim_and_cancel_at_once_do_not_block_each_other(self, engine: Engine) -> None:
        """The claim comes while the cancel holds the run; it must wait outside and then find nothing."""
        run_id = new_run(engine)
        stage_id = first_stage(engine, run_id)
        with ThreadPoolExecutor(1) as pool, transaction(engine) as session:
            run = session.get_one(Run, run_id, with_for_update=True)
            attempt = pool.submit(claim, engine, stage_id)
            waiting = text(
                "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
            )
            while session.scalar(waiting) is None and not attempt.done():
                session.execute(text("SELECT pg_stat_clear_snapshot()"))
            submissions.cancel_run(session, run)
            session.commit()
            assert attempt.result() is None
        assert get(engine, Run, run_id).state == "cancelled"


class TestFencing:
    @pytest.fixture
    def zombie(self, engine: Engine) -> jobs.Claim:
        """A holder whose lease ran out and whose stage another worker has."""
        stage_id = first_stage(engine, new_run(engine))
        old = claimed(engine, stage_id)
        expire(engine, stage_id)
        claimed(engine, stage_id)
        return old

    def test_finish_of_the_old_holder_is_refused(self, engine: Engine, zombie: jobs.Claim) -> None:
        with pytest.raises(jobs.LeaseLost):
            do(engine, jobs.finish, zombie)
        assert get(engine, Stage, zombie.stage_id).state == "running"

    def test_heartbeat_of_the_old_holder_is_refused(self, engine: Engine, zombie: jobs.Claim) -> None:
        with pytest.raises(jobs.LeaseLost):
            do(engine, jobs.heartbeat, zombie, LEASE, 5, 10, "stale")
        assert get(engine, Stage, zombie.stage_id).message is None

    @pytest.mark.parametrize("transition", [jobs.fail, jobs.retry])
    def test_failure_of_the_old_holder_is_refused(
        self, engine: Engine, zombie: jobs.Claim, transition: Callable[..., None]
    ) -> None:
        with pytest.raises(jobs.LeaseLost):
            do(engine, transition, zombie, CRASH)
        assert get(engine, Run, zombie.run_id).state == "running"

    @pytest.mark.parametrize("transition", [jobs.release, jobs.end_cancelled])
    def test_giving_up_of_the_old_holder_is_refused(
        self, engine: Engine, zombie: jobs.Claim, transition: Callable[..., None]
    ) -> None:
        with pytest.raises(jobs.LeaseLost):
            do(engine, transition, zombie)
        assert get(engine, Run, zombie.run_id).state == "running"

    def test_results_written_beside_a_lost_lease_are_rolled_back(self, engine: Engine, zombie: jobs.Claim) -> None:
        def publish(session: Session) -> None:
            session.get_one(Run, zombie.run_id).summary = {"pairs": 1}
            jobs.finish(session, zombie)

        with pytest.raises(jobs.LeaseLost):
            do(engine, publish)
        assert get(engine, Run, zombie.run_id).summary is None


class TestHeartbeat:
    def test_lease_is_extended_and_progress_shown(self, engine: Engine) -> None:
        taken = claimed(engine, first_stage(engine, new_run(engine)))
        expire(engine, taken.stage_id)
        assert do(engine, jobs.heartbeat, taken, LEASE, 3, 10, "page 3") is False
        stage = get(engine, Stage, taken.stage_id)
        assert (stage.done, stage.total, stage.message) == (3, 10, "page 3")
        assert claim(engine, taken.stage_id) is None

    def test_wish_to_cancel_is_passed_on(self, engine: Engine) -> None:
        run_id = new_run(engine)
        taken = claimed(engine, first_stage(engine, run_id))
        cancel(engine, run_id)
        assert do(engine, jobs.heartbeat, taken, LEASE, 0, 0, None) is True

    def test_ingest_is_never_cancelled(self, engine: Engine) -> None:
        collection_id = new_ingest(engine)
        taken = claimed(engine, stages(engine, Stage.collection_id == collection_id)[0].id)
        assert do(engine, jobs.heartbeat, taken, LEASE, 0, 0, None) is False


class TestFinish:
    def test_exactly_the_next_stage_is_queued(self, engine: Engine) -> None:
        run_id = new_run(engine)
        taken = claimed(engine, first_stage(engine, run_id))
        with transaction(engine) as session:
            jobs.finish(session, taken)
            wakeups = jobs.take_wakeups(session)
        assert states(engine, run_id) == ["succeeded", "queued", *["waiting"] * 4]
        assert [wakeup.name for wakeup in wakeups] == [StageName.ENCODE]

    def test_last_stage_queues_nothing(self, engine: Engine) -> None:
        run_id = new_run(engine)
        taken = advance(engine, run_id, 5)
        with transaction(engine) as session:
            jobs.finish(session, taken)
            assert jobs.take_wakeups(session) == []
        assert set(states(engine, run_id)) == {"succeeded"}

    def test_stage_cannot_be_finished_twice(self, engine: Engine) -> None:
        taken = claimed(engine, first_stage(engine, new_run(engine)))
        do(engine, jobs.finish, taken)
        with pytest.raises(jobs.LeaseLost):
            do(engine, jobs.finish, taken)

    def test_run_cancelled_in_the_last_moment_of_a_stage_ends(self, engine: Engine) -> None:
        run_id = new_run(engine)
        taken = claimed(engine, first_stage(engine, run_id))
        cancel(engine, run_id)
        do(engine, jobs.finish, taken)
        assert states(engine, run_id) == ["succeeded", *["cancelled"] * 5]
        assert get(engine, Run, run_id).state == "cancelled"

    def test_ingest_starts_the_runs_that_wait_for_it(self, engine: Engine) -> None:
        collection_id = new_ingest(engine)
        with transaction(engine) as session:
            collection = session.get_one(Collection, collection_id)
            waiting, cancelled = make_run(session, collection), make_run(session, collection)
        cancel(engine, cancelled.id)
        ingest = stages(engine, Stage.name == StageName.INGEST)[0]
        do(engine, jobs.finish, claimed(engine, ingest.id))
        assert states(engine, waiting.id)[:2] == ["queued", "waiting"]
        assert set(states(engine, cancelled.id)) == {"cancelled"}
