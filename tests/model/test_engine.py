"""The training loop: resuming, stopping, seeds, progress, and what it refuses."""

import contextlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

import model.inputs
from model.checkpoint import CheckpointMismatch
from model.config import MIN_PAIRS, CRCLConfig, HeadConfig, RunConfig
from model.engine import Engine, Pairs, Progress, Scores, Step, Stopped, TrainingError
from model.methods import METHODS
from model.methods.crcl import CRCL
from model.options.backbones import VSEInfinityConfig
from model.options.ncr import NCRConfig
from model.words import Vocabulary
from tests.model.collections import make_pairs, make_scenes

CONFIG = RunConfig(
    method="crcl",
    batch_size=16,
    score_draws=2,
    method_options=CRCLConfig(piece_epochs=(2, 1), freeze_epochs=1),
    backbone_options=HeadConfig(hidden_size=16, output_size=8),
)
EPOCHS = 5  # (1 + 2) + (1 + 1)


class Clock:
    """A should_stop that says yes at the n-th question."""

    def __init__(self, stop_at: int) -> None:
        self.asked = 0
        self.stop_at = stop_at

    def __call__(self) -> bool:
        self.asked += 1
        return self.asked == self.stop_at


def assert_same(first: Scores, second: Scores) -> None:
    for name, value in vars(first).items():
        np.testing.assert_array_equal(value, getattr(second, name), err_msg=name)


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    # 300 pairs in batches of 16: 18 steps an epoch, so that should_stop is asked inside it too.
    return make_pairs(300, 0.3)[0]


@pytest.fixture(scope="module")
def unbroken(pairs: Pairs) -> Scores:
    engine = Engine(pairs, CONFIG)
    engine.fit()
    return engine.scores()


