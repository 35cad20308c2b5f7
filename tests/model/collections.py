"""Synthetic collections: two views of one hidden vector per pair, some pairs mismatched on purpose."""

import numpy as np
import numpy.typing as npt

from model.pairs import Pairs


def make_pairs(
    count: int, mismatched: float, seed: int = 0, repeats: int = 1, dtype: npt.DTypeLike = np.float32
) -> tuple[Pairs, npt.NDArray[np.bool_]]:
    """Pairs and which of them are mismatched. Every image serves `repeats` pairs, with captions of its own."""
    rng = np.random.default_rng(seed)
    images = np.arange(count) // repeats
    hidden = rng.normal(size=(images.max() + 1, 12))
    seen = hidden @ rng.normal(size=(12, 40)) + 0.3 * rng.normal(size=(len(hidden), 40))
    written = hidden[images] @ rng.normal(size=(12, 24)) + 0.3 * rng.normal(size=(count, 24))
    chosen = np.sort(rng.choice(count, round(mismatched * count), replace=False))
    given = images.copy()
    # Turned by a third of their number, so that no chosen pair keeps its image.
    given[chosen] = np.roll(images[chosen], len(chosen) // 3)
    pairs = Pairs(
        seen[given].astype(dtype), written.astype(dtype), given.astype(np.int64), np.arange(count, dtype=np.int64)
    )
    return pairs, given != images
