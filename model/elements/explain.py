"""Reasons for every pair of a collection: what its caption claims and its image shows, and how far they agree.

Fitted once on a bounded sample, then asked block by block. What a concept looks like is learned from the pairs
themselves, each counted by how far it is trusted, and never from captions of the image that is judged; so no encoder
is needed. What the score cannot see: model/elements/eme.py.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from model.elements.captions import Extractor, extractor
from model.elements.concepts import NONE, Concepts, Parts, prompts
from model.elements.detector import Detected
from model.elements.element import Element
from model.elements.eme import CaptionElement, Explanation, ImageElement
from model.elements.image_elements import MOST_ELEMENTS, Gallery, Seen
from model.elements.indicator import LEAST_DEPICTED, Indicator
from model.elements.learning import Sample, learn_captions, learn_concepts, learn_images
from model.elements.scale import Scale
from model.elements.votes import Reader, Votes, fold_of
from model.pairs import Pairs
from model.positions import blocks

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

EncodeTexts = Callable[[list[str]], npt.NDArray[np.floating]]

BLOCK = 1_024


@dataclass(frozen=True)
class Explainer:
    pairs: Pairs
    read: Extractor
    concepts: Concepts
    readers: tuple[Reader, Reader]  # of images and captions
    votes: tuple[Votes, Votes]  # by images about captions' concepts, and by captions about what images show
    indicator: Indicator
    gallery: Gallery
    caption_scale: Scale

    @classmethod
    def fit(
        cls,
        pairs: Pairs,
        trust: npt.NDArray[np.float32],
        learned: tuple[Any, Any] | None = None,
        *,
        read: Extractor | None = None,
        encode_texts: EncodeTexts | None = None,
        seed: int = 0,
    ) -> "Explainer":
        """`trust` is the clean confidence of the first pairs, which are learned from; more may follow to be explained.

        `learned` are both sides as the trained networks see them (Engine.vectors()); without it their features. With
        a joint encoder and its `encode_texts`, images are read as it made them, and prompts say what a concept looks
        like until pairs do.
        """
        read = read or extractor()
        is_prompted = pairs.is_joint and encode_texts is not None
        sides = (pairs.images, pairs.captions) if learned is None else learned
        readers = Reader(pairs.images if is_prompted else sides[0]), Reader(sides[1])
        sample = Sample.take(pairs, trust, readers, read)
        concepts = learn_concepts(sample)
        directions = readers[0].directions(encode_texts(prompts(concepts))) if is_prompted and encode_texts else None
        image_votes, indicator, gallery = learn_images(sample, concepts, seed, directions)
        caption_votes, caption_scale = learn_captions(sample, concepts, image_votes, indicator, gallery, seed)
        return cls(pairs, read, concepts, readers, (image_votes, caption_votes), indicator, gallery, caption_scale)

    def explain(self, rows: Ints, detected: Sequence[Sequence[Detected]] | None = None) -> list[Explanation]:
        """`detected` is what a detector (model/elements/detector.py) saw in the image of each row."""
        found: list[Explanation] = []
        for some in blocks(np.asarray(rows, np.int64), BLOCK):
            things = None if detected is None else detected[len(found) : len(found) + len(some)]
            found += self._block(some, things or [()] * len(some))
        return found

    def _block(self, rows: Ints, detected: Sequence[Sequence[Detected]]) -> Iterator[Explanation]:
        pairs, (images, captions) = self.pairs, self.readers
        seen = self.votes[0].scores(images(rows), fold_of(pairs.image_ids[rows]))
        evidence = self.indicator.scale.evidence(seen)
        shown = self.gallery.probabilities(evidence[:, : self.concepts.head_count])
        said = self.votes[1].scores(captions(rows), fold_of(pairs.caption_ids[rows]))
        alike = expit(self.caption_scale.evidence(said))
        for number, row in enumerate(rows):
            text = pairs.texts[int(row)]  # type: ignore[index]  # Sample.take refuses pairs without
            yield self._pair(text, evidence[number], shown[number], alike[number], detected[number])

    def _pair(
        self, text: str, evidence: Floats, shown: Floats, alike: Floats, detected: Sequence[Detected]
    ) -> Explanation:
        elements = self.read.elements(text)
        parts = [self.concepts.parts(element) for element in elements]
        caption = [self._caption_element(text, *both, evidence) for both in zip(elements, parts, strict=True)]
        seen = self.gallery.seen(evidence, shown)
        image = [
            _image_element(self.gallery.name(one), one.probability, self.gallery.mention(one, parts, alike[one.head]))
            for one in seen
        ]
        listed = {self.concepts.names[one.head] for one in seen}
        for thing in detected[: MOST_ELEMENTS - len(image)]:
            head, column = self._detected_head(thing)
            if head not in listed:
                is_said = any(element.head == head for element in elements)
                known = 0.0 if column == NONE else self.gallery.mention(Seen(column, NONE, 1.0), parts, alike[column])
                image.append(_image_element(thing.label, thing.score, max(known, float(is_said)), "detector"))
        return Explanation.of(caption, image)

    def _detected_head(self, thing: Detected) -> tuple[str, int]:
        """The word that a label goes by among the concepts, and its column."""
        elements = self.read.elements(thing.label)
        head = elements[-1].head if elements else thing.label
        column = self.concepts.heads.get(head, NONE)
        return head if column == NONE else self.concepts.names[column], column

    def _caption_element(self, text: str, element: Element, parts: Parts, evidence: Floats) -> CaptionElement:
        verdict = self.indicator.verdict(parts, evidence)
        return CaptionElement(
            text=text[element.start : element.end],
            lemma=element.lemma,
            start=element.start,
            end=element.end,
            probability=verdict.probability,
            is_depicted=verdict.probability >= LEAST_DEPICTED,
            wrong=verdict.wrong,
            is_known=parts.is_known,
        )


def _image_element(
    name: str, probability: float, mention: float, source: Literal["concept", "detector"] = "concept"
) -> ImageElement:
    return ImageElement(name, float(probability), float(mention), bool(mention >= LEAST_DEPICTED), source)
