"""LNC: the warm-up that resists noise, and the switches behind every row of Table 8."""

from pathlib import Path

import numpy as np
import pytest
import torch

from model.engine import Engine, Pairs, Scores, Step, Stopped
from model.methods.lnc import LNC
from model.methods.ncr import NCR
from model.metrics import auroc
from model.training import Phase
from tests.model.cases import batch_of, config_of, fitted, pairs_of, survey
from tests.model.collections import make_pairs


def method_of(count: int, **options: object) -> LNC:
    return LNC(config_of("lnc", {"warmup_epochs": 3, **options}), pairs_of(count))


def warmup_of(method: LNC) -> Phase:
    return list(method.phases())[1]


class TestPhases:
    def test_warmup_is_judged_from_its_second_epoch_on(self) -> None:
        first, rest, *training = method_of(2).phases()
        assert [(phase.epochs, phase.is_surveyed, phase.is_scheduled) for phase in (first, rest)] == [
            (1, False, False),
            (2, True, False),
        ]
        assert training == list(NCR(config_of("ncr", {"epochs": training[0].epochs}), pairs_of(2)).phases())[1:]

    def test_vanilla_warmup_is_not_judged(self) -> None:
        assert not warmup_of(method_of(2, is_regularised=False, abandons_noise=False)).is_surveyed

    def test_no_warmup_has_no_epoch_of_it(self) -> None:
        assert [phase.epochs for phase in method_of(2, warmup_epochs=0).phases()][:2] == [0, 0]


