"""Which caption every row takes once found shifts are undone."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from model.repair.shifts import Shift

Ints = npt.NDArray[np.int64]

_NONE = -1


@dataclass(frozen=True)
class Correction:
    """All arrays hold line numbers, ascending by `rows`. A row is named by its image."""

    rows: Ints  # rows that have an image and a caption afterwards
    captions: Ints  # for each of them the row whose caption it takes: its own outside the shifts
    images_left: Ints  # rows in no pair any more: their image has no caption at the edge of a block
    captions_left: Ints  # rows whose caption is in no pair any more: its image is not there or has another caption

    @property
    def changed(self) -> int:
        return int((self.rows != self.captions).sum())


def corrected(rows: Ints, shifts: Sequence[Shift]) -> Correction:
    """`rows` are the ascending line numbers of all pairs. Where two blocks claim one image, the first has it."""
    rows = np.asarray(rows, dtype=np.int64)
    taken = np.arange(len(rows))  # place of the caption that each row takes
    blocks = [(*np.searchsorted(rows, [shift.first, shift.last + 1]), shift.offset) for shift in shifts]
    for start, end, _ in blocks:
        taken[start:end] = _NONE
    is_claimed = np.zeros(len(rows), dtype=bool)
    for start, end, offset in blocks:
        wanted = rows[start:end] + offset
        found = np.minimum(np.searchsorted(rows, wanted), len(rows) - 1)
        is_free = (rows[found] == wanted) & ~is_claimed[found]
        taken[found[is_free]] = np.arange(start, end)[is_free]
        is_claimed[found[is_free]] = True
    has_caption = taken != _NONE
    is_used = np.zeros(len(rows), dtype=bool)
    is_used[taken[has_caption]] = True
    return Correction(rows[has_caption], rows[taken[has_caption]], rows[~has_caption], rows[~is_used])
