"""The course of the learning rate."""

from dataclasses import replace

import pytest

from model.config import RunConfig
from model.schedule import rate_share
from model.training import Phase

WARMUP = Phase("warm-up", 2, is_scheduled=False)
TRAINING = Phase("training", 4)
PIECES = (Phase("piece 1", 2, fresh_networks=True), Phase("piece 2", 2, fresh_networks=True))


def course(config: RunConfig, *phases: Phase) -> list[float]:
    plan = [(phase, epoch) for phase in phases for epoch in range(phase.epochs)]
    return [rate_share(config, plan, at) for at in range(len(plan))]


class TestRateShare:
    def test_constant_never_changes(self) -> None:
        assert course(RunConfig(), WARMUP, TRAINING) == [1.0] * 6

    def test_steps_are_counted_from_the_end_of_the_warmup(self) -> None:
        config = RunConfig(schedule="step", schedule_epochs=2)
        assert course(config, WARMUP, TRAINING) == pytest.approx([1, 1, 1, 1, 0.1, 0.1])

    def test_cosine_falls_from_one_towards_zero(self) -> None:
        """(1 + cos(pi k / 4)) / 2 for k = 0..3."""
        shares = course(RunConfig(schedule="cosine"), WARMUP, TRAINING)
        assert shares == pytest.approx([1, 1, 1, 0.853553, 0.5, 0.146447], abs=1e-6)

    @pytest.mark.parametrize(("schedule", "second"), [("step", 0.1), ("cosine", 0.5)])
    def test_fresh_networks_start_anew(self, schedule: str, second: float) -> None:
        config = replace(RunConfig(), schedule=schedule, schedule_epochs=1)
        assert course(config, *PIECES) == pytest.approx([1, second, 1, second])
