"""Blocks of rows whose captions slipped by a few rows against their images, as happens when files are put together.

A hidden Markov model over the rows in file order: its states are "not shifted", one offset each, and "nothing belongs
together here"; its evidence is how likely the caption of a row belongs to the image some rows further, and the best
sequence of states is Viterbi's.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from model.repair.evidence import Evidence, Likelihood

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_OFFSET = 3
# Expected number of blocks found by chance in a whole collection without any.
_FALSE_BLOCKS = 0.01
# Rows that tell the offset from no shift, below which a block is not worth a word.
_LEAST_TELLING = 10
_BLOCK = 4096


@dataclass(frozen=True)
class Shift:
    """Captions of the rows `first` to `last` belong to the images `offset` rows further down (up if negative)."""

    first: int
    last: int
    offset: int
    rows: int  # pairs among these lines
    telling: int  # of them, those whose content changes with the offset: not so among the captions of one image
    confidence_before: float  # mean P(match) of the telling rows as they are
    confidence_after: float  # and with the offset undone
    score: float  # log likelihood ratio of this shift against no shift and against plain mismatches, in nats

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def message(self) -> str:
        count, way = abs(self.offset), "down" if self.offset > 0 else "up"
        rows = "one row" if count == 1 else f"{count} rows"
        return (
            f"rows {self.first:,}-{self.last:,} look shifted: each caption belongs to the image {rows} further {way} "
            f"(mean confidence {self.confidence_before:.2f} as they are, {self.confidence_after:.2f} shifted back)"
        )


def find_shifts(
    images: Any,
    captions: Any,
    rows: Ints,
    image_ids: Ints,
    caption_ids: Ints,
    confidence: npt.NDArray[np.floating],
    most_offset: int = MOST_OFFSET,
    on_progress: Callable[[float], None] = lambda fraction: None,
) -> list[Shift]:
    """`images` and `captions` are vectors of the trained networks, indexed by positions; `rows` the ascending line
    numbers of the pairs, with gaps where lines have none; `confidence` is P(match) of every pair.

    Nothing is found where too few pairs are trusted to learn what a match looks like.
    """
    rows = np.asarray(rows, dtype=np.int64)
    if len(rows) and (np.diff(rows) <= 0).any():
        raise ValueError("rows must be line numbers in ascending order, each once")
    evidence = Evidence(images, captions, rows, image_ids, caption_ids, most_offset)
    likelihood = Likelihood.fit(evidence, np.asarray(confidence))
    if likelihood is None:
        return []
    cost = float(np.log(max(1, len(evidence.offsets) * len(rows)) / _FALSE_BLOCKS))

    def emissions() -> Iterator[npt.NDArray[np.float32]]:
        for at in range(0, len(rows), _BLOCK):
            some = np.arange(at, min(at + _BLOCK, len(rows)))
            ratio = likelihood.ratio(evidence.similarities(some)[0])
            # Without the last state a stretch of mismatches would be shifted by whatever fits it best by chance.
            yield np.column_stack([ratio, np.zeros(len(ratio), np.float32)])
            on_progress((at + len(some)) / len(rows))

    states = _best_path(emissions(), len(rows), len(evidence.offsets) + 1, cost)
    edges = np.concatenate([[0], np.flatnonzero(np.diff(states)) + 1, [len(rows)]])
    found = []
    for start, end in pairwise(edges):
        state = int(states[start]) if len(rows) else 0
        is_shifted = 0 < state < len(evidence.offsets)
        shift = _described(evidence, likelihood, int(start), int(end), state) if is_shifted else None
        if shift is not None and shift.score > cost:
            found.append(shift)
    return found


def _best_path(
    emissions: Iterator[npt.NDArray[np.float32]], count: int, states: int, cost: float
) -> npt.NDArray[np.int8]:
    """Viterbi: the states, 0 being no shift, of most likelihood when a block costs `cost`, half at either end."""
    half = np.float32(cost / 2)
    value = np.full(states, -half, np.float64)
    value[0] = 0.0
    source = np.empty(count, np.int8)  # the best state before a row: where a change comes from
    is_changed = np.empty((count, states), bool)
    at = 0
    for block in emissions:
        for gain in block:
            best = value.argmax()
            changed = value[best] - half
            source[at] = best
            np.less(value, changed, out=is_changed[at])
            value = np.maximum(value, changed) + gain
            at += 1
    path = np.empty(count, np.int8)
    value[1:] -= half
    state = int(value.argmax())
    for at in range(count - 1, -1, -1):
        path[at] = state
        if is_changed[at, state]:
            state = int(source[at])
    return path


def _described(evidence: Evidence, likelihood: Likelihood, start: int, end: int, state: int) -> Shift | None:
    """Positions `start` to `end` in a state, without rows at the edges that tell nothing; None where few tell."""
    gains, before, after, telling = np.zeros(2), 0.0, 0.0, []
    for at in range(start, end, _BLOCK):
        some = np.arange(at, min(at + _BLOCK, end))
        values, is_telling = evidence.similarities(some)
        ratio = likelihood.ratio(values)[is_telling[:, state]]
        gains += ratio[:, [state, 0]].sum(axis=0, dtype=np.float64)
        match = likelihood.match(values[is_telling[:, state]])
        before, after = before + float(match[:, 0].sum()), after + float(match[:, state].sum())
        telling.append(some[is_telling[:, state]])
    places = np.concatenate(telling)
    if len(places) < _LEAST_TELLING:
        return None
    first, last = int(places[0]), int(places[-1])
    return Shift(
        first=int(evidence.rows[first]),
        last=int(evidence.rows[last]),
        offset=int(evidence.offsets[state]),
        rows=last - first + 1,
        telling=len(places),
        confidence_before=before / len(places),
        confidence_after=after / len(places),
        score=float(gains[0] - max(gains[1], 0.0)),
    )
