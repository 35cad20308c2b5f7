"""Positions of pairs: an even sample of them, and blocks that fit in memory."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

BLOCK = 4096


def spread(count: int, most: int) -> Ints:
    """At most so many of the first `count`, evenly spread."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))


def blocks(rows: Ints, size: int | None = None) -> Iterator[Ints]:
    size = size or BLOCK
    for at in range(0, len(rows), size):
        yield rows[at : at + size]
