"""Reasons for every pair of a collection: what its caption claims and its image shows, and how far they agree.

Fitted once on a bounded sample, then asked block by block. What a concept looks like is learned from the pairs
themselves, each counted by how far it is trusted, and never from captions of the image that is judged; so no encoder
is needed. What the score cannot see: model/elements/eme.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from model.elements.captions import Extractor, extractor
from model.elements.concepts import Concepts, Parts
from model.elements.element import Element
from model.elements.eme import CaptionElement, Explanation, ImageElement
from model.elements.image_elements import Gallery
from model.elements.indicator import LEAST_DEPICTED, Indicator
from model.elements.learning import Sample, learn_captions, learn_concepts, learn_images
from model.elements.scale import Scale
from model.elements.votes import Reader, Votes, fold_of
from model.pairs import Pairs

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

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
        seed: int = 0,
    ) -> "Explainer":
        """`trust` is the clean confidence of the first pairs, which are learned from; more may follow to be explained.

        `learned` are both sides as the trained networks see them (Engine.vectors()); without it their features.
        """
        read = read or extractor()
        readers = Reader.of((pairs.images, pairs.captions) if learned is None else learned)
        sample = Sample.take(pairs, trust, readers, read)
        concepts = learn_concepts(sample)
        image_votes, indicator, gallery = learn_images(sample, concepts, seed)
        caption_votes, caption_scale = learn_captions(sample, concepts, image_votes, indicator, gallery, seed)
        return cls(pairs, read, concepts, readers, (image_votes, caption_votes), indicator, gallery, caption_scale)

    def explain(self, rows: Ints) -> list[Explanation]:
        return [found for some in _blocks(np.asarray(rows, np.int64)) for found in self._block(some)]

    def _block(self, rows: Ints) -> Iterator[Explanation]:
        pairs, (images, captions) = self.pairs, self.readers
        seen = self.votes[0].scores(images(rows), fold_of(pairs.image_ids[rows]))
        evidence = self.indicator.scale.evidence(seen)
        shown = self.gallery.probabilities(evidence[:, : self.concepts.head_count])
        said = self.votes[1].scores(captions(rows), fold_of(pairs.caption_ids[rows]))
        alike = expit(self.caption_scale.evidence(said))
        for number, row in enumerate(rows):
            yield self._pair(pairs.texts[int(row)], evidence[number], shown[number], alike[number])  # type: ignore[index]

    def _pair(self, text: str, evidence: Floats, shown: Floats, alike: Floats) -> Explanation:
        elements = self.read.elements(text)
        parts = [self.concepts.parts(element) for element in elements]
        caption = [self._caption_element(text, *both, evidence) for both in zip(elements, parts, strict=True)]
        image = []
        for seen in self.gallery.seen(evidence, shown):
            mention = self.gallery.mention(seen, parts, float(alike[seen.head]))
            name = self.gallery.name(seen)
            image.append(ImageElement(name, seen.probability, mention, mention >= LEAST_DEPICTED, "concept"))
        return Explanation.of(caption, image)

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


def _blocks(rows: Ints) -> Iterator[Ints]:
    for at in range(0, len(rows), BLOCK):
        yield rows[at : at + BLOCK]