class TestTargets:
    def test_follow_equation_5_from_one_on_and_from_the_own_network(self) -> None:
        """beta = .8. A, pair 0: .8 * 1 + .2 * .5 = .9, then .8 * .9 + .2 * 0 = .72. B, pair 0: .8 + .2 = 1."""
        method = method_of(2, momentum=0.8)
        b = [[0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]
        survey(method, [[[0.0, 0.5, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]], b])
        assert method.targets.tolist() == [pytest.approx([0.9, 1.0]), pytest.approx([1.0, 0.8])]
        survey(method, [[[0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]], b])
        assert method.targets.tolist() == [pytest.approx([0.72, 1.0]), pytest.approx([1.0, 0.64])]


class TestLoss:
    """S = [[.5, .3], [.2, .4]] at the margin .25: hinges .05, .05, .15 as in test_ncr.py. Leads over the mean
    negatives .5 - .25 = .25 and .4 - .25 = .15; tau = .25; P = 1, .6.
    """

    batch = batch_of(torch.tensor([[0.5, 0.3], [0.2, 0.4]]))

    def loss(self, **options: object) -> float:
        method = method_of(2, margin=0.25, regularisation=0.5, warmup_negatives="mean", **options)
        method.targets[0] = torch.tensor([0.8, 1.0])
        return method.loss(Step(warmup_of(method), 0, {"all": self.batch})).item()

    def test_warmup_follows_equation_6(self) -> None:
        """.25 + .5 * ((1 - .8)^2 + (.6 - 1)^2) = .25 + .5 * .2 = .35."""
        assert self.loss() == pytest.approx(0.35)

    def test_vanilla_warmup_is_the_hinge_alone(self) -> None:
        assert self.loss(is_regularised=False) == pytest.approx(0.25)

    def test_co_training_is_not_regularised(self) -> None:
        method = method_of(2, margin=0.25, regularisation=0.5)
        method.targets[0] = torch.tensor([0.0, 0.0])
        assert method.loss(Step(list(method.phases())[-1], 0, {"clean": self.batch})).item() == pytest.approx(0.25)


class TestSubsets:
    """Pairs 0-7 of ten are noisy for both networks, 8 only for A, 9 for none."""

    def judged(self, **options: object) -> LNC:
        method = method_of(10, **options)
        a = [[1.0, 0.0, 0.0, 0.0]] * 9 + [[0.0, 1.0, 0.0, 0.0]]
        b = [[1.0, 0.0, 0.0, 0.0]] * 8 + [[0.0, 1.0, 0.0, 0.0]] * 2
        survey(method, [a, b], warmup_of(method))
        return method

    def rows(self, method: LNC, network: int = 0) -> list[int]:
        kept: list[int] = method.subsets(warmup_of(method), network)["all"].tolist()
        return kept

    def test_half_of_what_both_call_noisy_is_left_out(self) -> None:
        kept = self.rows(self.judged())
        assert len(kept) == 6
        assert {8, 9} < set(kept)

    def test_both_networks_learn_from_the_same_pairs(self) -> None:
        method = self.judged()
        assert self.rows(method, 0) == self.rows(method, 1)

    def test_another_half_every_epoch(self) -> None:
        method = self.judged()
        drawn = set()
        for _ in range(8):
            drawn.add(tuple(self.rows(method)))
            method.surveys += 1
        assert len(drawn) > 1

    def test_seed_decides_the_half(self) -> None:
        drawn = {tuple(self.rows(LNCWithSeed(seed).like(self.judged()))) for seed in range(8)}
        assert len(drawn) > 1

    def test_restored_method_draws_the_same_half(self) -> None:
        method = self.judged()
        restored = method_of(10)
        restored.load_state(method.state())
        assert self.rows(restored) == self.rows(method)

    def test_everything_is_kept_when_switched_off(self) -> None:
        assert self.rows(self.judged(abandons_noise=False)) == list(range(10))

    def test_everything_is_kept_before_the_first_judgement(self) -> None:
        assert self.rows(method_of(10)) == list(range(10))

    def test_everything_is_kept_when_nothing_is_noisy(self) -> None:
        method = self.judged()
        method.confidences[:] = 1.0
        assert self.rows(method) == list(range(10))

    def test_half_is_kept_when_everything_is_noisy(self) -> None:
        method = self.judged()
        method.confidences[:] = 0.0
        assert len(self.rows(method)) == 5

    def test_co_training_divides_as_ncr_does(self) -> None:
        method = self.judged()
        training = list(method.phases())[2]
        assert method.subsets(training, 0)["clean"].tolist() == [8, 9]
        assert method.subsets(training, 1)["clean"].tolist() == [9]


class LNCWithSeed:
    """The same state under another seed."""

    def __init__(self, seed: int) -> None:
        self.method = LNC(config_of("lnc", {"warmup_epochs": 3}, seed=seed), pairs_of(10))

    def like(self, other: LNC) -> LNC:
        self.method.load_state(other.state())
        return self.method


# Table 8, from its first row to its last.
ROWS: dict[str, dict[str, object]] = {
    "no warm-up": {"warmup_epochs": 0},
    "no co-divide": {"is_divided": False, "is_regularised": False, "abandons_noise": False},
    "no co-rectify": {"is_rectified": False, "is_regularised": False, "abandons_noise": False},
    "vanilla warm-up": {"is_regularised": False, "abandons_noise": False},
    "MR only": {"abandons_noise": False},
    "RNA only": {"is_regularised": False},
}


SHORT: dict[str, object] = {"warmup_epochs": 2, "epochs": 1}


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    return make_pairs(200, 0.4)[0]


@pytest.fixture(scope="module")
def whole(pairs: Pairs) -> Scores:
    return fitted(pairs, config_of("lnc", SHORT))


class TestTable8:
    @pytest.mark.parametrize("row", ROWS)
    def test_every_row_trains_and_differs_from_the_whole(self, row: str, pairs: Pairs, whole: Scores) -> None:
        scores = fitted(pairs, config_of("lnc", {**SHORT, **ROWS[row]}))
        assert np.isfinite(scores.clean_confidence).all()
        assert not np.array_equal(scores.clean_confidence, whole.clean_confidence)

    def test_vanilla_warmup_is_ncr(self, pairs: Pairs) -> None:
        ours = fitted(pairs, config_of("lnc", {**SHORT, **ROWS["vanilla warm-up"]}))
        theirs = fitted(pairs, config_of("ncr", SHORT))
        np.testing.assert_array_equal(ours.clean_confidence, theirs.clean_confidence)


class TestResume:
    def test_stopped_in_the_warmup_it_ends_the_same(self, tmp_path: Path) -> None:
        pairs, mismatched = make_pairs(400, 0.4)
        config = config_of("lnc", {"warmup_epochs": 4, "epochs": 2, "learning_rate": 2e-3})
        unbroken = fitted(pairs, config)
        assert auroc(unbroken.clean_confidence, mismatched) > 0.9
        seen: set[int] = set()
        engine = Engine(
            pairs,
            config,
            tmp_path,
            on_progress=lambda progress: seen.add(progress.epoch),
            should_stop=lambda: len(seen) >= 3,
        )
        with pytest.raises(Stopped):
            engine.fit()
        again = Engine(pairs, config, tmp_path)
        again.fit()
        np.testing.assert_array_equal(again.scores().clean_confidence, unbroken.clean_confidence)
