"""Metrics against numbers worked by hand."""

import math

import numpy as np
import pytest

from model.metrics import (
    auroc,
    average_precision,
    best_cut_f1,
    detection,
    expected_calibration_error,
    noise_rate_error,
    plausible_match_r_precision,
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


class TestBestCutF1:
    def test_takes_the_best_of_all_cuts(self) -> None:
        # By confidence: mismatch, match, mismatch, match. Cuts after 1, 2, 3, 4 have F1 2/3, 2/4, 4/5, 4/6.
        assert best_cut_f1([0.1, 0.2, 0.3, 0.4], [True, False, True, False]) == pytest.approx(4 / 5)

    def test_equal_confidences_are_not_parted(self) -> None:
        # The only cuts flag all (F1 2/3) or nothing.
        assert best_cut_f1([0.5, 0.5, 0.5, 0.5], [True, True, False, False]) == pytest.approx(2 / 3)

    def test_is_no_less_than_any_cut(self) -> None:
        rng = np.random.default_rng(0)
        truth = rng.random(500) < 0.3
        confidence = rng.normal(size=500) - truth
        best = best_cut_f1(confidence, truth)
        every = [detection(confidence > cut, truth).f1 for cut in confidence]
        assert best == pytest.approx(max(every))

    def test_without_mismatches_is_zero(self) -> None:
        assert best_cut_f1([0.1, 0.9], [False, False]) == 0.0


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

    def test_median_ranks_count_from_one(self) -> None:
        # Image queries: own candidate at ranks 1, 2, 3, so 2. Captions: 0 comes first for its image, 1 second behind
        # image 0, 2 third behind both.
        scores = np.array([[0.9, 0.8, 0.7], [0.6, 0.5, 0.4], [0.3, 0.2, 0.1]])
        found = retrieval(scores, [0, 1, 2])
        assert (found.image_to_text_median, found.text_to_image_median) == (2.0, 2.0)

    def test_median_of_an_even_number_is_between_two_ranks(self) -> None:
        assert retrieval(np.array([[0.9, 0.0], [0.5, 0.4]]), [0, 1]).image_to_text_median == 1.5

    def test_more_queries_than_one_block_are_ranked_alike(self) -> None:
        """Image i prefers caption i + 1, then its own: rank 2 for all but the last, which has no next."""
        count = 1100
        scores = np.eye(count) + 2 * np.eye(count, k=1)
        found = retrieval(scores, np.arange(count))
        assert found.image_to_text[0] == pytest.approx(100 / count)
        assert found.image_to_text[1] == 100.0
        assert found.text_to_image[0] == pytest.approx(100 / count)


class TestPlausibleMatchRPrecision:
    # Labels of three images; 0 and 1 differ in one, 0 and 2 in three, 1 and 2 in two.
    LABELS = ((1, 0, 0), (1, 1, 0), (0, 1, 1))

    def test_by_hand(self) -> None:
        """One caption per image. Plausible for each query: zeta 0 its own (R 1); zeta 1: {0, 1}, {0, 1}, {2};
        zeta 2: {0, 1}, {0, 1, 2}, {1, 2}.
        Image 0 ranks captions 0, 2, 1: 1, 1/2, 1/2. Image 1 ranks 0, 1, 2: 0, 1, 1. Image 2 ranks 0, 2, 1: 0, 0, 1/2.
        Sum 4.5 over 9. Caption 0 ranks images 1, 2, 0: 0, 1/2, 1/2. Caption 1 ranks 1, 2, 0: 1, 1/2, 1.
        Caption 2 ranks 0, 2, 1: 0, 0, 1/2. Sum 4 over 9."""
        scores = np.array([[0.50, 0.10, 0.40], [0.80, 0.70, 0.05], [0.60, 0.20, 0.30]])
        found = plausible_match_r_precision(scores, self.LABELS, [0, 1, 2])
        assert found.image_to_text == pytest.approx(100 * 4.5 / 9)
        assert found.text_to_image == pytest.approx(100 * 4 / 9)

    def test_captions_have_the_labels_of_their_image(self) -> None:
        # Far apart labels, two captions each: both captions of an image are plausible, and come first.
        scores = np.array([[0.9, 0.8, 0.1, 0.2], [0.1, 0.2, 0.9, 0.8]])
        found = plausible_match_r_precision(scores, [[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]], [0, 0, 1, 1])
        assert (found.image_to_text, found.text_to_image) == (100.0, 100.0)

    def test_ties_count_as_misses(self) -> None:
        labels = [[1, 1, 1, 0], [0, 0, 0, 1]]
        assert plausible_match_r_precision(np.zeros((2, 2)), labels, [0, 1]).image_to_text == 0.0

    def test_more_queries_than_one_block_agree_with_the_definition(self) -> None:
        rng = np.random.default_rng(1)
        scores, labels = rng.normal(size=(600, 600)), rng.integers(0, 2, size=(600, 5))
        expected = []
        for query in range(600):
            apart = (labels != labels[query]).sum(axis=1)
            for allowed in (0, 1, 2):
                first = np.argsort(-scores[query])[: (apart <= allowed).sum()]
                expected.append((apart[first] <= allowed).mean())
        found = plausible_match_r_precision(scores, labels, np.arange(600))
        assert found.image_to_text == pytest.approx(100 * np.mean(expected))

    def test_attributes_that_are_not_binary_are_refused(self) -> None:
        with pytest.raises(ValueError, match="0 or 1"):
            plausible_match_r_precision(np.zeros((1, 1)), [[2]], [0])
