"""Files whose captions slipped by some rows: are the blocks found, and nothing else?"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.protocol.cells import opened
from benchmarks.protocol.elements import Figures
from benchmarks.protocol.judged import judged
from model.config import parse_run_config
from model.pairs import Pairs, Placed, PlacedTexts
from model.repair.shifts import Shift, find_shifts

Ints = npt.NDArray[np.int64]

BLOCKS = 6
_ROWS = (100, 400)  # of a block
_MOST_OFFSET = 3
_APART = 100  # rows between two blocks, at least


@dataclass(frozen=True)
class Slipped:
    pairs: Pairs
    offsets: Ints  # (N,) how far each row's caption slipped; 0 where it did not
    is_telling: npt.NDArray[np.bool_]  # (N,) without rows at the end of a block, whose captions are those of its start


def shift_figures(
    folder: Path, seed: int, *, noise: float = 0.2, on_progress: Callable[[float], None] = lambda fraction: None
) -> Figures:
    """Precision and recall over rows, the offset being right, with so many other mismatches besides."""
    pairs, _ = opened(folder).training(noise, seed, is_quick=True)
    slipped = slip(pairs, seed)
    run = judged(slipped.pairs, parse_run_config({"seed": seed}), on_progress=on_progress)
    vectors = run.engine.vectors()
    assert vectors is not None
    count = run.count
    ids = slipped.pairs.image_ids, slipped.pairs.caption_ids
    found = find_shifts(*vectors, np.arange(count), *ids, run.verdict.scores.clean_confidence)
    return {"pairs": count, "blocks": BLOCKS, "blocks_found": len(found), **against_truth(found, slipped)}


def slip(pairs: Pairs, seed: int) -> Slipped:
    """Captions of some blocks of rows moved by one to three rows; a block's own captions stay in it."""
    rng = np.random.default_rng(seed)
    place, offsets = np.arange(len(pairs)), np.zeros(len(pairs), np.int64)
    is_telling = np.ones(len(pairs), bool)
    for start in rng.choice(len(pairs) // (_ROWS[1] + _APART), BLOCKS, replace=False) * (_ROWS[1] + _APART):
        end = int(start + rng.integers(*_ROWS, endpoint=True))
        offset = int(rng.integers(1, _MOST_OFFSET, endpoint=True) * rng.choice([-1, 1]))
        rows = np.arange(start, end)
        place[rows], offsets[rows] = np.roll(rows, -offset), offset
        is_telling[rows] = (rows + offset >= start) & (rows + offset < end)
    texts = None if pairs.texts is None else PlacedTexts(pairs.texts, place)
    moved = replace(pairs, captions=Placed(pairs.captions, place), caption_ids=pairs.caption_ids[place], texts=texts)
    return Slipped(moved, offsets, is_telling)


def against_truth(found: list[Shift], slipped: Slipped) -> dict[str, float]:
    said = np.zeros(len(slipped.offsets), np.int64)
    for shift in found:
        said[shift.first : shift.last + 1] = shift.offset
    told = slipped.is_telling
    is_right = (said == slipped.offsets) & (said != 0) & told
    return {
        "precision": float(is_right.sum() / max(1, ((said != 0) & told).sum())),
        "recall": float(is_right.sum() / max(1, ((slipped.offsets != 0) & told).sum())),
    }
