"""Keys of a feature store: the first half of a sha256 as two numbers, and how two sets of them are matched."""

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

KEY_BYTES = 32
SHORT_BYTES = 16  # half of a sha256: a chance meeting among 10^12 contents is still below 10^-14
CHUNK_KEYS = 2**18

Keys = NDArray[np.uint8]  # (N, 32)
Places = NDArray[np.int64]


@dataclass(frozen=True)
class ShortKeys:
    high: NDArray[np.uint64]  # (n,)
    low: NDArray[np.uint64]  # (n,)

    def __len__(self) -> int:
        return len(self.high)

    def __getitem__(self, index: NDArray[Any]) -> "ShortKeys":
        return ShortKeys(self.high[index], self.low[index])


def shorten(keys: Keys) -> ShortKeys:
    if keys.ndim != 2 or keys.shape[1] != KEY_BYTES or keys.dtype != np.uint8:
        raise ValueError(f"keys must be uint8 of shape (N, {KEY_BYTES}), not {keys.dtype} {keys.shape}")
    numbers = np.ascontiguousarray(keys[:, :SHORT_BYTES]).view("<u8")
    return ShortKeys(np.ascontiguousarray(numbers[:, 0]), np.ascontiguousarray(numbers[:, 1]))


def in_chunks(keys: Any) -> Iterator[tuple[slice, Keys]]:
    """Anything that is sliced like an (N, 32) array, piece by piece; of a mapped file only one piece is in memory."""
    for start in range(0, len(keys), CHUNK_KEYS):
        part = slice(start, min(start + CHUNK_KEYS, len(keys)))
        yield part, np.asarray(keys[part])
        # A private map ("c") would forget what was written to it.
        if isinstance(keys, np.memmap) and keys.mode in ("r", "r+"):
            keys._mmap.madvise(mmap.MADV_DONTNEED)  # type: ignore[attr-defined]


def ascending(keys: ShortKeys) -> Places:
    """Where the keys are, in order; of equal ones only the first."""
    order = np.lexsort((keys.low, keys.high))
    ordered = keys[order]
    is_new = np.ones(len(keys), np.bool_)
    is_new[1:] = (np.diff(ordered.high) != 0) | (np.diff(ordered.low) != 0)
    return order[is_new]


def matches(ours: ShortKeys, theirs: ShortKeys) -> tuple[Places, Places]:
    """All (i, j) with ours[i] == theirs[j]. Both ascend by their high half. The shorter is looked up in the longer."""
    if len(ours) > len(theirs):
        there, here = matches(theirs, ours)
        return here, there
    start = np.searchsorted(theirs.high, ours.high)
    near = np.flatnonzero(theirs.high[np.minimum(start, len(theirs) - 1)] == ours.high) if len(theirs) else start[:0]
    start = start[near]
    counts = np.searchsorted(theirs.high, ours.high[near], side="right") - start
    here = np.repeat(near, counts)
    there = np.arange(len(here)) + np.repeat(start - (np.cumsum(counts) - counts), counts)
    is_same = ours.low[here] == theirs.low[there]
    return here[is_same], there[is_same]
