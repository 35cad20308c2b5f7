"""E(e_t, I) of LNC Eq. (A1): does the image depict what an element of the caption claims, and if not, what is wrong?

A head is judged against its own scores on other images, an attribute or a count against images of the same head with
another one of its sort ("red car" against "blue car"). At most one part of an element is taken to be wrong.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from model.elements.concepts import NONE, Parts, Rivals
from model.elements.scale import Scale

Floats = npt.NDArray[np.float64]

LEAST_DEPICTED = 0.5
# Before any look, how often a part is wrong; heads: as many as there are mismatches, within these.
_WRONG_HEADS = (0.1, 0.5)
_WRONG_TRAIT = {Rivals.COLOUR: 0.08, Rivals.OTHER: 0.04, Rivals.COUNT: 0.04}
_NAMES = {Rivals.COLOUR: "colour", Rivals.OTHER: "attribute", Rivals.COUNT: "count"}


@dataclass(frozen=True)
class Verdict:
    """P(the image depicts an element), and where it does not, the part that is most likely wrong."""

    probability: float
    wrong: str | None


@dataclass(frozen=True)
class Indicator:
    scale: Scale
    is_setting: npt.NDArray[np.bool_]  # (V,) heads that say where a scene is
    mismatch_rate: float

    def verdict(self, parts: Parts, evidence: Floats) -> Verdict:
        """From the evidence of every concept (V,) about one image."""
        rate = float(np.clip(self.mismatch_rate, *_WRONG_HEADS))
        name = "setting" if parts.head != NONE and self.is_setting[parts.head] else "kind"
        against = [(_odds(rate, evidence, parts.head), name)]
        for trait in parts.traits:
            column = self.telling(trait.column, trait.phrase)
            if column != NONE and self.scale.slope[column] > 0:
                against.append((_odds(_WRONG_TRAIT[trait.rivals], evidence, column), _NAMES[trait.rivals]))
        probability = float(1 / (1 + sum(odds for odds, _ in against)))
        return Verdict(probability, max(against)[1] if probability < LEAST_DEPICTED else None)

    def telling(self, column: int, phrase: int) -> int:
        """The one of an attribute's two columns, on any head and on this one, that tells more."""
        if NONE in (column, phrase):
            return max(column, phrase)
        return phrase if self.scale.strength[phrase] > self.scale.strength[column] else column


def _odds(rate: float, evidence: Floats, column: int) -> float:
    """That a part is wrong; of what is not in the vocabulary nothing more is known."""
    said = 0.0 if column == NONE else float(evidence[column])
    return float(rate / (1 - rate) * np.exp(-said))