class TestFit:
    def test_same_seed_gives_the_same_scores(self, pairs: Pairs, unbroken: Scores) -> None:
        engine = Engine(pairs, CONFIG)
        engine.fit()
        assert_same(engine.scores(), unbroken)

    def test_other_seed_gives_other_scores(self, pairs: Pairs, unbroken: Scores) -> None:
        engine = Engine(pairs, replace(CONFIG, seed=1))
        engine.fit()
        assert not np.array_equal(engine.scores().similarity, unbroken.similarity)

    def test_leaves_the_callers_random_state_alone(self, pairs: Pairs) -> None:
        torch.manual_seed(5)
        np.random.seed(5)
        before, numpy_before = torch.get_rng_state(), np.random.get_state()[1].copy()
        Engine(pairs, CONFIG).fit()
        assert torch.equal(torch.get_rng_state(), before)
        assert np.array_equal(np.random.get_state()[1], numpy_before)

    # Question 1 is asked before anything was learned, 3 inside the first epoch, 5 opens the second; the later ones
    # fall into surveys and epochs of both pieces, the last into the closing survey.
    @pytest.mark.parametrize("question", [1, 3, 5, 6, 15, 22, 30, 38])
    def test_stopped_and_resumed_equals_unbroken(
        self, pairs: Pairs, unbroken: Scores, tmp_path: Path, question: int
    ) -> None:
        with pytest.raises(Stopped):
            Engine(pairs, CONFIG, tmp_path, should_stop=Clock(question)).fit()
        resumed = Engine(pairs, CONFIG, tmp_path)
        resumed.fit()
        assert_same(resumed.scores(), unbroken)

    def test_stopped_many_times_equals_unbroken(self, pairs: Pairs, unbroken: Scores, tmp_path: Path) -> None:
        # An epoch asks up to nine times and the closing survey nine more: every attempt gets on.
        attempts = 0
        while attempts <= EPOCHS:
            attempts += 1
            engine = Engine(pairs, CONFIG, tmp_path, should_stop=Clock(20))
            with contextlib.suppress(Stopped):
                engine.fit()
                break
        assert attempts >= 3
        assert_same(engine.scores(), unbroken)

    def test_same_engine_goes_on_after_a_stop_without_a_folder(self, pairs: Pairs, unbroken: Scores) -> None:
        engine = Engine(pairs, CONFIG, should_stop=Clock(5))
        with pytest.raises(Stopped):
            engine.fit()
        engine.fit()
        assert_same(engine.scores(), unbroken)

    def test_finished_folder_trains_no_more(self, pairs: Pairs, unbroken: Scores, tmp_path: Path) -> None:
        Engine(pairs, CONFIG, tmp_path).fit()
        reports: list[Progress] = []
        later = Engine(pairs, CONFIG, tmp_path, on_progress=reports.append)
        later.fit()
        assert reports == []
        assert_same(later.scores(), unbroken)

    def test_damaged_newest_checkpoint_costs_one_epoch_only(
        self, pairs: Pairs, unbroken: Scores, tmp_path: Path
    ) -> None:
        Engine(pairs, CONFIG, tmp_path).fit()
        newest = max(tmp_path.iterdir())
        newest.write_bytes(newest.read_bytes()[:-50])
        reports: list[Progress] = []
        engine = Engine(pairs, CONFIG, tmp_path, on_progress=reports.append)
        engine.fit()
        assert {report.epoch for report in reports} == {EPOCHS}
        assert_same(engine.scores(), unbroken)

    def test_folder_of_another_run_is_refused(self, pairs: Pairs, tmp_path: Path) -> None:
        Engine(pairs, CONFIG, tmp_path).fit()
        with pytest.raises(CheckpointMismatch, match="another configuration"):
            Engine(pairs, replace(CONFIG, seed=1), tmp_path).fit()

    def test_keeps_two_checkpoints(self, pairs: Pairs, tmp_path: Path) -> None:
        Engine(pairs, CONFIG, tmp_path).fit()
        assert len(list(tmp_path.iterdir())) == 2

    def test_progress_rises_to_one(self, pairs: Pairs) -> None:
        reports: list[Progress] = []
        Engine(pairs, CONFIG, on_progress=reports.append).fit()
        fractions = [report.fraction for report in reports]
        assert fractions == sorted(fractions)
        assert (fractions[0], fractions[-1]) == (0.0, 1.0)
        assert {report.epochs for report in reports} == {EPOCHS}
        assert list(dict.fromkeys(report.phase for report in reports)) == [
            "piece 1, labels frozen",
            "piece 1",
            "piece 2, labels frozen",
            "piece 2",
        ]

    def test_features_too_large_for_memory_give_the_same_scores(
        self, pairs: Pairs, unbroken: Scores, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(model.inputs, "RESIDENT_BYTES", 0)
        engine = Engine(pairs, CONFIG)
        engine.fit()
        np.testing.assert_allclose(engine.scores().similarity, unbroken.similarity, atol=1e-3)

    def test_not_finite_features_end_with_a_reason(self, pairs: Pairs) -> None:
        images = pairs.images.copy()
        images[7, 3] = np.nan
        with pytest.raises(TrainingError, match="pair 7"):
            Engine(replace(pairs, images=images), CONFIG).fit()

    def test_nothing_but_reviewed_mismatches_ends_with_a_reason(self, pairs: Pairs) -> None:
        said = np.full(len(pairs), -1, np.int8)
        with pytest.raises(TrainingError, match=r"mismatch by a reviewer.*delete reviews"):
            Engine(replace(pairs, anchors=said), CONFIG).fit()

    def test_loss_that_is_not_a_number_ends_with_a_reason(self, pairs: Pairs, monkeypatch: pytest.MonkeyPatch) -> None:
        class Diverging(CRCL):
            def loss(self, step: Step) -> Tensor:
                return super().loss(step) * (float("nan") if step.network == 1 else 1.0)

        monkeypatch.setitem(METHODS, "crcl", Diverging)
        with pytest.raises(TrainingError, match=r"epoch 1 .*network B.*learning_rate"):
            Engine(pairs, CONFIG).fit()

    def test_collapsed_network_ends_with_a_reason(self) -> None:
        """Captions that are all alike: no network can tell one from the other."""
        pairs, _ = make_pairs(200, 0.0)
        alike = replace(pairs, captions=np.ones_like(pairs.captions))
        with pytest.raises(TrainingError, match=r"network A collapsed in epoch 1 .*negatives=mean"):
            Engine(alike, CONFIG).fit()

    def test_hinge_pulled_to_one_point_ends_with_a_reason(self) -> None:
        """Hardest negatives, noisy pairs and too high a rate end where every score is the same: the loss is 2 alpha."""
        pairs, _ = make_pairs(400, 0.4)
        options = NCRConfig(negatives="hardest", warmup_epochs=1, epochs=20, noisy_epochs=20, learning_rate=0.03)
        config = replace(CONFIG, method="ncr", weight_decay=1.0, method_options=options)
        with pytest.raises(TrainingError, match="collapsed"):
            Engine(pairs, config).fit()

    @pytest.mark.parametrize("optimiser", ["adamw", "adam"])
    def test_optimisers_and_schedules_change_the_training(self, pairs: Pairs, unbroken: Scores, optimiser: str) -> None:
        engine = Engine(pairs, replace(CONFIG, optimiser=optimiser, schedule="cosine"))
        engine.fit()
        assert not np.array_equal(engine.scores().similarity, unbroken.similarity)

    def test_resumes_in_the_middle_of_a_schedule(self, pairs: Pairs, tmp_path: Path) -> None:
        config = replace(CONFIG, schedule="cosine")
        straight = Engine(pairs, config)
        straight.fit()
        with pytest.raises(Stopped):
            Engine(pairs, config, tmp_path, should_stop=Clock(15)).fit()
        resumed = Engine(pairs, config, tmp_path)
        resumed.fit()
        assert_same(resumed.scores(), straight.scores())


class TestEngine:
    def test_too_few_pairs_names_the_minimum(self) -> None:
        few, _ = make_pairs(MIN_PAIRS - 1, 0.3)
        with pytest.raises(TrainingError, match=f"at least {MIN_PAIRS}"):
            Engine(few, CONFIG)

    def test_scores_before_the_end_are_refused(self, pairs: Pairs) -> None:
        with pytest.raises(TrainingError, match="not finished"):
            Engine(pairs, CONFIG).scores()

    def test_unequal_lengths_are_refused(self, pairs: Pairs) -> None:
        with pytest.raises(ValueError, match="same length"):
            replace(pairs, image_ids=pairs.image_ids[:-1])

    @pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")  # from torch's own modules as they are loaded
    def test_compiled_encoders_give_the_same_scores(self, pairs: Pairs, unbroken: Scores) -> None:
        # Traced and run by torch.compile, without the code generator, for which a C++ compiler would be needed.
        with torch.compiler.set_stance("force_eager"):
            engine = Engine(pairs, CONFIG, is_compiled=True)
            engine.fit()
        assert_same(engine.scores(), unbroken)


class TestVocabulary:
    options = RunConfig(
        backbone="vse_infinity",
        networks=1,
        batch_size=32,
        method="crcl",
        method_options=CRCLConfig(piece_epochs=(1,), freeze_epochs=0),
        backbone_options=VSEInfinityConfig(word_size=8, embed_size=8, hidden_size=8, position_size=4),
    )

    def test_given_words_are_used_instead_of_the_collections(self) -> None:
        pairs, _ = make_scenes(96, 0.0)
        own, given = Engine(pairs, self.options), Engine(pairs, self.options, vocabulary=Vocabulary(["thing1"]))
        for engine in (own, given):
            engine.fit()
        # All words but one are unknown now: captions of as many words look alike.
        texts = ["thing2 thing3 thing4", "thing5 thing6 thing7"]
        assert np.ptp(given.similarities(pairs.images[:1], texts)) == 0
        assert np.ptp(own.similarities(pairs.images[:1], texts)) > 0

    def test_backbone_of_words_needs_the_captions(self) -> None:
        pairs, _ = make_scenes(96, 0.0)
        with pytest.raises(TrainingError, match="vse_infinity reads words"):
            Engine(replace(pairs, texts=None), self.options).fit()


class TestSimilarities:
    def test_unseen_pairs_find_each_other(self) -> None:
        both, _ = make_pairs(900, 0.0)
        seen = Pairs(both.images[:800], both.captions[:800], both.image_ids[:800], both.caption_ids[:800])
        engine = Engine(seen, RunConfig(backbone_options=HeadConfig(hidden_size=64, output_size=32)))
        engine.fit()
        similarity = engine.similarities(both.images[800:], both.captions[800:])
        assert similarity.shape == (100, 100)
        assert (similarity.argmax(axis=1) == np.arange(100)).mean() > 0.5
