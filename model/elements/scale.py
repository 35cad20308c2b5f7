"""Scores as evidence, for each concept by itself: how its true claims score, and how false ones do.

The ratio of both distributions judges a claim; how far ratios are to be believed is learned for all concepts of a kind
together, and a concept with few claims is drawn to its kind.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from model.elements.claims import Claims
from model.elements.concepts import Kind

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# True claims of a concept that are worth as much as "said or not, the score is the same".
_DOUBTFUL_CLAIMS = 3.0
# Spread of a score: so many claims of a concept weigh as much as the spread of its whole kind.
_KIND_CLAIMS = 20.0
_LEAST_FITTED = 20
_MOST_EVIDENCE = 12.0


@dataclass(frozen=True)
class Scale:
    middle: Floats  # (V,) score that says nothing
    slope: Floats  # (V,) log odds for each unit of score; 0 where a concept cannot be told
    strength: Floats  # (V,) how far true and false claims lie apart, in deviations

    @classmethod
    def fit(cls, kinds: npt.NDArray[np.int8], true: Claims, false: Claims) -> "Scale":
        right, wrong = (_Moments.of(claims, len(kinds)) for claims in (true, false))
        spread = _shrunk_spread(right, wrong, kinds)
        apart = np.maximum(right.mean - wrong.mean, 0) * (wrong.count > 0)
        apart *= right.count / (right.count + _DOUBTFUL_CLAIMS)
        middle, slope = wrong.mean + apart / 2, apart / spread
        for kind in Kind:
            columns = kinds == kind
            offset, factor = _believed([claims.of(columns) for claims in (true, false)], middle, slope)
            slope[columns] *= factor
            # The offset as a place of the middle; where a concept says nothing there is none.
            middle[columns] -= offset / np.maximum(slope[columns], 1e-9) * (slope[columns] > 1e-9)
        return cls(middle, slope, apart / np.sqrt(spread))

    def evidence(self, scores: npt.NDArray[np.floating]) -> Floats:
        """(n, V) log odds, for even chances before, that a claim is true."""
        return np.clip((scores - self.middle) * self.slope, -_MOST_EVIDENCE, _MOST_EVIDENCE)


@dataclass(frozen=True)
class _Moments:
    count: Floats
    mean: Floats
    variance: Floats

    @classmethod
    def of(cls, claims: Claims, size: int) -> "_Moments":
        count, total, square = (
            np.bincount(claims.columns, claims.weights * claims.scores**power, size).astype(np.float64)
            for power in range(3)
        )
        known = np.maximum(count, 1e-9)
        return cls(count, total / known, np.maximum(square / known - (total / known) ** 2, 0))


def _shrunk_spread(right: _Moments, wrong: _Moments, kinds: npt.NDArray[np.int8]) -> Floats:
    """Variance within true and within false claims, the mean of both."""
    both = (right.variance + wrong.variance) / 2
    count = np.minimum(right.count, wrong.count)
    spread = np.empty_like(both)
    for kind in Kind:
        columns = kinds == kind
        usual = np.average(both[columns], weights=count[columns] + 1e-9) if columns.any() else 1.0
        spread[columns] = (count[columns] * both[columns] + _KIND_CLAIMS * usual) / (count[columns] + _KIND_CLAIMS)
    return np.maximum(spread, 1e-9)


def _believed(claims: Sequence[Claims], middle: Floats, slope: Floats) -> tuple[float, float]:
    """Offset and factor that make the log odds of true against false claims right, both counted alike."""
    if min(len(some.rows) for some in claims) < _LEAST_FITTED:
        return 0.0, 1.0
    odds = [np.clip((some.scores - middle[some.columns]) * slope[some.columns], -30, 30) for some in claims]
    weights = [some.weights / max(float(some.weights.sum()), 1e-9) for some in claims]
    is_true = np.repeat([1, 0], [len(part) for part in odds])
    counted = np.concatenate(weights) * len(odds[0])
    fitted = LogisticRegression().fit(np.concatenate(odds)[:, None], is_true, counted)
    return float(fitted.intercept_[0]), max(float(fitted.coef_[0, 0]), 0.0)
