"""Known mismatches that join a training: captions of the collection with other images of it.

Half of them have any other image, half one that resembles their own. They are learned like every pair, so how they
score tells what an unknown mismatch looks like here.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from model.config import MIN_PAIRS
from model.neighbours import Index, unit
from model.pairs import Pairs, Placed, PlacedTexts

LEAST_PROBES = 200
# Fewer than these calibrate nothing, and are left out.
_FEWEST = 50
# A near miss is one of this share of the images most like the right one, and of at least so many.
NEAR_SHARE, LEAST_NEAR = 0.01, 10
# Images that a near miss is chosen from; more would not come nearer in any way that matters.
_MOST_CANDIDATES = 20_000
_BLOCK = 1024
# Keeps the draw of probes apart from everything else the seed decides.
_SEED = 1_000_003

RANDOM, NEAR = 0, 1
KIND_NAMES = ("random", "near")

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Probes:
    """P mismatches, as positions in the collection they were made of."""

    images: Ints  # (P,) whose image each has
    captions: Ints  # (P,) whose caption
    kinds: npt.NDArray[np.int8]  # (P,) RANDOM or NEAR

    def __len__(self) -> int:
        return len(self.kinds)

    def sources(self, count: int) -> tuple[Ints, Ints]:
        """Whose image and whose caption each of `count` pairs and of the probes behind them has. Asked for its word on
        a probe, such a pair would contradict it, as no other pair would a real mismatch."""
        rows = np.arange(count)
        return np.concatenate([rows, self.images]), np.concatenate([rows, self.captions])

    def save(self, path: Path) -> None:
        with path.open("wb") as file:
            np.savez(file, images=self.images, captions=self.captions, kinds=self.kinds)

    @classmethod
    def load(cls, path: Path) -> "Probes":
        with np.load(path, allow_pickle=False) as arrays:
            return cls(arrays["images"], arrays["captions"], arrays["kinds"])


def make_probes(pairs: Pairs, share: float, seed: int) -> Probes:
    """A share of the collection, at least 200; fewer only where re-pairing gives what is there already, and none where
    too few contents differ.

    Stratified: the captions are spread evenly over the collection, in its order.
    """
    count = len(pairs)
    wanted = max(LEAST_PROBES, round(share * count)) if share else 0
    rng = np.random.default_rng(seed + _SEED)
    captions = _spread(count, wanted, rng)
    kinds = (np.arange(wanted) % 2).astype(np.int8)
    images = rng.integers(0, count, wanted)
    is_near = kinds == NEAR
    if is_near.any():
        images[is_near] = _near(pairs, captions[is_near], rng)
    made, given = _content(pairs, images, captions), np.unique(_content(pairs, np.arange(count), np.arange(count)))
    # The same probe a second time would tell nothing more, and seem to.
    _, first = np.unique(made, return_index=True)
    first.sort()
    new = first[~np.isin(made[first], given)]
    # Beside 26 different matches, listed several times, 180 probes were all that was learned: .94 noise for .35.
    if len(new) < _FEWEST or len(given) < MIN_PAIRS:
        new = new[:0]
    return Probes(images[new], captions[new], kinds[new])


def with_probes(pairs: Pairs, probes: Probes) -> Pairs:
    """The collection with its probes behind it; nothing is copied but numbers."""
    images, captions = probes.sources(len(pairs))
    anchors = pairs.anchors
    return Pairs(
        Placed(pairs.images, images),
        Placed(pairs.captions, captions),
        pairs.image_ids[images],
        pairs.caption_ids[captions],
        None if pairs.texts is None else PlacedTexts(pairs.texts, captions),
        # The given category describes the image in some collections and the caption in others; MRL learns it of both.
        None if pairs.labels is None else pairs.labels[images],
        None if anchors is None else np.concatenate([anchors, np.zeros(len(probes), np.int8)]),
        pairs.is_joint,
        len(probes),
    )


def _content(pairs: Pairs, images: Ints, captions: Ints) -> Ints:
    """A number for every image with every caption, the same where the content is."""
    return np.asarray(pairs.image_ids[images] * (int(pairs.caption_ids.max()) + 1) + pairs.caption_ids[captions])


def _spread(count: int, wanted: int, rng: np.random.Generator) -> Ints:
    """One position out of each of `wanted` equal stretches of the collection."""
    edges = np.linspace(0, count, wanted + 1)
    return np.minimum((edges[:-1] + rng.random(wanted) * np.diff(edges)).astype(np.int64), count - 1)


def _near(pairs: Pairs, captions: Ints, rng: np.random.Generator) -> Ints:
    """For each caption a pair whose image resembles the caption's own."""
    _, first = np.unique(pairs.image_ids, return_index=True)
    candidates = first[np.linspace(0, len(first) - 1, min(len(first), _MOST_CANDIDATES)).astype(np.int64)]
    among = max(LEAST_NEAR, round(NEAR_SHARE * len(candidates)))
    vectors = _pooled(pairs.images, candidates)
    mean = vectors.mean(axis=0)
    queries = unit(_pooled(pairs.images, captions) - mean)
    found, _ = Index(unit(vectors - mean)).nearest(queries, min(among + 1, len(candidates)))
    chosen = candidates[found]  # (captions, among + 1)
    # Its own image is the nearest of all: it goes last, where nothing is drawn from.
    is_own = pairs.image_ids[chosen] == pairs.image_ids[captions][:, None]
    order = np.argsort(is_own, axis=1, kind="stable")
    places = rng.integers(0, max(1, chosen.shape[1] - 1), len(captions))
    return np.asarray(np.take_along_axis(chosen, order, axis=1)[np.arange(len(captions)), places])


def _pooled(images: Any, rows: Ints) -> npt.NDArray[np.float32]:
    pooled = []
    for at in range(0, len(rows), _BLOCK):  # regions are many times as large as their mean
        values = np.asarray(images[rows[at : at + _BLOCK]], dtype=np.float32)
        pooled.append(values if values.ndim == 2 else values.mean(axis=1))
    return np.concatenate(pooled)
