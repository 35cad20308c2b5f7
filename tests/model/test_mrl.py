"""MRL: wrong labels are found; without labels, mismatched pairs by clusters of the captions."""

from pathlib import Path

import numpy as np
import pytest
import torch

from model.backbones.registry import BACKBONES
from model.config import BACKBONE_CONFIGS, ConfigError, parse_run_config
from model.engine import Engine, Scores, Stopped, TrainingError
from model.methods.mrl import MRL
from model.metrics import auroc, detection
from model.pairs import Pairs
from model.training import Batch, Step
from tests.model.cases import config_of, fitted
from tests.model.collections import make_pairs

COUNT, CATEGORIES = 800, 8


@pytest.fixture(scope="module")
def labelled() -> tuple[Pairs, np.ndarray]:
    """Pairs around eight centres, 40 % of the labels wrong; and the true categories."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, CATEGORIES, COUNT)
    hidden = rng.normal(size=(CATEGORIES, 12))[truth] + 0.8 * rng.normal(size=(COUNT, 12))
    seen = hidden @ rng.normal(size=(12, 40)) + 0.3 * rng.normal(size=(COUNT, 40))
    written = hidden @ rng.normal(size=(12, 24)) + 0.3 * rng.normal(size=(COUNT, 24))
    given = truth.copy()
    wrong = rng.choice(COUNT, round(0.4 * COUNT), replace=False)
    given[wrong] = (truth[wrong] + rng.integers(1, CATEGORIES, len(wrong))) % CATEGORIES
    ids = np.arange(COUNT)
    return Pairs(seen.astype(np.float32), written.astype(np.float32), ids, ids, labels=given), truth


@pytest.fixture(scope="module")
def scores(labelled: tuple[Pairs, np.ndarray]) -> Scores:
    return fitted(labelled[0], config_of("mrl"))


class TestLabels:
    def test_wrong_labels_get_low_confidence(self, scores: Scores, labelled: tuple[Pairs, np.ndarray]) -> None:
        pairs, truth = labelled
        assert scores.label_confidence is not None
        assert auroc(scores.label_confidence, pairs.labels != truth) > 0.95
        assert np.array_equal(scores.clean_confidence, scores.label_confidence)
        assert detection(scores.is_clean, pairs.labels != truth).f1 > 0.85
        assert scores.noise_rate == pytest.approx(0.4, abs=0.1)

    def test_predicted_labels_are_better_than_the_given_ones(
        self, scores: Scores, labelled: tuple[Pairs, np.ndarray]
    ) -> None:
        assert scores.predicted_label is not None
        assert scores.predicted_label.dtype == np.int64
        assert (scores.predicted_label == labelled[1]).mean() > 0.8

    def test_prediction_does_not_depend_on_the_blocks(
        self, scores: Scores, labelled: tuple[Pairs, np.ndarray], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("model.methods.mrl._BLOCK_VALUES", 3 * COUNT)
        np.testing.assert_array_equal(fitted(labelled[0], config_of("mrl")).predicted_label, scores.predicted_label)

    def test_resumed_equals_unbroken(self, scores: Scores, labelled: tuple[Pairs, np.ndarray], tmp_path: Path) -> None:
        epochs: set[int] = set()
        engine = Engine(
            labelled[0],
            config_of("mrl"),
            tmp_path,
            on_progress=lambda progress: epochs.add(progress.epoch),
            should_stop=lambda: len(epochs) >= 4,
        )
        with pytest.raises(Stopped):
            engine.fit()
        resumed = fitted(labelled[0], config_of("mrl"), tmp_path)
        for name, value in vars(scores).items():
            np.testing.assert_array_equal(getattr(resumed, name), value, err_msg=name)

    def test_right_labels_are_left_alone(self, labelled: tuple[Pairs, np.ndarray]) -> None:
        pairs, truth = labelled
        right = Pairs(pairs.images, pairs.captions, pairs.image_ids, pairs.caption_ids, labels=truth)
        assert fitted(right, config_of("mrl", networks=1)).is_clean.mean() > 0.95

    def test_a_category_for_every_pair_trains(self, labelled: tuple[Pairs, np.ndarray]) -> None:
        rows = np.arange(64)
        pairs = labelled[0]
        alone = Pairs(pairs.images[rows], pairs.captions[rows], rows, rows, labels=rows)
        scores = fitted(alone, config_of("mrl", method_options={"epochs": 1}))
        assert np.isfinite(scores.clean_confidence).all()

    def test_collection_without_labels_is_refused(self) -> None:
        with pytest.raises(TrainingError, match="no label column"):
            fitted(make_pairs(64, 0.0)[0], config_of("mrl"))


class TestClusters:
    def test_mismatched_pairs_get_low_confidence(self) -> None:
        pairs, mismatched = make_pairs(800, 0.4)
        scores = fitted(pairs, config_of("mrl", method_options={"clusters": 16}))
        assert auroc(scores.clean_confidence, mismatched) > 0.95
        assert auroc(scores.rectified_correspondence, mismatched) > 0.95
        assert scores.label_confidence is None  # nobody gave a label that could be wrong
        assert scores.predicted_label is None


class TestLoss:
    def test_weighs_both_losses(self) -> None:
        """Two orthogonal pairs on their own centres: L_r = 2 log(1/3), L_c = 2 log 2 at temperature 1 / log 2."""
        t = 1 / np.log(2)
        options = {"clustering_weight": 0.25, "clustering_temperature": t, "contrastive_temperature": t}
        pairs = make_pairs(2, 0.0)[0]
        config = parse_run_config({"method": "mrl", "method_options": options, "backbone_options": {"output_size": 2}})
        method = MRL(config, Pairs(pairs.images, pairs.captions, np.arange(2), np.arange(2), labels=np.arange(2)))
        method.centres(0).data.copy_(3 * torch.eye(2))
        axes = torch.eye(2)
        batch = Batch(torch.arange(2), axes, torch.eye(2, dtype=torch.bool), signed=axes, vectors=(axes, axes))
        found = method.loss(Step(next(iter(method.phases())), 0, {"all": batch}))
        assert found.item() == pytest.approx(0.25 * 2 * np.log(1 / 3) + 0.75 * 2 * np.log(2), rel=1e-5)
        assert torch.equal(method.centres(0).data, axes)  # of unit length again

    def test_centres_have_unit_length_after_training(self, labelled: tuple[Pairs, np.ndarray]) -> None:
        engine = Engine(labelled[0], config_of("mrl", method_options={"epochs": 2}))
        engine.fit()
        method = engine._method
        assert isinstance(method, MRL)
        for k in range(2):
            assert method.centres(k).shape == (32, CATEGORIES)
            assert method.centres(k).norm(dim=0).tolist() == pytest.approx([1.0] * CATEGORIES)
        assert not torch.equal(method.centres(0), method.centres(1))


class TestVectorSize:
    @pytest.mark.parametrize("name", [name for name, kind in BACKBONE_CONFIGS.items() if kind.gives_vectors])
    def test_is_that_of_the_backbones_vectors(self, name: str) -> None:
        options = BACKBONE_CONFIGS[name]()
        network = BACKBONES[name](options, 6, 6).eval()
        images = (torch.randn(2, 3, 6),) if options.reads_regions else (torch.randn(2, 6),)
        assert network.encode_images(images)[0].shape == (2, options.vector_size)


class TestBackbones:
    def test_backbone_without_vectors_is_refused(self) -> None:
        without = [name for name, kind in BACKBONE_CONFIGS.items() if not kind.gives_vectors]
        if not without:
            pytest.skip("every backbone gives vectors")
        with pytest.raises(ConfigError, match="compares vectors"):
            parse_run_config({"method": "mrl", "backbone": without[0]})
