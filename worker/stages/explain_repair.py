"""What would fit flagged pairs better: captions of the collection for their images, and images for their captions."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from model.repair.suggestions import NONE, Finder, Found
from service.db.explanations import DIGITS
from worker.stages.explain_inputs import Inputs

# Flagged pairs that get suggestions, the least trusted ones: nobody looks at more, and each costs two searches.
MOST_REPAIRED = 100_000
# A suggestion this likely is counted as one.
LIKELY = 0.5
BLOCK = 1_024

Ints = npt.NDArray[np.int64]
Repair = dict[str, list[list[Any]]]


class Repairs:
    """One side after the other: an index of a million contents is large, and what it finds is small."""

    def __init__(self, given: Inputs, show: Callable[[str], None]) -> None:
        flagged = np.flatnonzero(given.is_flagged)
        self.flagged, self._rows = len(flagged), given.rows
        least_trusted = flagged[np.argsort(given.confidence[flagged], kind="stable")[:MOST_REPAIRED]]
        self._chosen: Ints = np.sort(least_trusted)
        self._found: dict[str, list[Found]] = {}
        known = given.vectors, given.pairs.image_ids, given.pairs.caption_ids, given.confidence
        for side, finder_of in (("captions", Finder.of_captions), ("images", Finder.of_images)):
            show(f"looking for {side} that fit better")
            finder = finder_of(*known) if len(flagged) else None
            if finder is not None:
                self._found[side] = self._search(finder, show, side)

    @property
    def searched(self) -> int:
        return len(self._chosen) if self._found else 0

    @property
    def likely(self) -> dict[str, int]:
        """How many have a suggestion that is more likely right than not."""
        found = {side: self._found.get(side, []) for side in ("captions", "images")}
        return {
            side: sum(int((block.confidence.max(axis=1) >= LIKELY).sum()) for block in blocks)
            for side, blocks in found.items()
        }

    def of(self, place: int) -> Repair | None:
        at = int(np.searchsorted(self._chosen, place))
        if not self._found or at == len(self._chosen) or self._chosen[at] != place:
            return None
        block, number = divmod(at, BLOCK)
        return {side: self._listed(found[block], number) for side, found in self._found.items()}

    def _search(self, finder: Finder, show: Callable[[str], None], side: str) -> list[Found]:
        found = []
        for at in range(0, len(self._chosen), BLOCK):
            show(f"looking for {side} that fit better, {at / len(self._chosen):.0%}")
            found.append(finder.best(self._chosen[at : at + BLOCK]))
        return found

    def _listed(self, found: Found, number: int) -> list[list[Any]]:
        """As service.db.explanations.SUGGESTION_FIELDS has it."""
        columns = found.places[number], found.similarity[number], found.confidence[number]
        return [
            [int(self._rows[place]), round(float(similarity), DIGITS), round(float(confidence), DIGITS)]
            for place, similarity, confidence in zip(*columns, strict=True)
            if place != NONE
        ]
