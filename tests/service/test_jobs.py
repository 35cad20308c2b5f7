"""The state machine on a database that no worker looks at. Time passes by UPDATE, never by waiting."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine, delete, select, text, update
from sqlalchemy.orm import Session

from service.db import jobs
from service.db.session import transaction
from service.db.states import RUN_STAGES, CollectionState, JobState, StageName
from service.db.tables import Collection, Export, Run, Stage, Workspace
from tests.factories import make_collection, make_run, publish_run

LEASE = 60.0
CRASH = jobs.problem("crashed", "It crashed", "ValueError: no luck")


@pytest.fixture
def engine(quiet_engine: Engine) -> Iterator[Engine]:
    yield quiet_engine
    with transaction(quiet_engine) as session:
        session.execute(delete(Workspace))


def new_run(engine: Engine, state: CollectionState = CollectionState.READY) -> UUID:
    with transaction(engine) as session:
        return make_run(session, make_collection(session, state=state)).id


def new_ingest(engine: Engine) -> UUID:
    with transaction(engine) as session:
        collection = make_collection(session, state=CollectionState.INGESTING)
        jobs.submit_ingest(session, collection)
        return collection.id


def new_export(engine: Engine) -> UUID:
    with transaction(engine) as session:
        run = publish_run(session, make_collection(session, 1), {1: 0.9})
        export = Export(workspace_id=run.workspace_id, run_id=run.id, format="tsv", filter={})
        session.add(export)
        session.flush()
        jobs.submit_export(session, export, run.collection_id)
        return export.id


def get(engine: Engine, table: type[Any], key: Any) -> Any:
    with transaction(engine) as session:
        return session.get_one(table, key)


def stages(engine: Engine, *conditions: Any) -> list[Stage]:
    with transaction(engine) as session:
        return list(session.scalars(select(Stage).where(*conditions).order_by(Stage.position, Stage.id)))


def states(engine: Engine, run_id: UUID) -> list[str]:
    return [stage.state for stage in stages(engine, Stage.run_id == run_id)]


def first_stage(engine: Engine, run_id: UUID) -> int:
    return stages(engine, Stage.run_id == run_id)[0].id


def claim(engine: Engine, stage_id: int, owner: str = "worker") -> jobs.Claim | None:
    with transaction(engine) as session:
        return jobs.claim(session, stage_id, owner, LEASE)


def claimed(engine: Engine, stage_id: int) -> jobs.Claim:
    taken = claim(engine, stage_id)
    assert taken is not None
    return taken


def do(engine: Engine, action: Callable[..., Any], *arguments: Any) -> Any:
    """One transition in one transaction."""
    with transaction(engine) as session:
        return action(session, *arguments)


def expire(engine: Engine, stage_id: int) -> None:
    with transaction(engine) as session:
        past = text("now() - interval '1 second'")
        session.execute(update(Stage).where(Stage.id == stage_id).values(lease_until=past))


def cancel(engine: Engine, run_id: UUID) -> None:
    with transaction(engine) as session:
        jobs.cancel_run(session, session.get_one(Run, run_id, with_for_update=True))


def resume(engine: Engine, run_id: UUID) -> None:
    with transaction(engine) as session:
        jobs.resume_run(session, session.get_one(Run, run_id, with_for_update=True))


def advance(engine: Engine, run_id: UUID, count: int) -> jobs.Claim:
    """Finish the first `count` stages and claim the one after them."""
    listed = stages(engine, Stage.run_id == run_id)
    for stage in listed[:count]:
        do(engine, jobs.finish, claimed(engine, stage.id))
    return claimed(engine, listed[count].id)


class TestSubmit:
    def test_ready_collection_queues_only_the_first_stage(self, engine: Engine) -> None:
        run_id = new_run(engine)
        assert states(engine, run_id) == ["queued", "waiting", "waiting", "waiting", "waiting"]
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
            jobs.cancel_run(session, run)
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
        assert states(engine, run_id) == ["succeeded", "queued", "waiting", "waiting", "waiting"]
        assert [wakeup.name for wakeup in wakeups] == [StageName.ENCODE]

    def test_last_stage_queues_nothing(self, engine: Engine) -> None:
        run_id = new_run(engine)
        taken = advance(engine, run_id, 4)
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
        assert states(engine, run_id) == ["succeeded", *["cancelled"] * 4]
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


class TestFail:
    def test_run_ends_with_the_reason_and_the_rest_is_cancelled(self, engine: Engine) -> None:
        run_id = new_run(engine)
        do(engine, jobs.fail, advance(engine, run_id, 1), CRASH)
        run = get(engine, Run, run_id)
        assert (run.state, run.error) == ("failed", CRASH)
        assert run.finished_at is not None
        assert states(engine, run_id) == ["succeeded", "failed", "cancelled", "cancelled", "cancelled"]

    def test_failed_ingest_fails_the_collection_and_its_waiting_runs(self, engine: Engine) -> None:
        collection_id = new_ingest(engine)
        with transaction(engine) as session:
            run = make_run(session, session.get_one(Collection, collection_id))
        ingest = stages(engine, Stage.name == StageName.INGEST)[0]
        do(engine, jobs.fail, claimed(engine, ingest.id), CRASH)
        collection, ended = get(engine, Collection, collection_id), get(engine, Run, run.id)
        assert (collection.state, collection.error) == ("failed", CRASH)
        assert (ended.state, ended.error["code"]) == ("failed", "collection_failed")
        assert ended.error["detail"] == CRASH["detail"]

    def test_failed_export_leaves_the_run_alone(self, engine: Engine) -> None:
        export_id = new_export(engine)
        stage = stages(engine, Stage.export_id == export_id)[0]
        do(engine, jobs.fail, claimed(engine, stage.id), CRASH)
        export = get(engine, Export, export_id)
        assert (export.state, export.error) == ("failed", CRASH)
        assert get(engine, Run, export.run_id).state == "succeeded"


class TestRetry:
    def test_crash_is_tried_again(self, engine: Engine) -> None:
        run_id = new_run(engine)
        with transaction(engine) as session:
            taken = jobs.claim(session, first_stage(engine, run_id), "worker", LEASE)
            assert taken is not None
            jobs.retry(session, taken, CRASH)
            assert [wakeup.stage_id for wakeup in jobs.take_wakeups(session)] == [taken.stage_id]
        assert states(engine, run_id)[0] == "queued"

    def test_fourth_crash_fails_the_run_with_a_readable_reason(self, engine: Engine) -> None:
        run_id = new_run(engine)
        stage_id = first_stage(engine, run_id)
        for attempt in range(1, jobs.MAX_CRASHES + 1):
            assert get(engine, Run, run_id).state != "failed"
            taken = claimed(engine, stage_id)
            assert taken.attempt == attempt
            do(engine, jobs.retry, taken, CRASH)
        run = get(engine, Run, run_id)
        assert (run.state, run.error["code"]) == ("failed", "crashed_too_often")
        assert "crashed 4 times" in run.error["title"]
        assert "ValueError: no luck" in run.error["detail"]
        assert claim(engine, stage_id) is None

    def test_crash_after_a_wish_to_cancel_ends_the_run_cancelled(self, engine: Engine) -> None:
        run_id = new_run(engine)
        taken = claimed(engine, first_stage(engine, run_id))
        cancel(engine, run_id)
        do(engine, jobs.retry, taken, CRASH)
        assert get(engine, Run, run_id).state == "cancelled"


class TestRelease:
    def test_released_stage_never_counts_as_crashed(self, engine: Engine) -> None:
        stage_id = first_stage(engine, new_run(engine))
        for attempt in range(1, 2 * jobs.MAX_CRASHES):
            taken = claimed(engine, stage_id)
            assert taken.attempt == attempt
            do(engine, jobs.release, taken)
        assert get(engine, Stage, stage_id).state == "queued"


class TestCancelRun:
    def test_idle_run_is_cancelled_at_once(self, engine: Engine) -> None:
        run_id = new_run(engine)
        cancel(engine, run_id)
        run = get(engine, Run, run_id)
        assert run.state == "cancelled"
        assert run.finished_at is not None
        assert set(states(engine, run_id)) == {"cancelled"}
        assert all(stage.finished_at for stage in stages(engine, Stage.run_id == run_id))

    def test_running_stage_goes_on_until_it_hears_of_it(self, engine: Engine) -> None:
        run_id = new_run(engine)
        taken = claimed(engine, first_stage(engine, run_id))
        cancel(engine, run_id)
        assert states(engine, run_id) == ["running", *["cancelled"] * 4]
        assert get(engine, Run, run_id).state == "running"
        do(engine, jobs.end_cancelled, taken)
        assert states(engine, run_id) == ["cancelled"] * 5
        assert get(engine, Run, run_id).state == "cancelled"


class TestResumeRun:
    def test_failed_run_goes_on_with_the_stage_that_failed(self, engine: Engine) -> None:
        run_id = new_run(engine)
        do(engine, jobs.fail, advance(engine, run_id, 2), CRASH)
        resume(engine, run_id)
        run = get(engine, Run, run_id)
        assert (run.state, run.error, run.finished_at) == ("queued", None, None)
        assert states(engine, run_id) == ["succeeded", "succeeded", "queued", "waiting", "waiting"]

    def test_cancelled_run_is_not_cancelled_again(self, engine: Engine) -> None:
        run_id = new_run(engine)
        cancel(engine, run_id)
        resume(engine, run_id)
        taken = claimed(engine, first_stage(engine, run_id))
        assert do(engine, jobs.heartbeat, taken, LEASE, 0, 0, None) is False

    def test_crashes_before_the_resume_are_forgiven(self, engine: Engine) -> None:
        run_id = new_run(engine)
        stage_id = first_stage(engine, run_id)
        for _ in range(jobs.MAX_CRASHES):
            do(engine, jobs.retry, claimed(engine, stage_id), CRASH)
        resume(engine, run_id)
        assert claimed(engine, stage_id).attempt == jobs.MAX_CRASHES + 1

    def test_time_between_the_attempts_does_not_count(self, engine: Engine) -> None:
        run_id = new_run(engine)
        do(engine, jobs.fail, claimed(engine, first_stage(engine, run_id)), CRASH)
        resume(engine, run_id)
        assert stages(engine, Stage.run_id == run_id)[0].started_at is None


class TestHealExpired:
    def test_silent_stage_is_queued_again_and_unannounced(self, engine: Engine) -> None:
        taken = claimed(engine, first_stage(engine, new_run(engine)))
        do(engine, jobs.mark_announced, [taken.stage_id])
        expire(engine, taken.stage_id)
        assert do(engine, jobs.heal_expired) == 1
        stage = get(engine, Stage, taken.stage_id)
        assert (stage.state, stage.owner, stage.announced_at) == ("queued", None, None)

    def test_stage_with_a_valid_lease_is_left_alone(self, engine: Engine) -> None:
        taken = claimed(engine, first_stage(engine, new_run(engine)))
        assert do(engine, jobs.heal_expired) == 0
        assert get(engine, Stage, taken.stage_id).state == "running"

    def test_cancelled_run_ends_when_its_worker_is_gone(self, engine: Engine) -> None:
        run_id = new_run(engine)
        taken = claimed(engine, first_stage(engine, run_id))
        cancel(engine, run_id)
        expire(engine, taken.stage_id)
        assert do(engine, jobs.heal_expired) == 1
        assert get(engine, Run, run_id).state == "cancelled"

    def test_fourth_silent_death_fails_the_run_with_a_readable_reason(self, engine: Engine) -> None:
        run_id = new_run(engine)
        stage_id = first_stage(engine, run_id)
        for _ in range(jobs.MAX_CRASHES):
            claimed(engine, stage_id)
            expire(engine, stage_id)
            do(engine, jobs.heal_expired)
        run = get(engine, Run, run_id)
        assert (run.state, run.error["code"]) == ("failed", "crashed_too_often")
        assert "out of memory" in run.error["detail"]

    def test_silent_death_is_not_blamed_on_the_crash_before_it(self, engine: Engine) -> None:
        run_id = new_run(engine)
        stage_id = first_stage(engine, run_id)
        for _ in range(jobs.MAX_CRASHES - 1):
            do(engine, jobs.retry, claimed(engine, stage_id), CRASH)
        claimed(engine, stage_id)
        expire(engine, stage_id)
        do(engine, jobs.heal_expired)
        assert "out of memory" in get(engine, Run, run_id).error["detail"]

    def test_ingest_and_export_are_healed_too(self, engine: Engine) -> None:
        new_ingest(engine)
        new_export(engine)
        idle = stages(engine, Stage.state == JobState.QUEUED)
        assert {stage.name for stage in idle} == {"ingest", "export"}
        for stage in idle:
            claimed(engine, stage.id)
            expire(engine, stage.id)
        assert do(engine, jobs.heal_expired) == 2


class TestUnannounced:
    def test_queued_stage_is_found_until_it_is_announced(self, engine: Engine) -> None:
        stage_id = first_stage(engine, new_run(engine))
        assert do(engine, jobs.unannounced, 30.0) == [jobs.Wakeup(stage_id, StageName.FETCH)]
        do(engine, jobs.mark_announced, [stage_id])
        assert do(engine, jobs.unannounced, 30.0) == []

    def test_old_announcement_is_repeated(self, engine: Engine) -> None:
        stage_id = first_stage(engine, new_run(engine))
        with transaction(engine) as session:
            past = text("now() - interval '31 seconds'")
            session.execute(update(Stage).where(Stage.id == stage_id).values(announced_at=past))
        assert [wakeup.stage_id for wakeup in do(engine, jobs.unannounced, 30.0)] == [stage_id]

    def test_what_runs_waits_or_has_ended_is_not_announced(self, engine: Engine) -> None:
        claimed(engine, first_stage(engine, new_run(engine)))
        cancel(engine, new_run(engine))
        assert do(engine, jobs.unannounced, 30.0) == []
