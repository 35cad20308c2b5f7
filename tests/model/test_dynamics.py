"""How pairs were learned: what is kept of the surveys, what a survey gets to see of it, and what a stop leaves."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from model.dynamics import TEMPERATURE, Dynamics
from model.engine import Engine, Stopped
from model.pairs import Pairs
from model.training import Batch, Judge
from tests.model.cases import batch_of, config_of
from tests.model.collections import make_pairs


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    return make_pairs(200, 0.3)[0]


def look_at(*similarities: list[list[float]]) -> Callable[[Judge], Tensor]:
    """A look over batches of these similarities."""
    return lambda judge: torch.cat([judge(batch_of(torch.tensor(one))) for one in similarities])


def diagonal(batch: Batch) -> Tensor:
    return batch.similarity.diagonal()


def lead(steps: float) -> list[list[float]]:
    """Two pairs whose own similarity .5 is so many temperatures above the other: probability 1 / (1 + e^-steps)."""
    other = 0.5 - steps * TEMPERATURE
    return [[0.5, other], [other, 0.5]]


class TestWatched:
    def test_judge_of_one_value_per_pair_is_answered_unchanged(self) -> None:
        answer = Dynamics(1, 4).watched(0, diagonal, look_at([[0.1, 0.0], [0.0, 0.2]], [[0.3, 0.0], [0.0, 0.4]]))
        torch.testing.assert_close(answer, torch.tensor([0.1, 0.2, 0.3, 0.4]))

    @pytest.mark.parametrize("values", [1, 3])
    def test_judge_of_several_values_is_answered_unchanged(self, values: int) -> None:
        def judge(batch: Batch) -> Tensor:
            return diagonal(batch)[:, None] * torch.arange(1.0, values + 1)

        answer = Dynamics(1, 2).watched(0, judge, look_at([[0.1, 0.0], [0.0, 0.2]]))
        torch.testing.assert_close(answer, torch.tensor([[0.1], [0.2]]) * torch.arange(1.0, values + 1))

    def test_similarity_and_probability_are_kept(self) -> None:
        dynamics = Dynamics(1, 2)
        dynamics.watched(0, diagonal, look_at(lead(1)))
        torch.testing.assert_close(dynamics.last[0, 0], torch.tensor([0.5, 0.5]))
        torch.testing.assert_close(dynamics.last[0, 1], torch.full((2,), 1 / (1 + math.exp(-1))))

    def test_networks_are_kept_apart(self) -> None:
        dynamics = Dynamics(2, 2)
        dynamics.watched(1, diagonal, look_at(lead(1)))
        assert not dynamics.last[0].any()
        assert dynamics.last[1].all()

    def test_last_look_of_a_survey_counts(self) -> None:
        dynamics = Dynamics(1, 2)
        for steps in (3, 0):
            dynamics.watched(0, diagonal, look_at(lead(steps)))
        dynamics.end_survey()
        torch.testing.assert_close(dynamics.total[0, 1], torch.full((2,), 0.5))


class TestEndSurvey:
    def watched_leads(self, *leads: float) -> Dynamics:
        dynamics = Dynamics(1, 2)
        for steps in leads:
            dynamics.watched(0, diagonal, look_at(lead(steps)))
            dynamics.end_survey()
        return dynamics

    def test_first_last_and_total_by_hand(self) -> None:
        """Three surveys with leads of 0, 1 and 2 temperatures: probabilities .5, .7311 and .8808, together 2.1119."""
        dynamics = self.watched_leads(0, 1, 2)
        for name, expected in (("first", 0.5), ("last", 0.8808), ("total", 2.1119), ("mean", 2.1119 / 3)):
            torch.testing.assert_close(getattr(dynamics, name)[0, 1], torch.full((2,), expected), atol=1e-4, rtol=0)
        torch.testing.assert_close(dynamics.mean[0, 0], torch.full((2,), 0.5))

    def test_one_survey_is_first_last_and_mean(self) -> None:
        dynamics = self.watched_leads(1)
        for name in ("last", "mean"):
            torch.testing.assert_close(getattr(dynamics, name), dynamics.first)

    def test_no_survey_has_a_mean_of_zero(self) -> None:
        assert not Dynamics(2, 5).mean.any()


class TestState:
    def test_goes_on_where_it_was(self) -> None:
        straight, stopped, resumed = Dynamics(1, 2), Dynamics(1, 2), Dynamics(1, 2)
        for dynamics in (straight, stopped):
            dynamics.watched(0, diagonal, look_at(lead(2)))
            dynamics.end_survey()
        resumed.load_state({name: value.clone() for name, value in stopped.state().items()})
        for dynamics in (straight, resumed):
            dynamics.watched(0, diagonal, look_at(lead(1)))
            dynamics.end_survey()
        for name, value in straight.state().items():
            assert torch.equal(value, resumed.state()[name]), name


class TestEngineDynamics:
    config = config_of("crcl", {"piece_epochs": (2, 1), "freeze_epochs": 1}, score_draws=2)

    def test_every_survey_is_watched(self, pairs: Pairs) -> None:
        engine = Engine(pairs, self.config)
        engine.fit()
        dynamics = engine.dynamics()
        assert dynamics.surveys > 1
        assert dynamics.last.shape == (2, 2, 200)
        probability = dynamics.mean[:, 1]
        assert ((probability > 0) & (probability < 1)).all()
        torch.testing.assert_close(
            dynamics.last[:, 0].mean(dim=0).numpy(), engine.scores().similarity, atol=1e-5, rtol=0
        )

    def test_stopped_and_resumed_equals_unbroken(self, pairs: Pairs, tmp_path: Path) -> None:
        straight = Engine(pairs, self.config)
        straight.fit()
        epochs: set[int] = set()
        stopping = Engine(
            pairs,
            self.config,
            tmp_path,
            on_progress=lambda progress: epochs.add(progress.epoch),
            should_stop=lambda: len(epochs) >= 3,
        )
        with pytest.raises(Stopped):
            stopping.fit()
        resumed = Engine(pairs, self.config, tmp_path)
        resumed.fit()
        for name, value in straight.dynamics().state().items():
            assert torch.equal(value, resumed.dynamics().state()[name]), name

    def test_matching_pairs_are_learned_earlier(self) -> None:
        pairs, is_mismatch = make_pairs(1000, 0.4)
        engine = Engine(pairs, config_of("crcl", {"piece_epochs": (2, 2)}))
        engine.fit()
        probability = engine.dynamics().mean[:, 1].mean(dim=0).numpy()
        assert probability[~is_mismatch].mean() > 2 * probability[is_mismatch].mean()
