"""Synthetic collections: two views of one hidden vector per pair, some pairs mismatched on purpose."""

from dataclasses import replace

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


def make_near_misses(count: int, mismatched: float, seed: int = 0) -> tuple[Pairs, npt.NDArray[np.bool_]]:
    """The same, but a mismatched pair has one of the twenty images most like its own."""
    pairs, _ = make_pairs(count, 0.0, seed)
    rng = np.random.default_rng(seed + 1)
    chosen = rng.choice(count, round(mismatched * count), replace=False)
    seen = np.asarray(pairs.images)
    apart = np.square(seen[chosen, None] - seen[None]).sum(axis=2)
    given = np.arange(count)
    given[chosen] = np.argsort(apart, axis=1)[np.arange(len(chosen)), rng.integers(1, 21, len(chosen))]
    return replace(pairs, images=seen[given], image_ids=given.astype(np.int64)), given != np.arange(count)


def make_scenes(count: int, mismatched: float, seed: int = 0) -> tuple[Pairs, npt.NDArray[np.bool_]]:
    """Pairs with regions and words: a scene of a few things, each seen in one region and named by one word.

    Two of its three things are of one kind, which is its label; there are four kinds of four things.
    """
    rng = np.random.default_rng(seed)
    kinds, each, shown = 4, 4, 3
    things = kinds * each
    kind = rng.integers(kinds, size=count)
    same = kind[:, None] * each + np.argsort(rng.random((count, each)), axis=1)[:, : shown - 1]
    scene = np.concatenate([same, rng.integers(things, size=(count, 1))], axis=1)  # (N, shown)
    looks, meanings = rng.normal(size=(things, 16)), rng.normal(size=(things, 12))
    seen = looks[scene] + 0.2 * rng.normal(size=(count, shown, 16))
    written = meanings[scene].sum(axis=1) + 0.2 * rng.normal(size=(count, 12))
    texts = [" ".join(f"thing{thing}" for thing in rng.permutation(row)) for row in scene]
    chosen = np.sort(rng.choice(count, round(mismatched * count), replace=False))
    given = np.arange(count)
    given[chosen] = np.roll(chosen, len(chosen) // 3)
    pairs = Pairs(
        seen[given].astype(np.float32),
        written.astype(np.float32),
        given.astype(np.int64),
        np.arange(count, dtype=np.int64),
        texts=texts,
        labels=kind,
    )
    return pairs, given != np.arange(count)


def mislabel(pairs: Pairs, share: float, seed: int = 0) -> tuple[Pairs, npt.NDArray[np.bool_]]:
    """The same pairs with another label for some of them, and which."""
    assert pairs.labels is not None
    rng = np.random.default_rng(seed)
    kinds = int(pairs.labels.max()) + 1
    is_wrong = np.zeros(len(pairs), dtype=bool)
    is_wrong[rng.choice(len(pairs), round(share * len(pairs)), replace=False)] = True
    other = (pairs.labels + rng.integers(1, kinds, size=len(pairs))) % kinds
    return replace(pairs, labels=np.where(is_wrong, other, pairs.labels)), is_wrong
