"""The two baselines: the plain triplet loss, and filtering once before it."""

from typing import Any

import pytest
import torch

from model.engine import Engine
from model.methods.filter_then_train import FilterThenTrain
from model.methods.triplet import Triplet
from model.metrics import auroc
from model.training import Batch, Step
from tests.model.cases import config_of
from tests.model.collections import make_pairs

THREE = torch.tensor([[0.9, 0.3, 0.8], [0.1, 0.5, 0.2], [0.4, 0.6, 0.7]])
BATCH = Batch(torch.arange(3), THREE, torch.eye(3, dtype=torch.bool), THREE)


class TestTriplet:
    def method(self, **options: Any) -> Triplet:
        return Triplet(config_of("triplet", method_options={"margin": 0.2, **options}), make_pairs(3, 0.0)[0])

    @pytest.mark.parametrize(("negatives", "expected"), [("hardest", 0.8), ("mean", 0.4), ("sum", 0.8 / 3)])
    def test_loss_by_hand(self, negatives: str, expected: float) -> None:
        """Costs above 0: rows .1, 0, .1; columns 0, .3, .3, one per query: pairs .1, .3, .4, and half as a mean.
        Summed over pairs; the sum over negatives is averaged over pairs.
        """
        method = self.method(negatives=negatives)
        (phase,) = method.phases()
        assert method.loss(Step(phase, 0, {"all": BATCH})).item() == pytest.approx(expected)

    def test_every_pair_is_learned_as_clean(self) -> None:
        method = self.method(epochs=5)
        (phase,) = method.phases()
        assert (phase.epochs, phase.is_surveyed) == (5, False)
        assert method.subsets(phase, 1)["all"].tolist() == [0, 1, 2]

    @pytest.mark.parametrize("negatives", ["sum", "mean", "hardest"])
    def test_learns_with_any_negatives(self, negatives: str) -> None:
        pairs, mismatched = make_pairs(600, 0.2)
        engine = Engine(pairs, config_of("triplet", networks=1, method_options={"negatives": negatives}))
        engine.fit()
        assert auroc(engine.scores().clean_confidence, mismatched) > 0.9


class TestFilterThenTrain:
    def method(self, count: int = 4, **options: Any) -> FilterThenTrain:
        config = config_of("filter-then-train", method_options={"margin": 0.2, **options})
        return FilterThenTrain(config, make_pairs(count, 0.0)[0])

    def divided(self, a: list[float], b: list[float], **options: Any) -> FilterThenTrain:
        """The filter has seen these losses of networks A and B."""
        method = self.method(len(a), **options)
        seen = [torch.tensor([[loss, 0.5, 0.0] for loss in losses]) for losses in (a, b)]
        method.survey(list(method.phases())[1], lambda network, judge: seen[network])
        return method

    def test_training_starts_afresh(self) -> None:
        phases = list(self.method(warmup_epochs=2, filter_epochs=3, epochs=5).phases())
        assert [(p.epochs, p.is_surveyed, p.fresh_networks) for p in phases] == [
            (2, False, False),
            (3, True, False),
            (5, False, True),
        ]

    def test_filter_learns_the_mean_hinge_and_the_training_its_own(self) -> None:
        method = self.method(negatives="hardest")
        found = [method.loss(Step(phase, 0, {"all": BATCH})).item() for phase in method.phases()]
        assert found == pytest.approx([0.4, 0.4, 0.8])

    def test_filters_of_both_networks_teach_each_other(self) -> None:
        method = self.divided([0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, 1.0])
        filtering = list(method.phases())[1]
        assert method.subsets(filtering, 0)["all"].tolist() == [0, 2]
        assert method.subsets(filtering, 1)["all"].tolist() == [0, 1]

    def test_dropped_pairs_are_never_learned_again(self) -> None:
        method = self.divided([0.0, 0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 1.0, 1.0, 0.1])
        training = list(method.phases())[2]
        before = [method.subsets(training, k)["all"].tolist() for k in (0, 1)]
        assert before == [[0, 1, 4], [0, 1, 4]]
        # The closing survey, by networks that find everything else.
        method.survey(training, lambda network, judge: torch.tensor([[1.0, 0.5, 0.0]] * 2 + [[0.0, 0.5, 0.0]] * 3))
        assert [method.subsets(training, k)["all"].tolist() for k in (0, 1)] == before

    def test_scores_are_the_verdict_of_the_filter(self) -> None:
        method = self.divided([0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0])
        training = list(method.phases())[2]
        closing = [[1.0, 0.2, -0.1], [1.0, 0.3, 0.0], [0.0, 0.8, 0.6], [0.0, 0.9, 0.7]]
        method.survey(training, lambda network, judge: torch.tensor(closing))
        scores = method.scores()
        assert scores.is_clean.tolist() == [True, True, False, False]
        assert scores.similarity.tolist() == pytest.approx([-0.1, 0.0, 0.6, 0.7])
        assert scores.rectified_correspondence.tolist() == pytest.approx([0.2, 0.3, 0.8, 0.9])

    def test_everything_kept_is_everything_learned(self) -> None:
        method = self.divided([0.3] * 4, [0.3] * 4)
        assert method.subsets(list(method.phases())[2], 0)["all"].tolist() == [0, 1, 2, 3]

    def test_nothing_kept_is_everything_learned(self) -> None:
        method = self.method()
        method.confidences[:] = 0.0
        for phase in list(method.phases())[1:]:
            assert method.subsets(phase, 0)["all"].tolist() == [0, 1, 2, 3]

    def test_trains_to_the_end_and_finds_mismatches(self) -> None:
        pairs, mismatched = make_pairs(1000, 0.4)
        engine = Engine(pairs, config_of("filter-then-train"))
        engine.fit()
        scores = engine.scores()
        assert auroc(scores.clean_confidence, mismatched) > 0.95
        # Stage 2 never saw what was dropped, and finds it less similar than what it learned.
        assert scores.similarity[scores.is_clean].mean() > scores.similarity[~scores.is_clean].mean() + 0.1
