"""From a training with probes to scores of the collection's pairs alone, on synthetic collections."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import model.calibration
import model.weighing
from model.agreement import Agreement
from model.config import RunConfig
from model.correlation import Correlation, Odds
from model.engine import Engine, Scores
from model.metrics import auroc, expected_calibration_error
from model.pairs import Pairs
from model.probes import NEAR, make_probes, with_probes
from model.trust import Verdict, judge, sample_weights
from tests.model.cases import config_of
from tests.model.collections import make_near_misses, make_pairs, make_scenes

COUNT = 1000
SHORT = {"piece_epochs": (3, 3)}
TINY_WORDS = {"word_size": 8, "embed_size": 8, "least_word_count": 1}


@dataclass(frozen=True)
class Judged:
    pairs: Pairs
    is_mismatch: npt.NDArray[np.bool_]
    verdict: Verdict
    own: Scores  # as the method gives them, probes included

    def auroc(self) -> float:
        return auroc(self.verdict.scores.clean_confidence, self.is_mismatch)


def judged(made: tuple[Pairs, npt.NDArray[np.bool_]], config: RunConfig) -> Judged:
    pairs, is_mismatch = made
    probes = make_probes(pairs, config.probe_share, config.seed)
    learned = with_probes(pairs, probes)
    engine = Engine(learned, config)
    engine.fit()
    return Judged(pairs, is_mismatch, judge(engine, learned, probes), engine.scores())


@pytest.fixture(scope="module", autouse=True)
def _few_draws() -> Iterator[None]:
    """Intervals are tested with the calibration; here they would take most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model.calibration, "_DRAWS", 20)
        yield


@pytest.fixture(scope="module")
def noisy() -> Judged:
    return judged(make_pairs(COUNT, 0.4), config_of("crcl", SHORT))


@pytest.fixture(scope="module")
def near() -> Judged:
    return judged(make_near_misses(1500, 0.4), config_of("crcl", SHORT))


def assert_published(one: Judged) -> None:
    """Only the collection's pairs, complete and in range."""
    count, scores = len(one.pairs), one.verdict.scores
    for name, value in vars(scores).items():
        if isinstance(value, np.ndarray):
            assert value.shape == (count,), name
            assert np.isfinite(value).all(), name
    confidence, weight = scores.clean_confidence, scores.weight
    assert confidence.dtype == np.float32
    assert 0 <= confidence.min() <= confidence.max() <= 1
    assert np.array_equal(scores.is_clean, confidence >= np.float32(scores.threshold))
    assert weight is not None
    assert weight.min() >= 0
    assert weight[scores.is_clean].mean() == pytest.approx(1.0, abs=1e-3)
    assert scores.neighbour_agreement is not None
    assert np.abs(scores.neighbour_agreement).max() <= 1 + 1e-5


class TestJudge:
    def test_only_the_pairs_are_published(self, noisy: Judged) -> None:
        assert len(noisy.own.clean_confidence) > COUNT
        assert_published(noisy)

    def test_order_is_no_worse_than_the_methods_own(self, noisy: Judged) -> None:
        assert noisy.auroc() > auroc(noisy.own.clean_confidence[:COUNT], noisy.is_mismatch) - 0.01

    def test_confidence_is_calibrated(self, noisy: Judged) -> None:
        assert expected_calibration_error(noisy.verdict.scores.clean_confidence, noisy.is_mismatch) < 0.06

    def test_noise_rate_is_found(self, noisy: Judged) -> None:
        rate = noisy.verdict.calibration.noise_rate
        assert noisy.verdict.calibration.has_evidence
        assert rate.estimate == pytest.approx(0.4, abs=0.02)
        assert noisy.verdict.scores.noise_rate == rate.estimate

    def test_probes_leave_statistics_only(self, noisy: Judged) -> None:
        report = json.loads(json.dumps(noisy.verdict.to_dict(), allow_nan=False))
        probes = report["probes"]
        assert probes["random"]["count"] + probes["near"]["count"] == len(noisy.own.clean_confidence) - COUNT
        assert probes["random"]["flagged_share"] > 0.9
        assert probes["random"]["flagged_share"] >= probes["near"]["flagged_share"]
        assert len(json.dumps(report)) < 100_000

    def test_evidence_is_named_once_each(self, noisy: Judged) -> None:
        names = noisy.verdict.names
        assert len(set(names)) == len(names) == len(noisy.verdict.weights)
        assert {"confidence", "similarity a", "similarity b", "encoder image > encoder caption"} <= set(names)
        assert "correlation" in names
        assert noisy.verdict.weights.max() > 0

    def test_mismatches_weigh_little(self, noisy: Judged) -> None:
        weight = noisy.verdict.scores.weight
        assert weight is not None
        assert weight[noisy.is_mismatch].mean() < 0.2 * weight[~noisy.is_mismatch].mean()

    def test_same_seed_gives_the_same(self) -> None:
        config = config_of("crcl", {"piece_epochs": (1,)})
        first, second = (judged(make_pairs(300, 0.3), config).verdict for _ in range(2))
        assert first.calibration == second.calibration
        for name, value in vars(first.scores).items():
            np.testing.assert_array_equal(value, getattr(second.scores, name), err_msg=name)

    def test_progress_rises(self) -> None:
        pairs, _ = make_pairs(200, 0.3)
        config = config_of("crcl", {"piece_epochs": (1,)})
        probes = make_probes(pairs, 0.05, 0)
        learned = with_probes(pairs, probes)
        engine = Engine(learned, config)
        engine.fit()
        shares: list[float] = []
        judge(engine, learned, probes, shares.append)
        assert shares == sorted(shares)
        assert shares[0] > 0
        assert shares[-1] <= 1


