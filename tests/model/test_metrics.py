"""Metrics against numbers worked by hand."""

import math

import numpy as np
import pytest

from model.metrics import (
    auroc,
    average_precision,
    detection,
    expected_calibration_error,
    noise_rate_error,
    retrieval,
)


class TestAuroc:
    def test_counts_ordered_pairs(self) -> None:
        # Matches .9, .4; mismatches .5, .1: of four comparisons only .4 against .5 is lost.
        assert auroc([0.9, 0.4, 0.5, 0.1], [False, False, True, True]) == pytest.approx(0.75)

    def test_one_kind_only_is_nan(self) -> None:
        assert math.isnan(auroc([0.1, 0.2], [False, False]))
        assert math.isnan(auroc([0.1, 0.2], [True, True]))


class TestAveragePrecision:
    def test_reads_low_confidence_as_mismatch(self) -> None:
        # Order of suspicion: .1 (hit), .4 (miss), .5 (hit): (1/1 + 2/3) / 2.
        assert average_precision([0.9, 0.4, 0.5, 0.1], [False, False, True, True]) == pytest.approx(5 / 6)

    def test_without_mismatches_is_nan(self) -> None:
        assert math.isnan(average_precision([0.1], [False]))


class TestDetection:
    def test_counts_what_is_not_kept(self) -> None:
        # Three flagged, two of them rightly; four mismatches in all: P 2/3, R 1/2, F1 4/7.
        found = detection([False, False, False, True, True, True], [True, True, False, True, True, False])
        assert (found.precision, found.recall) == (pytest.approx(2 / 3), pytest.approx(1 / 2))
        assert found.f1 == pytest.approx(4 / 7)

    def test_nothing_flagged_is_zero(self) -> None:
        assert detection([True, True], [True, False]).f1 == 0.0


class TestExpectedCalibrationError:
    def test_weighs_bins_by_size(self) -> None:
        # Bin of 1.0: two pairs, one matching, gap .5; bin of .0: two pairs, none matching, gap 0.
        assert expected_calibration_error([1.0, 1.0, 0.0, 0.0], [False, True, True, True]) == pytest.approx(0.25)

    def test_perfect_confidence_is_zero(self) -> None:
        assert expected_calibration_error([1.0, 0.0], [False, True]) == 0.0


class TestNoiseRateError:
    def test_is_the_distance_to_the_true_share(self) -> None:
        assert noise_rate_error(0.4, [True, False, False, False]) == pytest.approx(0.15)


class TestRetrieval:
    def test_recalls_both_ways(self) -> None:
        # Captions 0, 1 belong to image 0 and 2, 3 to image 1. Image 0 finds its own first; image 1 is beaten by
        # caption 1. Captions 0, 2 and 3 find their image; caption 1 prefers image 1.
        scores = np.array([[0.9, 0.2, 0.1, 0.0], [0.1, 0.8, 0.7, 0.6]])
        found = retrieval(scores, [0, 0, 1, 1])
        assert found.image_to_text == (50.0, 100.0, 100.0)
        assert found.text_to_image == (75.0, 100.0, 100.0)
        assert found.rsum == pytest.approx(525.0)

    def test_ties_count_as_misses(self) -> None:
        assert retrieval(np.zeros((2, 2)), [0, 1]).image_to_text[0] == 0.0
