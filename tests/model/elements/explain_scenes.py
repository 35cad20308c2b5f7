"""A small collection for tests: images are sums of directions of what they show, captions name it."""

from dataclasses import dataclass

import numpy as np

from model.pairs import Pairs

THINGS = ("dog", "cat", "horse", "car", "boat", "house")
COLOURS = ("red", "blue", "green", "yellow")
PLACES = ("beach", "forest", "street", "desert")


@dataclass(frozen=True)
class Scenes:
    pairs: Pairs
    shown: list[tuple[str, str, str]]  # thing, colour and place of every image
    said: list[tuple[str, str, str]]
    is_mismatch: np.ndarray

    @property
    def trust(self) -> np.ndarray:
        return np.where(self.is_mismatch, 0.05, 0.95).astype(np.float32)


def make_scenes(count: int = 600, noise: float = 0.3, seed: int = 0) -> Scenes:
    """Every image has two captions; a mismatched one speaks of another image."""
    rng = np.random.default_rng(seed)
    words = (THINGS, COLOURS, PLACES)
    looks = {word: rng.normal(size=48) for part in words for word in part}
    senses = {word: rng.normal(size=32) for part in words for word in part}
    images = [tuple(str(rng.choice(part)) for part in words) for _ in range(count // 2)]
    shown = images * 2
    is_mismatch = rng.random(len(shown)) < noise
    said = [images[rng.integers(len(images))] if wrong else own for own, wrong in zip(shown, is_mismatch, strict=True)]
    is_mismatch = np.array([one != other for one, other in zip(shown, said, strict=True)])
    pixels = np.array([sum(looks[word] for word in scene) for scene in images])
    pixels += 0.5 * rng.normal(size=pixels.shape)
    texts = [f"a {colour} {thing} on the {place}" for thing, colour, place in said]
    meanings = np.array([sum(senses[word] for word in scene) for scene in said])
    _, caption_ids = np.unique(texts, return_inverse=True)
    pairs = Pairs(
        np.tile(pixels, (2, 1)).astype(np.float32),
        (meanings + 0.1 * rng.normal(size=meanings.shape)).astype(np.float32),
        np.tile(np.arange(len(images)), 2),
        caption_ids.astype(np.int64),
        texts,
    )
    return Scenes(pairs, shown, said, is_mismatch)  # type: ignore[arg-type]
