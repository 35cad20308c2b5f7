"""How good the scores are, where the truth is known: detection, calibration and retrieval. Arrays in, floats out."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.metrics import average_precision_score, roc_auc_score

Floats = npt.NDArray[np.floating]
Ints = npt.NDArray[np.int64]
_CALIBRATION_BINS = 15
_RANKS = (1, 5, 10)
# Queries ranked at once, so that 5,000 x 5,000 similarities need little beyond themselves.
_BLOCK = 512
# zeta of Chun et al. 2021: labels two items may differ in and still be a plausible match.
_LABELS_APART = (0, 1, 2)


@dataclass(frozen=True)
class Detection:
    """How well a cut finds mismatched pairs; 0 where nothing was flagged or nothing was there to find."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Retrieval:
    """Recalls in percent at 1, 5 and 10, the sum of all six, and the median rank from 1 of the first right answer."""

    image_to_text: tuple[float, float, float]
    text_to_image: tuple[float, float, float]
    rsum: float
    image_to_text_median: float
    text_to_image_median: float


@dataclass(frozen=True)
class PlausibleMatch:
    """Plausible-Match R-Precision in percent."""

    image_to_text: float
    text_to_image: float


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


def best_cut_f1(confidence: npt.ArrayLike, is_mismatch: npt.ArrayLike) -> float:
    """F1 of the best possible cut, chosen with the truth in view: a bound to compare with, never a result."""
    values, truth = np.asarray(confidence, dtype=np.float64), np.asarray(is_mismatch, dtype=bool)
    if not truth.any():
        return 0.0
    order = np.argsort(values, kind="stable")
    found = np.cumsum(truth[order])
    # Equal confidences cannot be parted: a cut falls only where the next one is higher.
    is_cut = np.append(np.diff(values[order]) > 0, True)
    flagged = np.arange(1, len(values) + 1)
    return float((2 * found / (flagged + truth.sum()))[is_cut].max())


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
    rows = np.arange(scores.shape[0])
    of_images, of_captions = _ranks(scores, rows, owner), _ranks(scores.T, owner, rows)
    images, captions = _recalls(of_images), _recalls(of_captions)
    medians = float(np.median(of_images)) + 1, float(np.median(of_captions)) + 1
    return Retrieval(images, captions, sum(images) + sum(captions), *medians)


def plausible_match_r_precision(
    similarity: npt.ArrayLike, attributes: npt.ArrayLike, image_of_caption: npt.ArrayLike
) -> PlausibleMatch:
    """PMRP (Chun et al. 2021; NCR supplement section 4) from (images, captions) similarities and each image's labels.

    `attributes` is binary, (images, labels); a caption has those of its image. Where a query has R plausible matches,
    its score is their share of the first R answers; averaged over the queries and over zeta = 0, 1, 2.
    """
    scores, owner = np.asarray(similarity), np.asarray(image_of_caption)
    labels = np.asarray(attributes, dtype=np.float32)
    if not np.isin(labels, (0, 1)).all():
        raise ValueError("attributes must be 0 or 1")
    return PlausibleMatch(
        100 * _r_precision(scores, labels, labels[owner]), 100 * _r_precision(scores.T, labels[owner], labels)
    )


def _r_precision(scores: Floats, queries: Floats, candidates: Floats) -> float:
    """Mean over queries and zeta; `queries` and `candidates` are the labels of both sides."""
    total = 0.0
    for at in range(0, len(scores), _BLOCK):
        block, asked = scores[at : at + _BLOCK], queries[at : at + _BLOCK]
        apart = asked.sum(axis=1)[:, None] + candidates.sum(axis=1)[None, :] - 2 * asked @ candidates.T
        descending = -np.sort(-block, axis=1)
        for allowed in _LABELS_APART:
            is_plausible = apart < allowed + 0.5
            count = is_plausible.sum(axis=1)  # R of each query
            last = np.take_along_axis(descending, np.maximum(count - 1, 0)[:, None], axis=1)
            above, tied = block > last, block == last
            # Of candidates that tie for the last places the wrong ones come first: a tie counts against us.
            places = count - above.sum(axis=1) - (tied & ~is_plausible).sum(axis=1)
            hits = (above & is_plausible).sum(axis=1) + np.maximum(places, 0)
            total += float((hits / np.maximum(count, 1)).sum())
    return total / (len(scores) * len(_LABELS_APART))


def _ranks(scores: Floats, own: Ints, candidates: Ints) -> Ints:
    """How many wrong candidates score at least as high as the best right one: a tie counts against us.

    A candidate is right where its image is the query's own.
    """
    ranks = np.empty(len(scores), dtype=np.int64)
    for at in range(0, len(scores), _BLOCK):
        block = scores[at : at + _BLOCK]
        is_match = own[at : at + _BLOCK, None] == candidates[None, :]
        best = np.where(is_match, block, -np.inf).max(axis=1, keepdims=True)
        ranks[at : at + _BLOCK] = ((block >= best) & ~is_match).sum(axis=1)
    return ranks


def _recalls(ranks: Ints) -> tuple[float, float, float]:
    first, fifth, tenth = (float((ranks < k).mean() * 100) for k in _RANKS)
    return first, fifth, tenth
