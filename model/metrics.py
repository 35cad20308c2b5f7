"""How good the scores are, where the truth is known: detection, calibration and retrieval. Arrays in, floats out."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.metrics import average_precision_score, roc_auc_score

Bools = npt.NDArray[np.bool_]
_CALIBRATION_BINS = 15
_RANKS = (1, 5, 10)


@dataclass(frozen=True)
class Detection:
    """How well a cut finds mismatched pairs; 0 where nothing was flagged or nothing was there to find."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Retrieval:
    """Recalls in percent at 1, 5 and 10, and the sum of all six."""

    image_to_text: tuple[float, float, float]
    text_to_image: tuple[float, float, float]
    rsum: float


def auroc(confidence: npt.ArrayLike, is_mismatch: npt.ArrayLike) -> float:
    """Chance that a matching pair has a higher confidence than a mismatched one; NaN if there is only one kind."""
    truth = np.asarray(is_mismatch, dtype=bool)
    if truth.all() or not truth.any():
        return float("nan")
    return float(roc_auc_score(~truth, np.asarray(confidence)))


def average_precision(confidence: npt.ArrayLike, is_mismatch: npt.ArrayLike) -> float:
    """Average precision of finding mismatches by low confidence; NaN if there are none."""
    truth = np.asarray(is_mismatch, dtype=bool)
    if not truth.any():
        return float("nan")
    return float(average_precision_score(truth, -np.asarray(confidence, dtype=np.float64)))


def detection(is_clean: npt.ArrayLike, is_mismatch: npt.ArrayLike) -> Detection:
    """Precision, recall and F1 of the pairs that are not kept as clean."""
    flagged, truth = ~np.asarray(is_clean, dtype=bool), np.asarray(is_mismatch, dtype=bool)
    found = float((flagged & truth).sum())
    precision = found / max(1, int(flagged.sum()))
    recall = found / max(1, int(truth.sum()))
    f1 = 2 * precision * recall / (precision + recall) if found else 0.0
    return Detection(precision, recall, f1)


def expected_calibration_error(confidence: npt.ArrayLike, is_mismatch: npt.ArrayLike) -> float:
    """Mean distance between confidence and share of matching pairs over 15 equal bins, weighted by their size."""
    predicted = np.asarray(confidence, dtype=np.float64)
    matches = ~np.asarray(is_mismatch, dtype=bool)
    bins = np.minimum((predicted * _CALIBRATION_BINS).astype(int), _CALIBRATION_BINS - 1)
    gaps = np.bincount(bins, weights=predicted - matches, minlength=_CALIBRATION_BINS)
    return float(np.abs(gaps).sum() / len(predicted))


def noise_rate_error(estimate: float, is_mismatch: npt.ArrayLike) -> float:
    """Distance between the estimated and the true share of mismatches."""
    return float(abs(estimate - np.asarray(is_mismatch, dtype=bool).mean()))


def retrieval(similarity: npt.ArrayLike, image_of_caption: npt.ArrayLike) -> Retrieval:
    """R@1, 5, 10 both ways from an (images, captions) matrix; `image_of_caption` gives each caption's image row."""
    scores, owner = np.asarray(similarity), np.asarray(image_of_caption)
    is_match = owner[None, :] == np.arange(scores.shape[0])[:, None]  # (images, captions)
    images = _recalls(_best_rank(scores, is_match))
    captions = _recalls(_best_rank(scores.T, is_match.T))
    return Retrieval(images, captions, sum(images) + sum(captions))


def _best_rank(scores: npt.NDArray[np.floating], is_match: Bools) -> npt.NDArray[np.int64]:
    """How many wrong candidates score at least as high as the best right one: a tie counts against us."""
    best = np.where(is_match, scores, -np.inf).max(axis=1, keepdims=True)
    return np.asarray(((scores >= best) & ~is_match).sum(axis=1), dtype=np.int64)


def _recalls(ranks: npt.NDArray[np.int64]) -> tuple[float, float, float]:
    first, fifth, tenth = (float((ranks < k).mean() * 100) for k in _RANKS)
    return first, fifth, tenth
