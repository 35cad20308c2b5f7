"""Captions to elements: noun phrases with attributes and counts in English, content words in other languages."""

import re
from typing import Protocol

from model.elements import phrases, tagging
from model.elements.element import Element

_MOST_CHARACTERS = 4_000
_PLACEHOLDERS = "PERSON|PER|NAME|PEOPLE|LOCATION|LOC|PLACE|CITY|COUNTRY|ORGANIZATION|ORGANISATION|ORG|COMPANY|EVENT"
_TOKEN = re.compile(
    rf"(?P<skip>https?://\S+|&[a-z]+;|&#\d+;)|[<\[](?P<name>{_PLACEHOLDERS})[>\]]|(?P<tag></?[a-zA-Z!][^<>]{{0,300}}>)"
    r"|(?P<word>['’]s\b|\w+(?:[-–]\w+|['’](?!s\b)\w+)*)|[^\w\s]"
)


class Extractor(Protocol):
    """`name` says what finds the elements: "pattern", "spacy:<model>" or "content words"."""

    name: str

    def elements(self, caption: str) -> list[Element]:
        """Each element once, in caption order; never raises, whatever the text."""


class Pattern:
    """English by the lexicon that comes with TextBlob and a grammar of our own; nothing is downloaded."""

    name = "pattern"

    def elements(self, caption: str) -> list[Element]:
        words: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        letters: list[str] = []
        for match in _TOKEN.finditer(caption, 0, _MOST_CHARACTERS):
            kind = match.lastgroup
            if kind == "skip":
                continue
            word = match[0].lower()
            if kind == "name":
                word, letter = match["name"].lower(), "P"
            elif kind == "tag":
                letter = "."
            else:
                letter = tagging.letter(word)
            words.append(word)
            letters.append(letter)
            starts.append(match.start())
            ends.append(match.end())
        return phrases.elements(phrases.Words(words, tagging.settle("".join(letters)), starts, ends))


def extractor(language: str = "en") -> Extractor:
    return Pattern()
