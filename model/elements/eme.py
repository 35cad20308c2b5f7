"""The exactly-matched-element score: LNC Appendix A, Eq. (A1), with the lists it is made of.

    EME = 1/(2 N_I) sum E(e_i, T) + 1/(2 N_T) sum E(e_t, I)

It counts shared content. It cannot see contradictions or complements: "a dog chases a man" and "a man chases a dog"
have the same elements, and what both sides rightly add to each other lowers the score.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class CaptionElement:
    """What the caption speaks of; `caption[start:end]` is `text`."""

    text: str
    lemma: str
    start: int
    end: int
    probability: float  # that the image depicts it
    is_depicted: bool
    wrong: str | None  # the part that is most likely wrong where it is not: "colour", "count", "kind", "setting" ...
    is_known: bool  # the collection speaks of it often enough to judge it; others do not count


@dataclass(frozen=True, slots=True)
class ImageElement:
    """What the image shows."""

    lemma: str
    probability: float  # that it does
    mention: float  # how far the caption speaks of it, 0 to 1
    is_mentioned: bool
    source: Literal["concept", "detector"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """One pair. Both scores are None where neither side has an element to judge."""

    eme: float | None
    eme_soft: float | None
    caption_elements: tuple[CaptionElement, ...]
    image_elements: tuple[ImageElement, ...]

    @classmethod
    def of(cls, caption: Sequence[CaptionElement], image: Sequence[ImageElement]) -> "Explanation":
        """Soft: probabilities in place of the indicators, every image element counted by its own."""
        judged = [element for element in caption if element.is_known]
        hard = score([element.is_mentioned for element in image], [element.is_depicted for element in judged])
        soft = score(
            [element.mention for element in image],
            [element.probability for element in judged],
            [element.probability for element in image],
        )
        return cls(hard, soft, tuple(caption), tuple(image))

    def to_dict(self) -> dict[str, Any]:
        return {
            "eme": self.eme,
            "eme_soft": self.eme_soft,
            "caption_elements": [asdict(element) for element in self.caption_elements],
            "image_elements": [asdict(element) for element in self.image_elements],
        }


def score(
    mentioned: Sequence[float], depicted: Sequence[float], image_weights: Sequence[float] | None = None
) -> float | None:
    """Eq. (A1). Where one side has no element the other counts for both; None where both have none.

    `mentioned` is E(e_i, T) of every image element, `depicted` E(e_t, I) of every caption element.
    """
    weights = [1.0] * len(mentioned) if image_weights is None else image_weights
    sides = []
    if mentioned:
        sides.append(sum(w * e for w, e in zip(weights, mentioned, strict=True)) / max(sum(weights), 1e-9))
    if depicted:
        sides.append(sum(depicted) / len(depicted))
    return sum(sides) / len(sides) if sides else None
