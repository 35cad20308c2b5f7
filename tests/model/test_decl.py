"""DECL: its two phases, labels from the other network, the loss by hand, and what it says of each pair."""

import math
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from model.engine import Engine
from model.methods.decl import DECL
from model.metrics import auroc
from model.training import Batch, Scores, Step
from tests.model.cases import config_of, survey
from tests.model.collections import make_pairs

LOG2, LOG3, LOG6 = math.log(2), math.log(3), math.log(6)


def method_of(count: int, networks: int = 2, **options: Any) -> DECL:
    return DECL(config_of("decl", networks=networks, method_options=options), make_pairs(count, 0.0)[0])


class TestPhases:
    def test_warms_up_with_every_pair_aligned(self) -> None:
        method = method_of(2, warmup_epochs=3, epochs=7)
        warmup, training = method.phases()
        assert (warmup.epochs, warmup.is_surveyed, warmup.is_scheduled) == (3, False, False)
        assert (training.epochs, training.is_surveyed, training.fresh_networks) == (7, True, False)
        assert method.labels.tolist() == [[1, 1], [1, 1]]


class TestSurvey:
    a = ((1.0, 0.8, 0.3, 0.5), (0.0, 0.1, 0.9, 0.0))
    b = ((0.0, 0.6, 0.5, 0.3), (1.0, 0.3, 0.7, 0.2))

    def test_labels_come_from_the_other_network(self) -> None:
        method = method_of(2)
        survey(method, [self.a, self.b])
        assert method.labels.tolist() == [[0, 1], [1, 0]]

    def test_one_network_labels_for_itself(self) -> None:
        method = method_of(2, networks=1)
        survey(method, [self.a])
        assert method.labels.tolist() == [[1, 0]]

    def test_share_moves_by_momentum_after_the_first_survey(self) -> None:
        """First .8 and .1; then .75 * .8 + .25 * .4 = .7 and .75 * .1 + .25 * .5 = .2."""
        method = method_of(2, networks=1, momentum=0.75)
        survey(method, [self.a])
        survey(method, [[[1.0, 0.4, 0.3, 0.5], [1.0, 0.5, 0.9, 0.0]]])
        assert method.shares[0].tolist() == pytest.approx([0.7, 0.2])
        assert method.labels[0].tolist() == [1, 1]


class TestLoss:
    """Evidence [[3, 1], [1, 1]] at temperature 1 (see test_losses_decl.py). Twice L_m is 4/7 and 6/5, L_kl of an
    aligned pair log 2 - 1/2 both ways; the hinge with margin .2 is 0 and .2 + .2.
    """

    options: ClassVar[dict[str, Any]] = {
        "temperature": 1.0,
        "hinge_weight": 0.8,
        "divergence_weight": 0.1,
        "margin": 0.2,
    }

    def loss(self, method: DECL, number: int = 0) -> float:
        signed = torch.tensor([[LOG3, 0.0], [0.0, 0.0]])
        batch = Batch(torch.arange(2), signed.sigmoid(), torch.eye(2, dtype=torch.bool), signed)
        return method.loss(Step(next(iter(method.phases())), 0, {"all": batch}, number)).item()

    def test_aligned_pairs_by_hand(self) -> None:
        evident = (4 / 7 + 6 / 5 + 0.1 * 4 * (LOG2 - 0.5)) / 2
        assert self.loss(method_of(2, **self.options)) == pytest.approx(evident + 0.8 * 0.4)

    def test_noisy_pair_has_no_target_and_no_hinge(self) -> None:
        method = method_of(2, **self.options)
        method.labels[0, 1] = 0.0
        evident = (4 / 7 + 6 / 5 + 0.1 * 2 * (LOG2 - 0.5) + 0.1 * 2 * (LOG6 - 5 / 3)) / 2
        assert self.loss(method) == pytest.approx(evident)

    def test_other_network_has_its_own_labels(self) -> None:
        method = method_of(2, **self.options)
        method.labels[1] = 0.0
        assert self.loss(method) == pytest.approx(self.loss(method_of(2, **self.options)))

    def test_hinge_narrows_to_the_hardest_negatives_as_steps_go_by(self) -> None:
        """Three equal pairs, image 0 close to caption 1: at first a mean of .2 and .5, later the .5 alone."""
        signed = torch.tensor([[0.0, 0.3, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
        batch = Batch(torch.arange(3), signed, torch.eye(3, dtype=torch.bool), signed)
        method = method_of(3, **self.options, annealing=0.01, least_negatives=1)
        phase = next(iter(method.phases()))
        early, late = (method.loss(Step(phase, 0, {"all": batch}, number)).item() for number in (0, 200))
        # Pairs 0 and 1 gain .5 - .35 each; the evidence is the same.
        assert late - early == pytest.approx(0.8 * 0.3)


@pytest.fixture(scope="module")
def found() -> tuple[Scores, np.ndarray]:
    pairs, mismatched = make_pairs(1000, 0.4)
    engine = Engine(pairs, config_of("decl", networks=1))
    engine.fit()
    return engine.scores(), mismatched


class TestScores:
    def test_uncertainty_is_kept_per_pair(self, found: tuple[Scores, np.ndarray]) -> None:
        uncertainty = found[0].uncertainty
        assert uncertainty is not None
        assert uncertainty.shape == (1000,)
        assert uncertainty.dtype == np.float32
        assert uncertainty.min() > 0
        assert uncertainty.max() <= 1

    def test_mismatches_are_less_certain(self, found: tuple[Scores, np.ndarray]) -> None:
        scores, mismatched = found
        assert scores.uncertainty is not None
        assert auroc(-scores.uncertainty, mismatched) > 0.6

    def test_one_network_as_in_the_paper_finds_mismatches(self, found: tuple[Scores, np.ndarray]) -> None:
        scores, mismatched = found
        assert auroc(scores.clean_confidence, mismatched) > 0.95
