"""What would fit flagged pairs better: captions of the collection for their images, and images for their captions."""

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

Ints = npt.NDArray[np.int64]
Repair = dict[str, list[list[Any]]]


class Repairer:
    def __init__(self, given: Inputs) -> None:
        flagged = np.flatnonzero(given.is_flagged)
        order = np.argsort(given.confidence[flagged], kind="stable")[:MOST_REPAIRED]
        self._rows = given.rows
        self._is_chosen = np.zeros(len(given.rows), bool)
        known = given.vectors, given.pairs.image_ids, given.pairs.caption_ids, given.confidence
        has_any = given.vectors is not None and len(flagged) > 0
        self._captions = Finder.of_captions(*known) if has_any else None
        self._images = Finder.of_images(*known) if has_any else None
        if has_any:
            self._is_chosen[flagged[order]] = True
        self.flagged, self.searched = len(flagged), int(self._is_chosen.sum())
        self.likely = {"captions": 0, "images": 0}

    def best(self, places: Ints) -> dict[int, Repair]:
        """Of those among these pairs that are to be repaired, by their place."""
        chosen = places[self._is_chosen[places]]
        if not len(chosen) or self._captions is None or self._images is None:
            return {}
        captions, images = self._captions.best(chosen), self._images.best(chosen)
        self.likely["captions"] += int((captions.confidence.max(axis=1) >= LIKELY).sum())
        self.likely["images"] += int((images.confidence.max(axis=1) >= LIKELY).sum())
        return {
            int(place): {"captions": self._listed(captions, number), "images": self._listed(images, number)}
            for number, place in enumerate(chosen)
        }

    def _listed(self, found: Found, number: int) -> list[list[Any]]:
        """As service.db.explanations.SUGGESTION_FIELDS has it."""
        columns = found.places[number], found.similarity[number], found.confidence[number]
        return [
            [int(self._rows[place]), round(float(similarity), DIGITS), round(float(confidence), DIGITS)]
            for place, similarity, confidence in zip(*columns, strict=True)
            if place != NONE
        ]
