"""Noun phrases of a tagged caption as elements: a grammar over the one-letter parts of speech of tagging.py."""

import re
from dataclasses import dataclass

from model.elements.element import Element
from model.elements.lemmas import positive, singular
from model.elements.stop_words import JOINED, NUMBERS, OPINIONS, PICTURES, QUANTITIES, STOPPED, VIEWS

MOST_ELEMENTS = 40
_MOST_COUNT = 99  # a larger number is a year or a model, not a count
_PHRASE = re.compile(r"([aD]{0,3})((?:R(?=[RAKJC])|C|[AKJ](?:(?:,?&|,)(?=R?[AKJ]))?){0,12})([NSP]{1,6})")
# What follows a phrase and says how it is: "is red", "that is small and blue", "dressed in black", "painted green".
_SAID = re.compile(r"(?:W?BR?V?(?=[AK])|(?:W?B?V)?I(?=K)|V(?=K))([AK](?:,?&[AK])?)(?![AKJNSPRCG])")


@dataclass(frozen=True, slots=True)
class Words:
    """A caption cut into words: lower case, their letters, and where each starts and ends."""

    words: list[str]
    letters: str
    starts: list[int]
    ends: list[int]


def elements(tagged: Words) -> list[Element]:
    """At most MOST_ELEMENTS, in caption order, each lemma once."""
    found: dict[str, Element] = {}
    heads: set[str] = set()
    quantity: int | None = None
    letters, words = tagged.letters, tagged.words
    for match in _PHRASE.finditer(letters):
        first, last = match.start(3), match.end(3)
        head = words[last - 1]
        if last < len(letters) and letters[last] == "O" and head in QUANTITIES:
            quantity = QUANTITIES[head]
            continue
        element = _element(tagged, match, quantity)
        quantity = None
        if element is None or _belongs_to_picture(tagged, last):
            continue
        is_again = element.lemma == element.head and element.head in heads and "the" in words[match.start() : first]
        if is_again or element.lemma in found:
            continue
        found[element.lemma] = element
        heads.add(element.head)
        if len(found) == MOST_ELEMENTS:
            break
    return list(found.values())


def _belongs_to_picture(tagged: Words, last: int) -> bool:
    """Whether the phrase is the possessor of a word about the picture: "children's book illustration"."""
    if tagged.letters[last : last + 1] != "'":
        return False
    owned = _PHRASE.match(tagged.letters, last + 1)
    return owned is not None and tagged.words[owned.end() - 1] in PICTURES


def _element(tagged: Words, match: re.Match[str], quantity: int | None) -> Element | None:
    words, letters = tagged.words, tagged.letters
    first, last = match.start(3), match.end(3)
    while last > first and singular_of(words[last - 1], letters[last - 1]) in STOPPED:
        if singular_of(words[last - 1], letters[last - 1]) not in VIEWS:
            return None
        last -= 1
    if last == first:
        return None
    head = singular_of(words[last - 1], letters[last - 1])
    count = quantity if quantity is not None else _count(words[match.start() : first])
    kept = [i for i in range(match.start(2), last - 1) if _is_attribute(words[i], letters[i])]
    attributes = _attributes([words[i] for i in kept], [letters[i] for i in kept])
    if last == match.end(3):
        attributes += _said_after(tagged, last)
    start = tagged.starts[min(kept[0] if kept else last - 1, *_count_at(words, letters, match))]
    is_name = letters[last - 1] == "P"
    return _made(head, tuple(dict.fromkeys(attributes)), count, (start, tagged.ends[last - 1]), is_name)


def _made(head: str, attributes: tuple[str, ...], count: int | None, span: tuple[int, int], is_name: bool) -> Element:
    several = (str(count),) if count is not None and count > 1 else ()
    return Element(" ".join((*several, *attributes, head)), head, attributes, count, *span, is_name)


def singular_of(word: str, letter: str) -> str:
    return singular(word) if letter == "S" else word


def _is_attribute(word: str, letter: str) -> bool:
    return letter in "AKJNSP" and word not in STOPPED and word not in OPINIONS and word not in NUMBERS


def _count_at(words: list[str], letters: str, match: re.Match[str]) -> tuple[int, int]:
    """Where the phrase's number stands, twice; past its end where it has none."""
    place = letters.find("C", match.start(2), match.end(2))
    place = match.end() if place < 0 else place
    return place, place


def _count(words: list[str]) -> int | None:
    for word in words:
        if word in NUMBERS:
            return NUMBERS[word]
        if word.isdecimal() and len(word) < 3:
            return int(word)
    return None


def _attributes(words: list[str], letters: list[str]) -> list[str]:
    found: list[str] = []
    for word, letter in zip(words, letters, strict=True):
        if word in JOINED and found:
            found[-1] = f"{found[-1]}-{word}"
        else:
            found.append(positive(word) if letter == "A" and word.endswith(("er", "est")) else word)
    return found


def _said_after(tagged: Words, last: int) -> list[str]:
    match = _SAID.match(tagged.letters, last)
    if match is None:
        return []
    places = range(match.start(1), match.end(1))
    return [tagged.words[i] for i in places if _is_attribute(tagged.words[i], tagged.letters[i])]
