"""Vectors as trained networks give them: image and caption of a pair resemble each other, others hardly."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from model.neighbours import Vectors, unit

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Case:
    images: Vectors
    captions: Vectors
    image_ids: Ints
    caption_ids: Ints
    confidence: npt.NDArray[np.float64]
    true_images: Ints  # for every row the image its caption belongs to
    is_mismatch: Bools


def make_case(
    count: int,
    seed: int = 0,
    mismatched: float = 0.0,
    repeats: int = 1,
    order: Ints | None = None,
    hidden: npt.NDArray[np.float64] | None = None,
    blur: float = 0.8,
) -> Case:
    """`repeats` captions an image; `order` says which caption stands in each row, `blur` how little a pair is alike."""
    rng = np.random.default_rng(seed)
    own = np.arange(count) // repeats
    meant = rng.normal(size=(own[-1] + 1, 24)) if hidden is None else hidden
    seen = unit(meant + blur * rng.normal(size=meant.shape))
    written = unit(meant[own] + blur * rng.normal(size=(count, meant.shape[1])))
    order = np.arange(count) if order is None else order
    given = own.copy()
    chosen = np.sort(rng.choice(count, round(mismatched * count), replace=False))
    given[chosen] = np.roll(own[chosen], len(chosen) // 3)
    is_mismatch = given != own[order]
    # One in ten is judged wrong.
    is_trusted = is_mismatch == (rng.random(count) < 0.1)
    confidence = np.where(is_trusted, 0.9, 0.1)
    return Case(seen[given], written[order], given, order, confidence, own[order], is_mismatch)
