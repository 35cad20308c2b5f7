"""NCR: division by the other network, Eq. 8, and what its options change."""

import numpy as np
import pytest
import torch

from model.engine import Pairs, Scores, Step
from model.methods.ncr import NCR
from tests.model.cases import batch_of, config_of, fitted, pairs_of, survey
from tests.model.collections import make_pairs


class TestNCR:
    def judged(self, **options: object) -> NCR:
        """Network A finds pairs 0 and 1 clean, B pairs 0 and 2. Columns: loss, prediction, similarity,
        loss for the scores."""
        method = NCR(config_of("ncr", options), pairs_of(4))
        a = [[0.0, 0.9, 0.0, 0.0], [0.0, 0.8, 0.0, 0.0], [1.0, 0.2, 0.0, 1.0], [1.0, 0.1, 0.0, 1.0]]
        b = [[0.0, 0.7, 0.0, 0.0], [1.0, 0.4, 0.0, 1.0], [0.0, 0.6, 0.0, 0.0], [1.0, 0.3, 0.0, 1.0]]
        survey(method, [a, b])
        return method

    def test_each_network_is_divided_by_the_other(self) -> None:
        method = self.judged()
        training = list(method.phases())[1]
        assert method.subsets(training, 0)["clean"].tolist() == [0, 2]
        assert method.subsets(training, 1)["clean"].tolist() == [0, 1]

    def test_labels_follow_equation_8(self) -> None:
        """Clean: w + (1 - w) P with w all but 1; noisy: the mean of both networks' P."""
        labels = self.judged().labels
        assert labels[0].tolist() == pytest.approx([1.0, 0.6, 1.0, 0.2], abs=1e-3)
        assert labels[1].tolist() == pytest.approx([1.0, 1.0, 0.4, 0.2], abs=1e-3)

    def test_clean_label_mixes_confidence_and_own_prediction(self) -> None:
        """Pair 0 with w = .6 and P^A = .9: .6 + .4 * .9 = .96."""
        method = self.judged()
        method.confidences[0, 0] = 0.6
        assert method.rectified()[0, 0].item() == pytest.approx(0.96)

    def test_without_division_all_pairs_learn_with_the_agreed_prediction(self) -> None:
        method = self.judged(is_divided=False)
        training = list(method.phases())[1]
        assert method.subsets(training, 0)["all"].tolist() == [0, 1, 2, 3]
        for k in range(2):
            assert method.labels[k].tolist() == pytest.approx([0.8, 0.6, 0.4, 0.2])

    def test_without_rectification_the_division_is_the_label(self) -> None:
        assert self.judged(is_rectified=False).labels.tolist() == [[1, 0, 1, 0], [1, 1, 0, 0]]

    def test_without_both_every_label_is_the_given_one(self) -> None:
        assert self.judged(is_divided=False, is_rectified=False).labels.tolist() == [[1, 1, 1, 1]] * 2

    def test_noisy_subset_joins_in_the_last_epochs(self) -> None:
        method = self.judged(epochs=5, noisy_epochs=2)
        warmup, clean, both = method.phases()
        assert (clean.epochs, both.epochs) == (3, 2)
        assert list(method.subsets(warmup, 0)) == ["all"]
        assert list(method.subsets(clean, 0)) == ["clean"]
        assert method.subsets(both, 0)["noisy"].tolist() == [1, 3]

    def test_without_a_clean_pair_the_noisy_ones_go_on(self) -> None:
        method = self.judged()
        method.confidences[:] = 0.0
        subsets = method.subsets(list(method.phases())[1], 0)
        assert len(subsets["clean"]) == 0
        assert len(subsets["noisy"]) == 4

    def test_warmup_keeps_the_full_learning_rate(self) -> None:
        assert [phase.is_scheduled for phase in self.judged().phases()] == [False, True, True]


class TestLoss:
    """S = [[.5, .3], [.2, .4]] at the margin .25. Image queries: .25 + .3 - .5 = .05 and .25 + .2 - .4 = .05;
    caption queries: .25 + .2 - .5 < 0 and .25 + .3 - .4 = .15. Together .25.
    """

    batch = batch_of(torch.tensor([[0.5, 0.3], [0.2, 0.4]]))

    def method(self, **options: object) -> NCR:
        return NCR(config_of("ncr", {"margin": 0.25, **options}), pairs_of(2))

    def test_warmup_is_the_plain_hinge(self) -> None:
        method = self.method()
        assert method.loss(Step(next(iter(method.phases())), 0, {"all": self.batch})).item() == pytest.approx(0.25)

    def test_soft_margin_shrinks_the_hinge_of_a_doubtful_pair(self) -> None:
        """Label 0 for pair 1: its hinges are .2 - .4 < 0 and .3 - .4 < 0; pair 0 keeps .05."""
        method = self.method()
        method.labels[0] = torch.tensor([1.0, 0.0])
        step = Step(list(method.phases())[1], 0, {"clean": self.batch})
        assert method.loss(step).item() == pytest.approx(0.05)

    def test_sigmoid_is_centred_on_the_mean_label(self) -> None:
        """Labels 1, .2: div = .6, slope 20; the margins are .25/(1 + e^-8) = .2499 and .25/(1 + e^8) = .0001."""
        method = self.method(soft_margin="sigmoid")
        method.labels[0] = torch.tensor([1.0, 0.2])
        step = Step(list(method.phases())[1], 0, {"clean": self.batch})
        assert method.loss(step).item() == pytest.approx(0.05 - 0.25 / (1 + np.e**8), abs=1e-6)

    def test_both_subsets_are_added(self) -> None:
        method = self.method()
        step = Step(list(method.phases())[2], 0, {"clean": self.batch, "noisy": self.batch})
        assert method.loss(step).item() == pytest.approx(0.5)


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    return make_pairs(150, 0.4)[0]


@pytest.fixture(scope="module")
def usual(pairs: Pairs) -> Scores:
    return fitted(pairs, config_of("ncr"))


class TestSettings:
    @pytest.mark.parametrize(
        "options",
        [
            {"noisy_epochs": 4},
            {"negatives": "mean"},
            {"negatives": "hardest"},
            {"soft_margin": "sin"},
            {"soft_margin": "sigmoid"},
            {"warmup_negatives": "sum"},
        ],
        ids=str,
    )
    def test_other_settings_train_too(self, options: dict[str, object], pairs: Pairs, usual: Scores) -> None:
        scores = fitted(pairs, config_of("ncr", options))
        assert np.isfinite(scores.clean_confidence).all()
        assert not np.array_equal(scores.clean_confidence, usual.clean_confidence)
