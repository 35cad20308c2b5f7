"""The contract of every method, on synthetic collections; then what is particular to each."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from model.config import METHOD_CONFIGS, MIN_PAIRS, RunConfig, parse_run_config
from model.engine import Engine, Pairs, Scores, Step, Stopped
from model.losses import complementary, matching_log_probabilities
from model.methods import METHODS
from model.methods.crcl import CRCL
from model.metrics import auroc, detection
from model.training import divided_scores, grown
from tests.model import cases
from tests.model.cases import assert_valid, batch_of, fitted, pairs_of, survey
from tests.model.collections import make_pairs

FLICKR8K = Path(__file__).parents[3] / "shared" / "data" / "flickr8k"


def config_of(method: str, **options: Any) -> RunConfig:
    if METHOD_CONFIGS[method]().needs_labels:  # these collections have none
        options.setdefault("method_options", {"clusters": 16})
    return cases.config_of(method, **options)


@pytest.fixture(scope="module")
def noisy_collection() -> tuple[Pairs, np.ndarray]:
    return make_pairs(1000, 0.4)


@pytest.fixture(scope="module", params=METHODS)
def method(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def noisy_scores(method: str, noisy_collection: tuple[Pairs, np.ndarray]) -> Scores:
    return fitted(noisy_collection[0], config_of(method))


class TestContract:
    def test_registry_and_configuration_know_the_same_methods(self) -> None:
        assert set(METHODS) | {"auto"} == set(METHOD_CONFIGS)

    def test_scores_are_complete_and_in_range(self, noisy_scores: Scores) -> None:
        assert_valid(noisy_scores, 1000)

    def test_mismatches_get_low_confidence(
        self, noisy_scores: Scores, noisy_collection: tuple[Pairs, np.ndarray]
    ) -> None:
        mismatched = noisy_collection[1]
        assert auroc(noisy_scores.clean_confidence, mismatched) > 0.95
        assert auroc(noisy_scores.rectified_correspondence, mismatched) > 0.85

    def test_automatic_cut_finds_most_mismatches(
        self, noisy_scores: Scores, noisy_collection: tuple[Pairs, np.ndarray]
    ) -> None:
        assert detection(noisy_scores.is_clean, noisy_collection[1]).f1 > 0.8
        assert noisy_scores.noise_rate == pytest.approx(0.4, abs=0.15)

    def test_two_networks_disagree_a_little(self, noisy_scores: Scores) -> None:
        a, b = noisy_scores.confidence_a, noisy_scores.confidence_b
        assert not np.array_equal(a, b)
        assert np.corrcoef(a, b)[0, 1] > 0.5

    def test_resumed_equals_unbroken(
        self, method: str, noisy_scores: Scores, noisy_collection: tuple[Pairs, np.ndarray], tmp_path: Path
    ) -> None:
        epochs_seen: set[int] = set()
        engine = Engine(
            noisy_collection[0],
            config_of(method),
            tmp_path,
            on_progress=lambda progress: epochs_seen.add(progress.epoch),
            should_stop=lambda: len(epochs_seen) >= 5,
        )
        with pytest.raises(Stopped):
            engine.fit()
        resumed = fitted(noisy_collection[0], config_of(method), tmp_path)
        for name, value in vars(noisy_scores).items():
            np.testing.assert_array_equal(getattr(resumed, name), value, err_msg=name)

    @pytest.mark.parametrize("mismatched", [0.0, 1.0], ids=["all clean", "all mismatched"])
    def test_collection_of_one_kind_works(self, method: str, mismatched: float) -> None:
        pairs, _ = make_pairs(300, mismatched)
        assert_valid(fitted(pairs, config_of(method)), 300)

    def test_smallest_collection_works_with_a_larger_batch(self, method: str) -> None:
        pairs, _ = make_pairs(MIN_PAIRS, 0.3)
        assert_valid(fitted(pairs, config_of(method, batch_size=512)), MIN_PAIRS)

    def test_repeated_images_are_no_negatives_of_each_other(self, method: str) -> None:
        pairs, mismatched = make_pairs(1000, 0.3, repeats=5, dtype=np.float16)
        scores = fitted(pairs, config_of(method))
        assert auroc(scores.clean_confidence, mismatched) > 0.9

    def test_collection_of_one_pair_repeated_works(self, method: str) -> None:
        pairs, _ = make_pairs(MIN_PAIRS, 0.0)
        same = np.zeros(MIN_PAIRS, dtype=np.int64)
        assert_valid(fitted(Pairs(pairs.images[same], pairs.captions[same], same, same), config_of(method)), MIN_PAIRS)

    def test_one_network_works_alone(self, method: str, noisy_collection: tuple[Pairs, np.ndarray]) -> None:
        scores = fitted(noisy_collection[0], config_of(method, networks=1))
        assert np.array_equal(scores.confidence_a, scores.confidence_b)
        assert auroc(scores.clean_confidence, noisy_collection[1]) > 0.9


class TestCRCL:
    def test_labels_follow_equation_11_and_come_from_the_other_network(self) -> None:
        """First y = p; then .8 y + .2 p: .8 * .5 + .2 * 1 = .6 and .8 * .1 + .2 * .3 = .14."""
        method = CRCL(config_of("crcl"), pairs_of(2))
        survey(method, [[[0.5, 0.0], [0.1, 0.0]], [[0.9, 0.0], [0.2, 0.0]]])
        assert method.labels[1].tolist() == pytest.approx([0.5, 0.1])
        assert method.labels[0].tolist() == pytest.approx([0.9, 0.2])
        survey(method, [[[1.0, 0.0], [0.3, 0.0]], [[0.9, 0.0], [0.2, 0.0]]])
        assert method.labels[1].tolist() == pytest.approx([0.6, 0.14])

    def test_label_below_the_floor_teaches_nothing_directly_and_is_kept(self) -> None:
        method = CRCL(config_of("crcl", method_options={"complementary_weight": 0.0}), pairs_of(2))
        method.labels[0] = torch.tensor([0.09, 0.09])
        batch = batch_of(torch.tensor([[0.1, 0.4], [0.3, 0.2]]))
        assert method.loss(Step(next(iter(method.phases())), 0, {"all": batch})).item() == 0.0
        assert method.labels[0].tolist() == pytest.approx([0.09, 0.09])

    @pytest.mark.parametrize("q", [0.0, 1.0])
    def test_fixed_q_gives_the_rows_of_table_4(self, q: float) -> None:
        """Without the active part and with one q for all, the loss is lambda times Eq. 6 and labels do not matter."""
        options = {"active_weight": 0.0, "recast_q": False, "q": q, "complementary_weight": 2.0}
        method = CRCL(config_of("crcl", method_options=options), pairs_of(2))
        method.labels[0] = torch.tensor([0.3, 0.9])
        batch = batch_of(torch.tensor([[0.1, 0.4], [0.3, 0.2]]))
        expected = (
            2.0
            * complementary(
                matching_log_probabilities(batch.similarity, batch.forbidden, 0.05), torch.full((2,), q)
            ).mean()
        )
        found = method.loss(Step(next(iter(method.phases())), 0, {"all": batch}))
        assert found.item() == pytest.approx(expected.item())

    def test_every_piece_starts_afresh(self) -> None:
        phases = list(CRCL(config_of("crcl", method_options={"piece_epochs": [3, 4]}), pairs_of(2)).phases())
        assert [(phase.epochs, phase.fresh_networks) for phase in phases] == [
            (2, True),
            (3, False),
            (2, True),
            (4, False),
        ]

    def test_without_freezing_a_piece_is_one_phase(self) -> None:
        options = {"piece_epochs": [3], "freeze_epochs": 0}
        (phase,) = CRCL(config_of("crcl", method_options=options), pairs_of(2)).phases()
        assert phase.fresh_networks


class TestDividedScores:
    def test_equal_posteriors_are_ordered_by_loss_and_then_similarity(self) -> None:
        losses = torch.tensor([0.0, 0.0, 0.5, 0.5])
        scores = divided_scores([losses], torch.tensor([0.2, 0.9, 0.2, 0.1]), torch.ones(4))
        assert np.argsort(-scores.clean_confidence).tolist() == [1, 0, 2, 3]


@pytest.mark.skipif(not FLICKR8K.exists(), reason="needs the Flickr8k features in ../shared/data/flickr8k")
class TestFlickr8k:
    def test_crcl_finds_mismatched_photographs(self) -> None:
        """Caption 0 of the first 3,000 training photographs, 40 % of the images permuted."""
        count = 3000
        images = np.load(FLICKR8K / "image_pool1280_f16.npy", mmap_mode="r")[:count]
        captions = np.load(FLICKR8K / "caption_minilm384_f16.npy", mmap_mode="r")[: 5 * count : 5]
        chosen = np.random.default_rng(20).choice(count, round(0.4 * count), replace=False)
        given = np.arange(count)
        given[chosen] = np.roll(chosen, 1)
        scores = fitted(Pairs(images[given], captions, given, np.arange(count)), parse_run_config({"method": "crcl"}))
        assert auroc(scores.clean_confidence, given != np.arange(count)) > 0.93


class TestGrown:
    def test_small_collections_keep_their_epochs(self) -> None:
        assert [grown(5, 2.0, count) for count in (64, 6_000)] == [5, 5]

    def test_every_doubling_adds_epochs(self) -> None:
        """log2(30,000 / 6,000) = 2.32; times 2 is 4.6, times 3 is 7.0."""
        assert grown(5, 2.0, 12_000) == 7
        assert grown(5, 2.0, 30_000) == 10
        assert grown(4, 3.0, 30_000) == 11

    def test_no_growth_is_the_papers_form(self) -> None:
        assert grown(5, 0.0, 3_000_000) == 5
