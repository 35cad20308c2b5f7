"""Noun phrases of a tagged caption as elements: a grammar over the one-letter parts of speech of tagging.py."""

import re
from dataclasses import dataclass

from model.elements.element import Element
from model.elements.lemmas import positive, singular
from model.elements.stop_words import JOINED, NUMBERS, OPINIONS, PICTURES, QUANTITIES, STOPPED, UNCHANGED, VIEWS

MOST_ELEMENTS = 40
_MOST_COUNTED = 20  # larger figures are sizes, years and models
_MODIFIERS = (
    r"(?:R(?=[RAKJCNSP])"  # very
    r"|C"
    r"|[AKJ](?:(?:,?&|,)(?=R?[AKJ]))?"  # black and; tall,
    r"|[NP](?=[NP]{0,2}[AKJ]{1,4}[NSP])"  # snow covered, light blue: a noun before an adjective belongs to it
    r"){0,12}"
)
_PHRASE = re.compile(rf"([aD]{{0,3}})({_MODIFIERS})([NSP]{{1,6}})")
# What follows a phrase and says how it is: "is red", "that is small and blue", "dressed in black", "painted green".
_SAID = re.compile(r"(?:W?BR?V?(?=[Ak])|(?:W?B?V)?I(?=k)|V(?=k))([Ak](?:,?&[Ak])?)(?![AKJNSPRC])")


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
    first, last = match.start(3), _shown(tagged, match)
    if last == first:
        return None
    head = _singular(words[last - 1], letters[last - 1])
    numbered = _numbered(words, match.start(), first, head, letters[last - 1])
    count = quantity if quantity is not None else _count(words[numbered]) if numbered is not None else None
    kept = [i for i in range(match.start(2), last - 1) if _is_attribute(words[i], letters[i])]
    attributes = _attributes([words[i] for i in kept], [letters[i] for i in kept])
    if last == match.end():
        attributes += _said_after(tagged, match)
    begin = kept[0] if kept else last - 1
    if numbered is not None and letters[numbered] == "C":
        begin = min(begin, numbered)
    span = tagged.starts[begin], tagged.ends[last - 1]
    return _made(head, tuple(dict.fromkeys(attributes)), count, span, letters[last - 1] == "P")


def _shown(tagged: Words, match: re.Match[str]) -> int:
    """Where the nouns that name something end: before "background", and nowhere if they name the picture itself."""
    first, last = match.start(3), match.end()
    while last > first:
        noun = _singular(tagged.words[last - 1], tagged.letters[last - 1])
        if noun == "top" and match.start(2) < last - 1:
            return last  # a red top is clothing, the top is a place
        if noun not in STOPPED:
            return last
        if noun not in VIEWS:
            return first
        last -= 1
    return first


def _made(head: str, attributes: tuple[str, ...], count: int | None, span: tuple[int, int], is_name: bool) -> Element:
    several = (str(count),) if count is not None and count > 1 else ()
    return Element(" ".join((*several, *attributes, head)), head, attributes, count, *span, is_name)


def _singular(word: str, letter: str) -> str:
    return singular(word) if letter == "S" else word


def _is_attribute(word: str, letter: str) -> bool:
    if letter in "NS":
        return word not in PICTURES and word not in VIEWS
    return letter in "AKkJP" and word not in STOPPED and word not in OPINIONS and word not in NUMBERS


def _numbered(words: list[str], begin: int, end: int, head: str, letter: str) -> int | None:
    """Where the phrase says how many: not "a" before a plural (a few dogs), nor digits before a singular (6 case)."""
    for i in range(begin, end):
        count = _count(words[i])
        if count is None or (count == 1 and letter == "S" and words[i] != "one"):
            continue
        if count == 1 or letter == "S" or words[i] in NUMBERS or head in UNCHANGED:
            return i
    return None


def _count(word: str) -> int | None:
    if word in NUMBERS:
        return NUMBERS[word]
    count = int(word) if len(word) < 3 and word.isdecimal() else 0
    return count if 0 < count <= _MOST_COUNTED else None


def _attributes(words: list[str], letters: list[str]) -> list[str]:
    found: list[str] = []
    for word, letter in zip(words, letters, strict=True):
        if word in JOINED and found:
            found[-1] = f"{found[-1]}-{word}"
        else:
            found.append(positive(word) if letter == "A" and word.endswith(("er", "est")) else word)
    return found


def _said_after(tagged: Words, phrase: re.Match[str]) -> list[str]:
    letters = tagged.letters
    match = _SAID.match(letters, phrase.end())
    if match is None or ("B" in match[0] and letters[max(phrase.start() - 1, 0)] in "IOV"):
        return []  # in "a man in a boat is happy", the man is
    places = range(match.start(1), match.end(1))
    return [tagged.words[i] for i in places if _is_attribute(tagged.words[i], letters[i])]
