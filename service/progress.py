"""How far a run is, and how long it still takes."""

from collections.abc import Sequence

from service.db.states import FINAL_STATES, JobState, StageName
from service.db.tables import Stage

Timed = Sequence[tuple[Stage, float | None]]  # a run's stages in order, with the seconds each has taken

# Of a run's time, as measured where images were fetched and encoded; not every run has every stage.
SHARES = {
    StageName.FETCH: 0.05,
    StageName.ENCODE: 0.5,
    StageName.TRAIN: 0.2,
    StageName.SCORE: 0.12,
    StageName.EXPLAIN: 0.11,
    StageName.PUBLISH: 0.02,
}
# A stage that took less had nothing to do, as encode where the features came with the upload.
IDLE_SECONDS = 1.0
# Before this much of a stage is done its speed says nothing yet: libraries are still being loaded.
LEAST_DONE = 0.02


def stage_progress(stage: Stage) -> float:
    if stage.state == JobState.SUCCEEDED:
        return 1.0
    return min(stage.done / stage.total, 1.0) if stage.total else 0.0


def stage_seconds_left(stage: Stage, seconds: float | None) -> float | None:
    """None while its speed is unknown."""
    progress = stage_progress(stage)
    if stage.state != JobState.RUNNING or seconds is None or progress <= LEAST_DONE:
        return None
    return seconds * (1 - progress) / progress


def run_progress(stages: Timed) -> float:
    """Never falls: a stage counts only when it has taken its second, before that it might be none of the whole."""
    whole = done = 0.0
    for stage, seconds in stages:
        is_idle = seconds is not None and seconds < IDLE_SECONDS
        if is_idle and stage.state == JobState.SUCCEEDED:
            continue
        share = SHARES[StageName(stage.name)]
        whole += share
        done += 0.0 if is_idle else share * stage_progress(stage)
    return min(done / whole, 1.0) if whole else 1.0


def run_seconds_left(stages: Timed) -> float | None:
    """By the speed of the stage that runs; later ones take their share in proportion to it."""
    place = next((at for at, (stage, _) in enumerate(stages) if stage.state not in FINAL_STATES), None)
    if place is None:
        return None
    stage, seconds = stages[place]
    left = stage_seconds_left(stage, seconds)
    if left is None or seconds is None:
        return None
    later = sum(SHARES[StageName(after.name)] for after, _ in stages[place + 1 :])
    return left + (seconds + left) * later / SHARES[StageName(stage.name)]
