"""Shares of the stages: fetch .05, encode .5, train .2, score .12, explain .11, publish .02."""

import pytest

from service.db.states import JobState, StageName
from service.db.tables import Stage
from service.progress import Timed, run_progress, run_seconds_left, stage_seconds_left

NAMES = ("fetch", "encode", "train", "score", "explain", "publish")


def stages(*seconds: float, done: float = 0.0, names: tuple[str, ...] = NAMES) -> Timed:
    """Finished after so many seconds each, but the last, which has run that long; later ones wait."""
    finished = len(seconds) - 1
    found = []
    for at, name in enumerate(names):
        state = JobState.SUCCEEDED if at < finished else JobState.RUNNING if at == finished else JobState.WAITING
        shown = round(1000 * done) if state == JobState.RUNNING else 0
        stage = Stage(name=StageName(name), state=state, done=shown, total=1000 if shown else 0)
        found.append((stage, seconds[at] if at <= finished else None))
    return found


class TestRunProgress:
    def test_every_stage_counts_by_its_share(self) -> None:
        """.05 + .5 + a quarter of .2"""
        assert run_progress(stages(30, 300, 60, done=0.25)) == pytest.approx(0.6)

    def test_a_stage_that_had_nothing_to_do_is_no_part_of_the_whole(self) -> None:
        """Features came with the upload: of .45 for the other stages a quarter of .2 is done."""
        assert run_progress(stages(0.2, 0.4, 60, done=0.25)) == pytest.approx(0.05 / 0.45)

    def test_a_run_without_training_is_whole_without_it(self) -> None:
        names = ("fetch", "encode", "score", "explain", "publish")
        assert run_progress(stages(5, 50, 12, done=0.5, names=names)) == pytest.approx((0.55 + 0.06) / 0.8)

    def test_grows_when_a_quick_stage_ends(self) -> None:
        """Fetch is nearly done after .9 s and over after .95 s; encode is that later."""
        course = [
            stages(0.9, done=0.95),
            stages(0.95, 0.1),
            stages(0.95, 0.9, done=0.9),
            stages(0.95, 1.1, done=0.95),
            stages(0.95, 1.2, 5, done=0.01),
            stages(0.95, 1.2, 9, 0.3, 0.3, 0.3, done=0.5),
        ]
        seen = [run_progress(one) for one in course]
        assert seen == sorted(seen)
        assert 0 <= seen[0] < seen[-1] < 1

    def test_stages_that_all_had_nothing_to_do_are_done(self) -> None:
        assert run_progress(stages(*[0.1] * 7)) == 1


class TestRunSecondsLeft:
    def test_later_stages_take_their_share_of_the_current_ones_time(self) -> None:
        """A quarter of the training took 10 s, so 30 s are left of 40; .25 of the whole follow on its .2: 50 s."""
        assert run_seconds_left(stages(2, 20, 10, done=0.25)) == pytest.approx(80)

    def test_what_earlier_stages_took_does_not_matter(self) -> None:
        """Encoding took no time here and ten minutes there."""
        assert run_seconds_left(stages(0.1, 0.1, 10, done=0.25)) == run_seconds_left(stages(60, 600, 10, done=0.25))

    def test_the_last_stage_takes_what_is_left_of_it(self) -> None:
        assert run_seconds_left(stages(1, 1, 1, 1, 1, 6, done=0.6)) == pytest.approx(4)

    @pytest.mark.parametrize("done", [0.0, 0.01, 0.02])
    def test_unknown_while_the_stage_has_just_begun(self, done: float) -> None:
        assert run_seconds_left(stages(2, 20, 10, done=done)) is None

    def test_unknown_between_two_stages(self) -> None:
        between = stages(2, 20, 10, done=0.5)
        between[2][0].state = JobState.QUEUED
        assert run_seconds_left(between) is None

    def test_unknown_when_all_is_over(self) -> None:
        assert run_seconds_left(stages(*[2.0] * 7)) is None


class TestStageSecondsLeft:
    def test_rest_goes_on_at_the_same_speed(self) -> None:
        stage, seconds = stages(2, 20, done=0.4)[1]
        assert stage_seconds_left(stage, seconds) == pytest.approx(30)
