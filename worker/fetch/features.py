"""The outcome of pairs whose source brings features instead of images: the features are the content."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from model.features.store import content_key
from service.db.states import ImageStatus
from worker.fetch.errors import FetchClass, FetchError
from worker.fetch.intake import Outcome, failure
from worker.fetch.plan import Wanted

AT_ONCE = 64  # rows in memory: with 36 regions a row takes 300 kB


def feature_outcomes(features: Any, page: Sequence[Wanted]) -> Iterator[Outcome]:
    """In the order of the page; `features` is (N, D) or (N, R, D)."""
    for start in range(0, len(page), AT_ONCE):
        places = np.array([int(wanted.place or 0) for wanted in page[start : start + AT_ONCE]], dtype=np.int64)
        for place, row in zip(places, np.asarray(features[places], dtype=np.float32), strict=True):
            yield _outcome(int(place), row)


def _outcome(place: int, row: np.ndarray[Any, np.dtype[np.float32]]) -> Outcome:
    if not np.isfinite(row).all():
        error = FetchError(FetchClass.NOT_FINITE, f"row {place} of the features holds values that are not numbers")
        return failure(error)
    return Outcome(ImageStatus.SUCCESS, sha256=content_key(np.ascontiguousarray(row).tobytes()))
