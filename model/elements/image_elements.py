"""What an image shows, by the concepts that its votes speak for: few, likely, and none said twice."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression

from model.elements.concepts import NONE, Concepts, Parts, Rivals
from model.elements.indicator import Indicator

Floats = npt.NDArray[np.float64]

MOST_ELEMENTS = 8
LEAST_PROBABILITY = 0.5
# An attribute is added to its head only when it is as sure as this.
_LEAST_ATTRIBUTE = 0.7
# Captions leave out much of what can be seen: odds of being shown for each odds of being mentioned. Chosen on the
# demo's scenes, seeds 10 to 12, whose contents are known: as many are listed as keep four in five right.
_LEFT_OUT = 5.0
_SHARES = (1e-5, 0.5)
# Sums of evidence and share that are told apart, and images that "a sum means what it says" is worth at each.
_STEP = 0.5
_SUMS = np.arange(-10, 10 + _STEP, _STEP)
_BELIEVED = 5.0
_CERTAIN = 1e-4


@dataclass(frozen=True)
class Seen:
    """One concept that an image shows."""

    head: int
    attribute: int  # NONE where none is sure
    probability: float


@dataclass(frozen=True)
class Usual:
    """An attribute that is often said of a head, its more telling column, and its share among others of its sort."""

    attribute: int
    column: int
    share: float


@dataclass(frozen=True)
class Mentioned:
    """P(a trusted caption mentions a head), from the image's evidence for it and its share of all captions.

    By Bayes it would be their sum as log odds. What a sum means in truth is counted: captions name what is plain to see
    nearly always and leave out the doubtful, and no formula is known for that.
    """

    odds: Floats  # log odds for each sum of _SUMS, ascending

    @classmethod
    def fit(
        cls, evidence: Floats, is_mentioned: npt.NDArray[np.bool_], trust: npt.NDArray[np.float32], share: Floats
    ) -> "Mentioned":
        sums = np.clip(evidence + logit(share), _SUMS[0], _SUMS[-1])
        part = np.rint((sums - _SUMS[0]) / _STEP).astype(np.int64).ravel()
        counted = np.broadcast_to(trust[:, None], sums.shape).ravel()
        every = np.bincount(part, counted, len(_SUMS)) + _BELIEVED
        said = np.bincount(part, counted * is_mentioned.ravel(), len(_SUMS)) + _BELIEVED * expit(_SUMS)
        curve = IsotonicRegression(y_min=_CERTAIN, y_max=1 - _CERTAIN).fit(_SUMS, said / every, every)
        return cls(np.asarray(logit(curve.predict(_SUMS))))

    def log_odds(self, evidence: Floats, share: Floats) -> Floats:
        return np.asarray(np.interp(evidence + logit(share), _SUMS, self.odds))


@dataclass(frozen=True)
class Gallery:
    """Which heads an image shows, from the evidence of its votes and how often captions speak of each."""

    concepts: Concepts
    share: Floats  # (H,) of the trusted captions that mention a head
    mentioned: Mentioned
    usual: dict[int, list[Usual]]  # by head

    @classmethod
    def fit(
        cls,
        concepts: Concepts,
        indicator: Indicator,
        evidence: Floats,  # (n, H) of some images
        is_mentioned: npt.NDArray[np.bool_],  # (n, H) by their captions
        trust: npt.NDArray[np.float32],  # (n,)
        share: Floats,
    ) -> "Gallery":
        share = np.clip(share, *_SHARES)
        mentioned = Mentioned.fit(evidence, is_mentioned, trust, share)
        return cls(concepts, share, mentioned, _usual(concepts, indicator))

    def probabilities(self, evidence: Floats) -> Floats:
        """(n, H) that an image shows each head."""
        return np.asarray(expit(self.mentioned.log_odds(evidence, self.share) + np.log(_LEFT_OUT)))

    def seen(self, evidence: Floats, probabilities: Floats) -> list[Seen]:
        """Of one image, from the evidence of all concepts (V,) and the probabilities of the heads (H,)."""
        likely = np.flatnonzero(probabilities >= LEAST_PROBABILITY)
        heads = likely[np.argsort(-probabilities[likely], kind="stable")][:MOST_ELEMENTS]
        return [self._seen(int(head), float(probabilities[head]), evidence) for head in heads]

    def _seen(self, head: int, probability: float, evidence: Floats) -> Seen:
        sure = [
            (float(expit(evidence[usual.column] + logit(usual.share))), usual.attribute)
            for usual in self.usual.get(head, ())
        ]
        surest, attribute = max(sure, default=(0.0, NONE))
        if surest >= _LEAST_ATTRIBUTE and probability * surest >= LEAST_PROBABILITY:
            return Seen(head, attribute, probability * surest)
        return Seen(head, NONE, probability)

    def name(self, seen: Seen) -> str:
        head = self.concepts.names[seen.head]
        return head if seen.attribute == NONE else f"{self.concepts.names[seen.attribute]} {head}"

    def mention(self, seen: Seen, caption: Sequence[Parts], alike: float) -> float:
        """E(e_i, T), soft: 1 for the same head, by lemma or synonym, unless it is given another colour there; else
        `alike`, how likely captions that resemble this one are of images that show it."""
        same = [parts for parts in caption if parts.head == seen.head]
        if not same:
            return alike
        return 0.0 if all(self._contradicts(seen, parts) for parts in same) else 1.0

    def _contradicts(self, seen: Seen, parts: Parts) -> bool:
        colours = {trait.column for trait in parts.traits if trait.rivals == Rivals.COLOUR}
        is_colour = seen.attribute in self.concepts.colours
        return is_colour and bool(colours) and seen.attribute not in colours


def _usual(concepts: Concepts, indicator: Indicator) -> dict[int, list[Usual]]:
    totals: dict[tuple[int, bool], int] = {}
    for (attribute, head), phrase in concepts.phrases.items():
        key = head, attribute in concepts.colours
        totals[key] = totals.get(key, 0) + int(concepts.mentions[phrase])
    found: dict[int, list[Usual]] = {}
    for (attribute, head), phrase in concepts.phrases.items():
        column = indicator.telling(attribute, phrase)
        share = concepts.mentions[phrase] / (totals[head, attribute in concepts.colours] + 1)
        if indicator.scale.slope[column] > 0:
            found.setdefault(head, []).append(Usual(attribute, column, float(share)))
    return found
