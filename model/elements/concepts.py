"""The vocabulary of a collection: what its captions speak of often enough to be learned, one column for each.

A concept is a head ("ball"), an attribute of any head ("red"), a phrase of both ("red ball") or a count ("2").
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from model.elements.colours import basic_colour
from model.elements.element import Element

Ints = npt.NDArray[np.int64]
Key = TypeVar("Key", str, int, tuple[int, int])

# Mentions below which nothing is learned of a concept, and concepts of each kind at most.
LEAST_MENTIONS = 5
MOST_HEADS, MOST_ATTRIBUTES, MOST_PHRASES = 2_500, 500, 1_500
_MOST_COUNT = 5  # as far as a look can tell
NONE = -1


class Kind(IntEnum):
    HEAD = 0
    ATTRIBUTE = 1
    PHRASE = 2
    COUNT = 3


class Rivals(IntEnum):
    """What an attribute is judged against: the others of its sort."""

    COLOUR = 0
    OTHER = 1
    COUNT = 2


@dataclass(frozen=True)
class Trait:
    """An attribute or a count of one element, as columns: on any head, and on this one."""

    word: str
    rivals: Rivals
    column: int
    phrase: int


@dataclass(frozen=True)
class Parts:
    """One element as columns of the vocabulary; NONE where it is not in it."""

    head: int
    traits: tuple[Trait, ...]

    @property
    def is_known(self) -> bool:
        return self.head != NONE or any(trait.column != NONE for trait in self.traits)


@dataclass(frozen=True)
class Concepts:
    """Words of one meaning share a column, whose name is the most frequent of them."""

    names: tuple[str, ...]
    kinds: npt.NDArray[np.int8]
    mentions: Ints
    heads: Mapping[str, int]
    attributes: Mapping[str, int]
    counts: Mapping[int, int]
    phrases: Mapping[tuple[int, int], int]  # (attribute, head)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def head_count(self) -> int:
        """Heads are the first columns."""
        return int((self.kinds == Kind.HEAD).sum())

    @cached_property
    def colours(self) -> frozenset[int]:
        return frozenset(column for word, column in self.attributes.items() if basic_colour(word) is not None)

    @classmethod
    def build(cls, captions: Iterable[Sequence[Element]]) -> "Concepts":
        """Heads, attributes and counts; phrases are added when it is known which words mean the same."""
        heads: Counter[str] = Counter()
        attributes: Counter[str] = Counter()
        counts: Counter[int] = Counter()
        for elements in captions:
            heads.update({element.head for element in elements})
            attributes.update({word for element in elements for word in attribute_words(element)})
            counts.update({number for element in elements if (number := _count(element)) is not None})
        kept_heads, kept_attributes = _frequent(heads, MOST_HEADS), _frequent(attributes, MOST_ATTRIBUTES)
        kept_counts = _frequent(counts, _MOST_COUNT)
        sizes = len(kept_heads), len(kept_attributes), len(kept_counts)
        mentions = [
            *(heads[word] for word in kept_heads),
            *(attributes[word] for word in kept_attributes),
            *(counts[number] for number in kept_counts),
        ]
        return cls(
            names=(*kept_heads, *kept_attributes, *map(str, kept_counts)),
            kinds=np.repeat(np.array([Kind.HEAD, Kind.ATTRIBUTE, Kind.COUNT], np.int8), sizes),
            mentions=np.array(mentions, np.int64),
            heads={word: column for column, word in enumerate(kept_heads)},
            attributes={word: column for column, word in enumerate(kept_attributes, sizes[0])},
            counts={number: column for column, number in enumerate(kept_counts, sizes[0] + sizes[1])},
            phrases={},
        )

    def merged(self, groups: Ints) -> "Concepts":
        """The same with one column for all heads of a group; `groups` numbers the group of every head."""
        count = len(groups)
        order = sorted(range(count), key=lambda head: -self.mentions[head])
        leader: dict[int, int] = {}
        for head in order:
            leader.setdefault(int(groups[head]), head)
        kept = sorted(leader.values())
        columns = {old: new for new, old in enumerate([*kept, *range(count, len(self))])}
        mentions = np.zeros(len(columns), np.int64)
        for old in range(len(self)):
            mentions[columns[leader[int(groups[old])] if old < count else old]] += self.mentions[old]
        return Concepts(
            names=tuple(self.names[old] for old in columns),
            kinds=self.kinds[list(columns)],
            mentions=mentions,
            heads={word: columns[leader[int(groups[old])]] for word, old in self.heads.items()},
            attributes={word: columns[old] for word, old in self.attributes.items()},
            counts={number: columns[old] for number, old in self.counts.items()},
            phrases={},
        )

    def with_phrases(self, captions: Iterable[Sequence[Element]]) -> "Concepts":
        found: Counter[tuple[int, int]] = Counter()
        for elements in captions:
            parts = [self.parts(element) for element in elements]
            found.update(
                {
                    (trait.column, part.head)
                    for part in parts
                    for trait in part.traits
                    if NONE not in (trait.column, part.head) and trait.rivals != Rivals.COUNT
                }
            )
        kept = _frequent(found, MOST_PHRASES)
        return replace(
            self,
            names=(*self.names, *(f"{self.names[attribute]} {self.names[head]}" for attribute, head in kept)),
            kinds=np.concatenate([self.kinds, np.full(len(kept), Kind.PHRASE, np.int8)]),
            mentions=np.concatenate([self.mentions, np.array([found[key] for key in kept], np.int64)]),
            phrases={key: len(self) + number for number, key in enumerate(kept)},
        )

    def parts(self, element: Element) -> Parts:
        head = self.heads.get(element.head, NONE)
        traits = []
        for word in attribute_words(element):
            column = self.attributes.get(word, NONE)
            rivals = Rivals.OTHER if basic_colour(word) is None else Rivals.COLOUR
            traits.append(Trait(word, rivals, column, self.phrases.get((column, head), NONE)))
        number = _count(element)
        if number is not None:
            traits.append(Trait(str(number), Rivals.COUNT, self.counts.get(number, NONE), NONE))
        return Parts(head, tuple(traits))

    def columns(self, parts: Parts) -> list[int]:
        """All columns that an element mentions."""
        found = [parts.head, *(column for trait in parts.traits for column in (trait.column, trait.phrase))]
        return [column for column in found if column != NONE]


def prompts(concepts: Concepts) -> list[str]:
    """Every concept as a caption that a joint encoder can compare with images."""
    forms = {
        Kind.HEAD: "a photo of a {}",
        Kind.ATTRIBUTE: "a photo of something {}",
        Kind.PHRASE: "a photo of a {}",
        Kind.COUNT: "a photo of {} things",
    }
    return [forms[Kind(kind)].format(name) for name, kind in zip(concepts.names, concepts.kinds, strict=True)]


def attribute_words(element: Element) -> tuple[str, ...]:
    """Its attributes, colours by their plain names; each once."""
    return tuple(dict.fromkeys(basic_colour(word) or word for word in element.attributes))


def _count(element: Element) -> int | None:
    return None if element.count is None else min(element.count, _MOST_COUNT)


def _frequent(counted: Counter[Key], most: int) -> list[Key]:
    """The most frequent first, equally frequent ones in order."""
    kept = [key for key, count in counted.items() if count >= LEAST_MENTIONS]
    return sorted(kept, key=lambda key: (-counted[key], key))[:most]
