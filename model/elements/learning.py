"""How an explainer learns a collection: its concepts, what images show of them, what captions say of images."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from model.elements import synonyms
from model.elements.captions import Extractor
from model.elements.claims import Claims, Traits, false_claims, said_of_others, true_claims
from model.elements.concepts import Concepts, Parts
from model.elements.element import Element
from model.elements.image_elements import LEAST_PROBABILITY, Gallery
from model.elements.indicator import Indicator
from model.elements.scale import Scale
from model.elements.votes import Reader, Votes, fold_of, prior_of
from model.errors import TrainingError
from model.neighbours import unit
from model.pairs import Pairs
from model.positions import spread

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

# Pairs that are learned from, evenly spread, and those of them in which every concept is looked at.
MOST_FITTED, _LOOKED_AT = 50_000, 4_000
_BLOCK = 4_096
# Where nobody is trusted all are, alike.
_LEAST_TRUST = 1e-3
# A word is held near the mean of all captions as if by so many that do not mention it.
_WORD_RIDGE = 5.0
# Of the mentions of a setting, those that follow a word for a place.
_LEAST_PLACED = 0.6
_PLACE = re.compile(
    r"\b(?:in|inside|into|on|onto|at|near|by|beside|under|beneath|over|above|along|across|through|against|among|behind"
    r"|before|around|(?:front|middle|top|edge|side) of)\s+(?:(?:a|an|the|some|this|his|her|their|its)\s+)?$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Sample:
    """The pairs that are learned from: vectors of both sides, what each caption tells, and how far it is trusted."""

    sides: tuple[Floats, Floats]  # (n, D + 1) images, captions
    folds: tuple[Ints, Ints]
    trust: Floats
    texts: list[str]
    told: list[list[Element]]

    @classmethod
    def take(cls, pairs: Pairs, trust: Floats, readers: tuple[Reader, Reader], read: Extractor) -> "Sample":
        if pairs.texts is None:
            raise TrainingError("the captions themselves are needed to explain pairs")
        rows = spread(len(trust), MOST_FITTED)
        images, captions = (
            np.concatenate([reader(rows[at : at + _BLOCK]) for at in range(0, len(rows), _BLOCK)]) for reader in readers
        )
        texts = [pairs.texts[int(row)] for row in rows]
        folds = fold_of(pairs.image_ids[rows]), fold_of(pairs.caption_ids[rows])
        told = [read.elements(text) for text in texts]
        kept = np.maximum(np.asarray(trust[rows], np.float32), _LEAST_TRUST)
        return cls((images, captions), folds, kept, texts, told)

    def parts(self, concepts: Concepts) -> list[list[Parts]]:
        return [[concepts.parts(element) for element in elements] for elements in self.told]


def learn_concepts(sample: Sample) -> Concepts:
    """The vocabulary, words of one meaning merged."""
    plain = Concepts.build(sample.told)
    said = mentions(plain, sample.parts(plain))[:, : plain.head_count]
    votes = Votes.fit(sample.sides[0], sample.folds[0], said, sample.trust)
    some = spread(len(sample.trust), _LOOKED_AT)
    scores = votes.scores(sample.sides[0][some], sample.folds[0][some])
    return plain.merged(synonyms.groups(scores, said, _word_vectors(said, sample.sides[1]))).with_phrases(sample.told)


def learn_images(
    sample: Sample, concepts: Concepts, seed: int, directions: Floats | None = None
) -> tuple[Votes, Indicator, Gallery]:
    """What images show of the concepts that captions mention; `directions` (V, D + 1) are those of prompts."""
    vectors, folds = sample.sides[0], sample.folds[0]
    parts = sample.parts(concepts)
    said = mentions(concepts, parts)
    some, heads = spread(len(folds), _LOOKED_AT), concepts.head_count
    prior = None if directions is None else prior_of(directions, vectors[some], said[some], sample.trust[some])
    votes = Votes.fit(vectors, folds, said, sample.trust, prior)
    true = true_claims(said, sample.trust).scored(votes, vectors, folds)
    false = false_claims(concepts, said, Traits.of(parts), sample.trust, seed).scored(votes, vectors, folds)
    rate = float(1 - sample.trust.mean(dtype=np.float64))
    scale = Scale.fit(concepts.kinds, true, false)
    indicator = Indicator(scale, _settings(concepts, sample.texts, sample.told), rate)
    evidence = scale.evidence(votes.scores(vectors[some], folds[some]))[:, :heads]
    share = (said.T @ sample.trust)[:heads] / max(float(sample.trust.sum()), 1e-9)
    is_said = said[some][:, :heads].toarray() > 0
    return votes, indicator, Gallery.fit(concepts, indicator, evidence, is_said, sample.trust[some], share)


def learn_captions(
    sample: Sample, concepts: Concepts, image_votes: Votes, indicator: Indicator, gallery: Gallery, seed: int
) -> tuple[Votes, Scale]:
    """What the images of trusted captions show, by the vectors of those captions: E(e_i, T) without the same word."""
    blocks = []
    for at in range(0, len(sample.trust), _BLOCK):
        part = slice(at, at + _BLOCK)
        evidence = indicator.scale.evidence(image_votes.scores(sample.sides[0][part], sample.folds[0][part]))
        shown = gallery.probabilities(evidence[:, : concepts.head_count])
        blocks.append(sparse.csr_array(np.where(shown >= LEAST_PROBABILITY, shown, 0).astype(np.float32)))
    shown_heads = sparse.vstack(blocks, format="csr")
    vectors, folds = sample.sides[1], sample.folds[1]
    votes = Votes.fit(vectors, folds, shown_heads, sample.trust)
    true = true_claims(shown_heads, sample.trust)
    false = said_of_others(true, len(sample.trust), np.random.default_rng(seed))
    both: list[Claims] = [claims.scored(votes, vectors, folds) for claims in (true, false)]
    return votes, Scale.fit(concepts.kinds[: concepts.head_count], both[0], both[1])


def mentions(concepts: Concepts, captions: Sequence[Sequence[Parts]]) -> sparse.csr_array:
    """(n, V), 1 where a caption mentions a concept."""
    columns = [sorted({column for part in parts for column in concepts.columns(part)}) for parts in captions]
    starts = np.cumsum([0, *(len(some) for some in columns)])
    flat = np.array([column for some in columns for column in some], np.int64)
    return sparse.csr_array((np.ones(len(flat), np.float32), flat, starts), shape=(len(columns), len(concepts)))


def _word_vectors(said: sparse.csr_array, captions: Floats) -> Floats:
    """(H, D) unit vectors: what a head adds to the captions that mention it."""
    together = (said.T @ said).toarray() + _WORD_RIDGE * np.eye(said.shape[1])
    return unit(np.linalg.solve(together, said.T @ captions[:, :-1]))


def _settings(concepts: Concepts, texts: Sequence[str], told: Sequence[Sequence[Element]]) -> npt.NDArray[np.bool_]:
    """Heads that mostly follow a word for a place: where the scene is, rather than what it is of."""
    placed, every = np.zeros(len(concepts)), np.zeros(len(concepts))
    for text, elements in zip(texts, told, strict=True):
        for element in elements:
            head = concepts.heads.get(element.head)
            if head is not None:
                every[head] += 1
                placed[head] += _PLACE.search(text[max(0, element.start - 40) : element.start]) is not None
    return np.asarray(placed > _LEAST_PLACED * np.maximum(every, 1))
