"""Confidence in labels, from probabilities alone."""

import numpy as np
import pytest

from model.label_noise import confidence_in_labels


class TestConfidenceInLabels:
    def test_sure_classifier_is_believed(self) -> None:
        """p is 1 for three labels and 0 for one: these are right, that is wrong, whatever share was drawn."""
        found = confidence_in_labels([[1.0, 1.0, 1.0, 0.0]], 4)
        assert found.tolist() == pytest.approx([1.0, 1.0, 1.0, 0.0], abs=1e-6)

    def test_follows_bayes(self) -> None:
        """K = 4, half 1 and half 1/8. e maximises log(1 - 3e/4) + log(1/8 + e/8): 1 - 3e/4 = 3/4 (1 + e), e = 1/6.
        Right labels with p = 1/8: 1/8 (1 - 1/6 + 1/24) / (1/8 + 1/48) = 7/8 * 6/7 = 3/4.
        """
        found = confidence_in_labels([[1.0, 0.125] * 50], 4)
        assert found[:2].tolist() == pytest.approx([1.0, 0.75], abs=1e-4)

    def test_sharpness_under_which_the_labels_are_likely_is_taken(self) -> None:
        blurred, sharp = [0.3, 0.3, 0.3, 0.2], [1.0, 1.0, 1.0, 0.0]
        assert np.array_equal(confidence_in_labels([blurred, sharp], 4), confidence_in_labels([sharp], 4))
        overconfident = [1.0, 1e-9, 1e-9, 1e-9]
        assert np.array_equal(confidence_in_labels([overconfident, blurred], 4), confidence_in_labels([blurred], 4))

    def test_is_calibrated_on_labels_made_as_the_model_says(self) -> None:
        """Ten categories; 30 % of the labels drawn anew; the classifier knows the truth up to a known blur."""
        rng = np.random.default_rng(0)
        truth, count = rng.integers(0, 10, 20_000), 20_000
        logits = rng.normal(size=(count, 10)) + 4 * np.eye(10)[truth]
        p = np.exp(4 * logits) / np.exp(4 * logits).sum(axis=1, keepdims=True)
        labels = np.where(rng.random(count) < 0.3, rng.integers(0, 10, count), truth)
        fits = [q[np.arange(count), labels] for q in (p**0.25 / (p**0.25).sum(axis=1, keepdims=True), p)]
        found = confidence_in_labels(fits, 10)
        assert found.mean() == pytest.approx((labels == truth).mean(), abs=0.02)
        assert found[labels == truth].mean() > 0.95
        assert found[labels != truth].mean() < 0.1

    def test_higher_probability_never_means_lower_confidence(self) -> None:
        fit = np.random.default_rng(1).random(500)
        found = confidence_in_labels([fit], 7)
        assert (np.diff(found[np.argsort(fit)]) >= 0).all()
        assert found.min() >= 0
        assert found.max() <= 1
