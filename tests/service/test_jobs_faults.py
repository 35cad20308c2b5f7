"""How stages end otherwise than well, and how they go on, on a database that no worker looks at."""

import pytest
from sqlalchemy import Engine, text, update

from service.db import jobs
from service.db.session import transaction
from service.db.states import JobState, StageName
from service.db.tables import Collection, Export, Run, Stage
from tests.factories import make_run
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
    new_export,
    new_ingest,
    new_run,
    resume,
    stages,
    states,
)


@pytest.fixture
def engine(clean_engine: Engine) -> Engine:
    return clean_engine


class TestFail:
    def test_run_ends_with_the_reason_and_the_rest_is_cancelled(self, engine: Engine) -> None:
        run_id = new_run(engine)
        do(engine, jobs.fail, advance(engine, run_id, 1), CRASH)
        run = get(engine, Run, run_id)
        assert (run.state, run.error) == ("failed", CRASH)
        assert run.finished_at is not None
        assert states(engine, run_id) == ["succeeded", "failed", *["cancelled"] * 4]

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
        assert states(engine, run_id) == ["running", *["cancelled"] * 5]
        assert get(engine, Run, run_id).state == "running"
        do(engine, jobs.end_cancelled, taken)
        assert states(engine, run_id) == ["cancelled"] * 6
        assert get(engine, Run, run_id).state == "cancelled"


class TestResumeRun:
    def test_failed_run_goes_on_with_the_stage_that_failed(self, engine: Engine) -> None:
        run_id = new_run(engine)
        do(engine, jobs.fail, advance(engine, run_id, 2), CRASH)
        resume(engine, run_id)
        run = get(engine, Run, run_id)
        assert (run.state, run.error, run.finished_at) == ("queued", None, None)
        assert states(engine, run_id) == ["succeeded", "succeeded", "queued", *["waiting"] * 3]

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
