"""What is shown of a run while it goes."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from cli.output import Follower
from service.db.states import JobState, StageName
from service.schemas import Run, StageStatus

STAGES = (StageName.FETCH, StageName.ENCODE, StageName.TRAIN)


def run_with(
    *states: JobState, stage: StageName | None = None, state: JobState = JobState.RUNNING, attempt: int = 1
) -> Run:
    stages = [
        StageStatus(name=name, state=now, progress=float(now == JobState.SUCCEEDED), attempt=attempt, seconds=3.0)
        for name, now in zip(STAGES, states, strict=True)
    ]
    made = {
        "id": UUID(int=1),
        "collection_id": UUID(int=2),
        "config": {},
        "created_at": datetime(2026, 1, 1, tzinfo=UTC),
    }
    progress = sum(one.progress for one in stages) / len(stages)
    return Run.model_validate({**made, "state": state, "stage": stage, "progress": progress, "stages": stages})


class TestFollower:
    def test_a_stage_that_ended_between_two_looks_has_its_line(self, capsys: pytest.CaptureFixture[str]) -> None:
        follower = Follower(None)
        follower.see(run_with(JobState.RUNNING, JobState.WAITING, JobState.WAITING, stage=StageName.FETCH))
        follower.see(run_with(JobState.SUCCEEDED, JobState.SUCCEEDED, JobState.RUNNING, stage=StageName.TRAIN))
        assert capsys.readouterr().err.splitlines() == [
            "  0%  fetch",
            " 67%  fetch: done in 3 s",
            " 67%  encode: done in 3 s",
            " 67%  train",
        ]

    def test_what_was_said_is_not_said_again(self, capsys: pytest.CaptureFixture[str]) -> None:
        follower = Follower(None)
        for _ in range(2):
            follower.see(run_with(JobState.SUCCEEDED, JobState.RUNNING, JobState.WAITING, stage=StageName.ENCODE))
        assert capsys.readouterr().err.splitlines() == [" 33%  fetch: done in 3 s", " 33%  encode"]

    def test_a_stage_that_is_tried_again_is_said_so(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A stage that falls back to the beginning looks like a fault, unless it is said that its worker was lost."""
        follower = Follower(None)
        for attempt in (1, 1, 2):
            states = (JobState.RUNNING, JobState.WAITING, JobState.WAITING)
            follower.see(run_with(*states, stage=StageName.FETCH, attempt=attempt))
        assert capsys.readouterr().err.splitlines() == ["  0%  fetch", "  0%  fetch (attempt 2)"]

    def test_the_end_is_said_once_all_stages_are_done(self, capsys: pytest.CaptureFixture[str]) -> None:
        follower = Follower(None)
        follower.see(run_with(*[JobState.SUCCEEDED] * 3, state=JobState.SUCCEEDED))
        assert capsys.readouterr().err.splitlines()[-2:] == ["100%  train: done in 3 s", "100%  succeeded"]