class TestAnchors:
    def test_a_persons_word_is_final(self) -> None:
        pairs, is_mismatch = make_pairs(400, 0.3)
        anchors = np.zeros(400, np.int8)
        # Also against the evidence: the first mismatch is called a match, and the first match a mismatch.
        called_match, called_mismatch = np.flatnonzero(is_mismatch)[0], np.flatnonzero(~is_mismatch)[0]
        anchors[called_match], anchors[called_mismatch] = 1, -1
        one = judged((replace(pairs, anchors=anchors), is_mismatch), config_of("crcl", {"piece_epochs": (2,)}))
        confidence = one.verdict.scores.clean_confidence
        assert (confidence[called_match], confidence[called_mismatch]) == (1.0, 0.0)
        assert one.verdict.scores.is_clean[called_match]
        assert not one.verdict.scores.is_clean[called_mismatch]
        assert_published(one)

    def test_linear_maps_and_neighbours_take_it_as_given(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pairs, is_mismatch = make_pairs(400, 0.3)
        anchors = np.zeros(400, np.int8)
        anchors[np.flatnonzero(is_mismatch)[:5]], anchors[np.flatnonzero(~is_mismatch)[:5]] = 1, -1
        heard: dict[type, list[npt.NDArray[np.float32]]] = {Correlation: [], Agreement: []}

        def listening(side: type, ask: Any) -> Any:
            return lambda one, trust: (heard[side].append(trust), ask(one, trust))[1]

        for side in heard:
            monkeypatch.setattr(side, "asked", listening(side, side.asked))  # type: ignore[attr-defined]
        judged((replace(pairs, anchors=anchors), is_mismatch), config_of("crcl", {"piece_epochs": (1,)}))
        for trusts in heard.values():
            assert len(trusts) == 2
            for trust in trusts:
                assert (trust[anchors > 0] == 1).all()
                assert (trust[anchors < 0] == 0).all()


class TestStrangers:
    """Of 2,600 pairs 80 % are mismatched."""

    def rate(self) -> float:
        pairs, is_mismatch = make_pairs(2600, 0.8)
        return judged((pairs, is_mismatch), config_of("crcl", {"piece_epochs": (1,)})).verdict.scores.noise_rate

    def test_tell_the_rate_where_mismatches_prevail(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Strangers who find a match in every other pair are believed, and not asked where nothing calls for them."""
        asked = Correlation.asked_strangers

        def credulous(correlation: Correlation, *heed: Any) -> Odds:
            odds = asked(correlation, *heed)
            better = odds.pairs.copy()
            better[::2] = odds.pairs.max(axis=0)
            return replace(odds, pairs=better)

        assert self.rate() == pytest.approx(0.8, abs=0.03)
        monkeypatch.setattr(Correlation, "asked_strangers", credulous)
        assert self.rate() < 0.7
        monkeypatch.setattr(model.weighing, "_LEAST_MATCHES", 1000)
        assert self.rate() == pytest.approx(0.8, abs=0.03)


class TestVariants:
    def test_one_network(self) -> None:
        one = judged(make_pairs(600, 0.4), config_of("crcl", SHORT, networks=1))
        assert_published(one)
        assert "similarity b" not in one.verdict.names
        assert one.auroc() > 0.9

    def test_uncertainty_is_evidence_too(self) -> None:
        one = judged(make_pairs(600, 0.4), config_of("decl"))
        assert_published(one)
        assert "certainty" in one.verdict.names
        assert one.verdict.scores.uncertainty is not None
        assert one.auroc() > auroc(one.own.clean_confidence[:600], one.is_mismatch) - 0.01

    def test_backbone_without_vectors_asks_the_encoder_only(self) -> None:
        options: dict[str, Any] = {"backbone": "scan", "backbone_options": TINY_WORDS, "networks": 1}
        one = judged(make_scenes(200, 0.3), config_of("crcl", {"piece_epochs": (1,), "freeze_epochs": 0}, **options))
        assert_published(one)
        assert not [name for name in one.verdict.names if "learned" in name]

    def test_mismatches_that_are_listed_often_do_not_vouch_for_themselves(self) -> None:
        pairs, is_mismatch = make_pairs(600, 0.4)
        blurred = pairs.images + 5 * np.random.default_rng(1).normal(size=pairs.images.shape)
        often = np.flatnonzero(is_mismatch)[:60]
        rows = np.concatenate([np.arange(600), *[often] * 3])
        listed = replace(pairs, images=blurred.astype(np.float32)).taken(rows)
        one = judged((listed, is_mismatch[rows]), config_of("crcl", SHORT))
        assert_published(one)
        confidence = one.verdict.scores.clean_confidence
        assert (~one.verdict.scores.is_clean)[often].mean() > 0.75
        assert np.abs(confidence[often] - confidence[600:660]).max() < 0.1

    def test_collection_without_mismatches_keeps_nearly_all(self) -> None:
        one = judged(make_pairs(600, 0.0), config_of("crcl", SHORT))
        assert_published(one)
        assert one.verdict.calibration.noise_rate.estimate < 0.05
        assert one.verdict.scores.is_clean.mean() > 0.95

    def test_smallest_collection(self) -> None:
        assert_published(judged(make_pairs(64, 0.3), config_of("crcl", {"piece_epochs": (1,)})))

    def test_joint_features_give_a_similarity_of_their_own(self) -> None:
        pairs, is_mismatch = make_pairs(300, 0.3)
        joint = replace(pairs, captions=np.where(is_mismatch[:, None], 1, -1) * -pairs.images, is_joint=True)
        one = judged((joint, is_mismatch), config_of("crcl", {"piece_epochs": (1,)}))
        assert_published(one)
        assert one.verdict.scores.clip_similarity is not None
        assert auroc(one.verdict.scores.clip_similarity, is_mismatch) > 0.9

    def test_near_misses_count_only_where_there_are_some(self, noisy: Judged) -> None:
        """These mismatches are random ones."""
        assert noisy.verdict.kind_weights == (1.0, 0.0)
        assert noisy.verdict.to_dict()["near_share"] == 0
        assert (noisy.verdict.probes.kinds == NEAR).any()


class TestNearMisses:
    def test_they_are_noticed(self, near: Judged) -> None:
        assert near.verdict.to_dict()["near_share"] > 0.9  # type: ignore[operator]
        assert near.verdict.calibration.has_evidence
        assert near.verdict.calibration.noise_rate.estimate == pytest.approx(0.4, abs=0.1)

    def test_confidence_is_calibrated(self, near: Judged) -> None:
        assert_published(near)
        assert expected_calibration_error(near.verdict.scores.clean_confidence, near.is_mismatch) < 0.1

    def test_few_probes_are_asked_about_the_best_evidence_only(self, near: Judged) -> None:
        """100 near probes would learn chance from twenty kinds of it."""
        learned = ["correspondence", "probability a", "probability b", "mean probability"]
        assert near.verdict.names == [*learned, "correlation among look-alikes"]

    def test_order_is_no_worse_than_the_methods_own(self, near: Judged) -> None:
        assert near.auroc() > auroc(near.own.clean_confidence[:1500], near.is_mismatch) - 0.01


class TestSampleWeights:
    def test_by_hand(self) -> None:
        """1 * sqrt(1) = 1, .5 * sqrt(.64) = .4, .1 * sqrt(.25) = .05; the kept mean .7."""
        confidence, matched = np.array([1.0, 0.5, 0.1], np.float32), np.array([1.0, 0.64, 0.25], np.float32)
        found = sample_weights(confidence, matched, np.array([True, True, False]))
        np.testing.assert_allclose(found, np.array([1.0, 0.4, 0.05]) / 0.7, rtol=1e-6)

    def test_nothing_kept_has_a_mean_of_one(self) -> None:
        found = sample_weights(np.full(4, 0.2, np.float32), np.ones(4, np.float32), np.zeros(4, bool))
        np.testing.assert_allclose(found, 1.0)

    def test_no_confidence_at_all_gives_zeros(self) -> None:
        assert not sample_weights(np.zeros(3, np.float32), np.ones(3, np.float32), np.zeros(3, bool)).any()
