"""Pairs that arrive after a training, on synthetic collections: what is trained here is small, but it is trained."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch

from model import metrics
from model.config import RunConfig
from model.drift import distance
from model.engine import Engine
from model.errors import TrainingError
from model.judge import Judge
from model.options.backbones import HeadConfig
from model.options.crcl import CRCLConfig
from model.pairs import Pairs, Placed
from model.probes import make_probes, with_probes
from model.trained import Trained
from model.transfer import LEAST_CALIBRATED, Judgement, judge_new
from model.trust import judge
from model.witnesses import Witnesses
from tests.model.collections import make_pairs

CONFIG = RunConfig(
    method="crcl",
    batch_size=64,
    score_draws=2,
    method_options=CRCLConfig(piece_epochs=(3, 3), freeze_epochs=1),
    backbone_options=HeadConfig(hidden_size=64, output_size=32),
)
TRAINED, NEW = 1200, 800


def collection(seed: int) -> tuple[Pairs, npt.NDArray[np.bool_]]:
    """Not easy: much of the features has nothing to do with the other side."""
    pairs, is_mismatch = make_pairs(TRAINED + NEW, 0.4, seed=seed)
    rng = np.random.default_rng(seed)
    noise = [3.0 * rng.normal(size=part.shape).astype(np.float32) for part in (pairs.images, pairs.captions)]
    # The noise belongs to the image, not to the pair: a mismatch has another image as it is.
    images = pairs.images + noise[0][pairs.image_ids]
    return replace(pairs, images=images, captions=pairs.captions + noise[1]), is_mismatch


class Lent:
    """A training on a part of a collection, what it leaves behind, and the other part."""

    def __init__(self, folder: Path) -> None:
        torch.set_num_threads(1)
        pairs, is_mismatch = collection(seed=3)
        self.folder, self.own = folder, pairs.taken(np.arange(TRAINED))
        self.new, self.is_mismatch = pairs.taken(np.arange(TRAINED, TRAINED + NEW)), is_mismatch[TRAINED:]
        self.few = self.new.taken(np.arange(LEAST_CALIBRATED - 1))
        probes = make_probes(self.own, CONFIG.probe_share, CONFIG.seed)
        learned = with_probes(self.own, probes)
        engine = Engine(learned, CONFIG, folder=folder)
        engine.fit()
        self.count = len(learned)
        self.confidence = judge(engine, learned, probes).scores.clean_confidence
        self.engine = engine
        made = Judge.fit(Trained.load(folder, engine.config, self.count), self.own, self.confidence)
        with (folder / "judge.npz").open("wb") as file:
            made.save(file, self.count)
        self.judge = Judge.load(folder / "judge.npz", folder)


@pytest.fixture(scope="module")
def lent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lent]:
    threads = torch.get_num_threads()
    yield Lent(tmp_path_factory.mktemp("lent"))
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def judged(lent: Lent) -> Judgement:
    return judge_new(lent.judge, lent.new)


class TestTrained:
    def test_sees_pairs_as_the_engine_does(self, lent: Lent) -> None:
        trained = Trained.load(lent.folder, lent.engine.config, lent.count)
        rows = np.arange(5)
        total = torch.zeros(5, 5)
        for k in range(len(trained)):
            images, captions = (
                trained.encode(k, side, trained.read(side, source, rows))
                for side, source in enumerate(trained.sources(lent.new))
            )
            total += trained.compare(k, images, captions)
        expected = lent.engine.similarities(lent.new.images[rows], lent.new.captions[rows])
        np.testing.assert_allclose(total.numpy() / len(trained), expected, atol=1e-5)

    def test_features_of_another_width_are_refused_with_both_widths(self, lent: Lent) -> None:
        wide = replace(lent.new, images=np.zeros((NEW, 41), np.float32))
        with pytest.raises(TrainingError, match="have 41 features, the networks learned from 40"):
            judge_new(lent.judge, wide)

    def test_a_judge_of_an_older_version_is_refused(self, lent: Lent, tmp_path: Path) -> None:
        with np.load(lent.folder / "judge.npz") as file:
            old = {name: values for name, values in file.items() if not name.startswith("maps_")}
        np.savez(tmp_path / "judge.npz", **old)
        with pytest.raises(TrainingError, match="older version"):
            Judge.load(tmp_path / "judge.npz", lent.folder)

    def test_missing_checkpoints_are_said(self, lent: Lent, tmp_path: Path) -> None:
        with pytest.raises(TrainingError, match="no usable checkpoint"):
            Judge.load(lent.folder / "judge.npz", tmp_path)


class TestJudgeNew:
    def test_unseen_mismatches_are_found(self, lent: Lent, judged: Judgement) -> None:
        confidence = judged.verdict.scores.clean_confidence
        assert metrics.auroc(confidence, lent.is_mismatch) > 0.93

    def test_confidence_means_what_it_says(self, lent: Lent, judged: Judgement) -> None:
        confidence = judged.verdict.scores.clean_confidence
        assert judged.is_calibrated
        assert metrics.expected_calibration_error(confidence, lent.is_mismatch) < 0.12
        assert confidence[~lent.is_mismatch].mean() > 0.7
        assert confidence[lent.is_mismatch].mean() < 0.3
        assert judged.verdict.calibration.noise_rate.estimate == pytest.approx(0.4, abs=0.1)

    def test_networks_alone_are_calibrated_too(self, lent: Lent, judged: Judgement) -> None:
        for confidence in (judged.verdict.scores.confidence_a, judged.verdict.scores.confidence_b):
            assert metrics.auroc(confidence, lent.is_mismatch) > 0.85
            assert 1 - confidence.mean() == pytest.approx(0.4, abs=0.12)

    def test_says_as_much_as_any_run(self, judged: Judgement) -> None:
        told = judged.verdict.to_dict()
        assert isinstance(told["curve"], list)
        assert len(told["curve"]) >= 50
        assert json.loads(json.dumps(told, allow_nan=False))["probes"]["random"]["count"] > 1000
        scores = judged.verdict.scores
        for values in (scores.weight, scores.neighbour_agreement, scores.rectified_correspondence, scores.similarity):
            assert values is not None
            assert len(values) == NEW
            assert np.isfinite(values).all()

    @pytest.mark.parametrize("count", [1, 5, LEAST_CALIBRATED - 1])
    def test_few_pairs_are_judged_as_the_runs_own_were(self, lent: Lent, judged: Judgement, count: int) -> None:
        few = judge_new(lent.judge, lent.new.taken(np.arange(count)))
        scores = few.verdict.scores
        assert not few.is_calibrated
        assert len(scores.clean_confidence) == count
        rate = few.verdict.calibration.noise_rate
        assert 0 <= rate.low <= rate.estimate <= rate.high <= 1
        assert rate.estimate == pytest.approx(1 - scores.clean_confidence.mean(), abs=1e-6)
        assert few.verdict.calibration.slope == lent.judge.calibration.slope
        # The evidence is the same, so is the order.
        whole = judged.verdict.scores.clean_confidence[:count]
        assert np.array_equal(np.argsort(scores.clean_confidence), np.argsort(whole))

    @pytest.mark.parametrize("is_wrong", [False, True])
    def test_what_to_expect_of_few_pairs_is_their_own(self, lent: Lent, is_wrong: bool) -> None:
        """Of the run 40 % are mismatched; here none or all of them."""
        chosen = np.flatnonzero(lent.is_mismatch == is_wrong)[:60]
        found = judge_new(lent.judge, lent.new.taken(chosen)).verdict
        first, *_ = found.calibration.curve
        confidence = found.scores.clean_confidence
        assert first["kept_share"] == 1
        assert first["precision"] == pytest.approx(confidence.mean(dtype=np.float64), abs=1e-6)
        assert first["precision_low"] <= first["precision"] <= first["precision_high"]
        assert (first["precision"] < 0.3) is is_wrong
        for row in found.calibration.curve:
            assert row["kept_share"] * 60 == pytest.approx(round(row["kept_share"] * 60))

    def test_no_evidence_of_the_run_is_none_of_new_pairs(self, lent: Lent) -> None:
        clean = replace(lent.judge, calibration=replace(lent.judge.calibration, has_evidence=False))
        wrong = lent.new.taken(np.flatnonzero(lent.is_mismatch)[:60])
        assert judge_new(clean, wrong).verdict.calibration.has_evidence

    def test_memory_blocks_do_not_change_the_outcome(self, lent: Lent, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = judge_new(lent.judge, lent.few)
        monkeypatch.setattr("model.transfer._BLOCK", 40)
        again = judge_new(lent.judge, lent.few)
        np.testing.assert_allclose(
            again.verdict.scores.clean_confidence, whole.verdict.scores.clean_confidence, atol=1e-4
        )
        assert again.drift == whole.drift

    def test_a_persons_word_is_final(self, lent: Lent) -> None:
        anchors = np.zeros(20, np.int8)
        anchors[:2] = 1, -1
        said = judge_new(lent.judge, replace(lent.new.taken(np.arange(20)), anchors=anchors)).verdict.scores
        assert said.clean_confidence[:2].tolist() == [1, 0]
        assert said.is_clean[:2].tolist() == [True, False]

    def test_what_people_said_is_counted_as_they_said(self, lent: Lent) -> None:
        anchors = np.where(np.arange(NEW) < 300, -1, 0).astype(np.int8)
        verdict = judge_new(lent.judge, replace(lent.new, anchors=anchors)).verdict
        assert verdict.scores.noise_rate == verdict.calibration.noise_rate.estimate
        confidence = verdict.scores.clean_confidence
        assert (confidence[:300] == 0).all()
        assert verdict.calibration.noise_rate.estimate == pytest.approx(1 - confidence.mean(), abs=0.005)

    def test_progress_rises_to_the_end(self, lent: Lent, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("model.transfer._BLOCK", 40)
        shown: list[float] = []
        judge_new(lent.judge, lent.few, shown.append)
        assert shown == pytest.approx([40 / 99, 80 / 99, 1])


class TestWitnesses:
    def test_a_pair_that_was_learned_is_no_witness_of_itself(self, lent: Lent) -> None:
        rows = np.arange(50)
        before = lent.judge.witnesses.look(lent.own, rows).table
        for row in rows[:5]:
            own = lent.confidence.copy()
            own[row] = 1 - own[row]
            witnesses = Witnesses.from_arrays(
                lent.judge.witnesses.trained, lent.judge.witnesses.arrays() | {"trust": own}
            )
            after = witnesses.look(lent.own, np.array([row])).table
            np.testing.assert_allclose(after[0], before[row], atol=1e-4)

    def test_evidence_has_a_name_for_every_column(self, lent: Lent) -> None:
        names = lent.judge.names
        assert len(names) == len(set(names)) == lent.judge.look(lent.new, np.arange(2)).table.shape[1]

    def test_what_was_learned_by_heart_does_not_lead(self, lent: Lent) -> None:
        """Networks tell their own pairs from fresh mismatches at once, wrong pairs too: a fit would trust only them."""
        weights = dict(zip(lent.judge.names, lent.judge.weights[0], strict=True))
        assert weights.pop("correlation") > sum(weights.values())


class TestDrift:
    def test_the_rest_of_the_collection_looks_the_same(self, judged: Judgement) -> None:
        assert judged.drift["looks_different"] is False
        assert judged.drift["images"] < 0.05
        assert judged.drift["captions"] < 0.05
        assert "look like those of the run" in judged.drift["explanation"]

    def test_noisier_pairs_of_the_same_kind_look_the_same(self, lent: Lent) -> None:
        turned = replace(lent.few, images=Placed(lent.few.images, np.roll(np.arange(len(lent.few)), 7)))
        assert judge_new(lent.judge, turned).drift["looks_different"] is False

    @pytest.mark.parametrize("count", [5, 99])
    def test_other_data_looks_different(self, lent: Lent, count: int) -> None:
        other = judge_new(lent.judge, collection(seed=77)[0].taken(np.arange(count)))
        assert other.drift["looks_different"] is True
        assert "start a run of its own" in other.drift["explanation"]

    @pytest.mark.parametrize(("count", "outside"), [(1, 1), (3, 2), (12, 2)])
    def test_few_strange_pairs_are_too_few_to_tell(self, lent: Lent, count: int, outside: int) -> None:
        drift = lent.judge.familiar.compare(
            np.array([outside, 0]), count, lent.judge.familiar.evidence[:3], lent.judge.names
        )
        assert drift["looks_different"] is False
        assert drift["explanation"].startswith("There are too few new pairs to tell")

    def test_the_side_that_changed_is_named(self, lent: Lent) -> None:
        strange = collection(seed=77)[0].captions[: len(lent.few)]
        drift = judge_new(lent.judge, replace(lent.few, captions=strange)).drift
        assert drift["looks_different"] is True
        assert drift["explanation"].startswith("The captions no longer look like")

    def test_distance_of_the_same_values_is_small_and_of_others_is_one(self) -> None:
        """Quantiles 0, 1, .., 10 mean shares of 0, .1, .., 1 up to there. Of 0, 0, 10, 10 a half is at 0 already."""
        quantiles = np.arange(11.0)
        assert distance(quantiles, np.arange(0, 10.01, 0.01)) < 0.01
        assert distance(quantiles, np.array([20.0, 30.0])) == 1
        assert distance(quantiles, np.array([0.0, 0.0, 10.0, 10.0])) == pytest.approx(0.5)
