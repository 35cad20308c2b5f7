"""The numbers behind a report, worked by hand on a few pairs and compared with numpy's own on many."""

import json
from typing import Any

import numpy as np
import pytest

from model.division import fit_mixture
from model.histogram import BLOCK
from model.report import BINS, describe

# Four pairs: bins of the confidence are 1/60 wide, so they stand in bins 0, 15, 45 and 59.
CONFIDENCE = np.array([0.0, 0.25, 0.75, 1.0], np.float32)
IS_CLEAN = CONFIDENCE >= 0.5


def described(**changes: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "loss": None,
        "confidence": CONFIDENCE,
        "confidence_a": CONFIDENCE,
        "confidence_b": CONFIDENCE,
        "is_clean": IS_CLEAN,
        "probe_loss": None,
        "probe_confidence": None,
        "probe_kind": None,
    }
    return describe(**{**given, **changes})


def with_loss(loss: np.ndarray, **changes: Any) -> dict[str, Any]:
    """The histogram of these losses; the pairs below 1 are kept."""
    confidence = (loss < 1).astype(np.float32)
    same = dict.fromkeys(("confidence", "confidence_a", "confidence_b"), confidence)
    found: dict[str, Any] = described(loss=loss, is_clean=loss < 1, **same, **changes)["histograms"]["loss"]
    return found


def two_groups(count: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.concatenate([rng.normal(0.5, 0.1, count), rng.normal(2.0, 0.3, count)]).astype(np.float32)


class TestConfidence:
    def test_every_pair_is_in_its_bin(self) -> None:
        shown = described()["histograms"]["confidence"]
        assert len(shown["edges"]) == BINS + 1
        assert {place: count for place, count in enumerate(shown["pairs"]) if count} == {0: 1, 15: 1, 45: 1, 59: 1}
        assert {place: count for place, count in enumerate(shown["kept"]) if count} == {45: 1, 59: 1}

    def test_probes_are_counted_apart_and_by_kind(self) -> None:
        probes, kinds = np.array([0.0, 0.01, 0.9]), np.array(["random", "near", "random"])
        shown = described(probe_confidence=probes, probe_kind=kinds)["histograms"]["confidence"]
        assert sum(shown["pairs"]) == 4
        assert (shown["probes"][0], shown["probes"][54]) == (2, 1)
        assert {kind: sum(counts) for kind, counts in shown["probe_kinds"].items()} == {"near": 1, "random": 2}

    def test_no_probes_are_none(self) -> None:
        shown = described()["histograms"]["confidence"]
        assert (sum(shown["probes"]), shown["probe_kinds"]) == (0, {})

    def test_agrees_with_numpy_over_several_blocks(self) -> None:
        values = np.random.default_rng(0).random(2 * BLOCK + 77)
        same = {"confidence": values, "confidence_a": values, "confidence_b": values, "is_clean": values > 0.3}
        shown = described(**same)["histograms"]["confidence"]
        assert shown["pairs"] == np.histogram(values, BINS, (0, 1))[0].tolist()
        assert shown["kept"] == np.histogram(values[values > 0.3], BINS, (0, 1))[0].tolist()

    def test_is_json(self) -> None:
        given = described(loss=two_groups(2), probe_loss=np.ones(1), probe_kind=np.array(["near"]))
        assert json.loads(json.dumps(given, allow_nan=False)) == given


class TestLoss:
    def test_a_method_without_one_has_no_histogram_of_it(self) -> None:
        assert described()["histograms"]["loss"] is None

    @pytest.mark.parametrize("kind", ["gaussian", "beta"])
    def test_mixture_lies_over_the_histogram(self, kind: str) -> None:
        """Both densities together are 1 over all bins, and near the share of the pairs in each."""
        loss = two_groups(4000)
        shown = with_loss(loss, division=kind)
        edges, mixture = np.array(shown["edges"]), shown["mixture"]
        total = (np.array(mixture["clean"]) + mixture["noisy"]) * np.diff(edges)
        assert total.sum() == pytest.approx(1)
        assert np.abs(total - np.array(shown["pairs"]) / len(loss)).sum() < 0.2
        assert mixture["means"] == [pytest.approx(0.5, abs=0.05), pytest.approx(2.0, abs=0.05)]
        assert mixture["variances"] == [pytest.approx(0.01, rel=0.5), pytest.approx(0.09, rel=0.3)]
        clean = np.average((edges[:-1] + edges[1:]) / 2, weights=mixture["clean"])
        assert clean == pytest.approx(0.5, abs=0.05)

    def test_mixture_is_the_one_of_the_division(self) -> None:
        loss = two_groups(500)
        found = with_loss(loss, noisy_mean=5.0)["mixture"]
        assert found["means"] == list(fit_mixture(loss, 5.0).means)

    def test_one_outlier_does_not_flatten_the_rest(self) -> None:
        loss = np.append(two_groups(2000), np.float32(1e6))
        shown = with_loss(loss)
        assert shown["edges"][-1] < 5
        assert sum(shown["pairs"]) == len(loss)

    @pytest.mark.parametrize("kind", ["gaussian", "beta"])
    def test_equal_losses_have_no_mixture(self, kind: str) -> None:
        shown = described(loss=np.full(4, 0.7), division=kind)["histograms"]["loss"]
        assert shown["mixture"] is None
        assert {place: count for place, count in enumerate(shown["pairs"]) if count} == {BINS // 2: 4}


class TestAgreement:
    def test_by_hand(self) -> None:
        """a = 0, 1, 1, 0 and b = 0, 1, 0, .5: covariance .0625, variances .25 and .171875."""
        a, b = np.array([0.0, 1.0, 1.0, 0.0]), np.array([0.0, 1.0, 0.0, 0.5])
        found = described(confidence_a=a, confidence_b=b)["agreement"]
        assert found["correlation"] == pytest.approx(0.0625 / np.sqrt(0.25 * 0.171875))
        sides = ("both_clean", "both_noisy", "only_a_clean", "only_b_clean")
        assert [found[side] for side in sides] == [1, 1, 1, 1]
        cells = {(i, j) for i, row in enumerate(found["grid"]) for j, count in enumerate(row) if count}
        assert cells == {(0, 0), (19, 19), (19, 0), (0, 10)}

    def test_correlation_is_numpys(self) -> None:
        rng = np.random.default_rng(3)
        a = rng.random(BLOCK + 5).astype(np.float32)
        b = np.clip(a + rng.normal(0, 0.1, len(a)), 0, 1).astype(np.float32)
        found = described(confidence_a=a, confidence_b=b)["agreement"]
        assert found["correlation"] == pytest.approx(np.corrcoef(a, b)[0, 1], abs=1e-6)
        assert np.sum(found["grid"]) == len(a)

    def test_a_network_of_one_opinion_correlates_with_nothing(self) -> None:
        assert described(confidence_a=np.full(4, 0.3))["agreement"]["correlation"] is None
