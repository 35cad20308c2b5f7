"""Captions to elements: noun phrases with attributes and counts in English, content words in other languages."""

import re
from typing import Protocol

from model.elements import phrases, tagging, tagging_spacy
from model.elements.element import Element
from model.elements.languages import ContentWords
from model.elements.tagging_rules import settle

_MOST_CHARACTERS = 4_000  # of a caption; what comes after is not read
_LONGEST_WORD = 40  # letters; what is longer is no word, and not to be remembered
_PLACEHOLDERS = "PERSON|PER|NAME|PEOPLE|LOCATION|LOC|PLACE|CITY|COUNTRY|ORGANIZATION|ORGANISATION|ORG|COMPANY|EVENT"
_TOKEN = re.compile(
    r"(?P<skip>https?://\S+|&[a-z]{1,8};|&#\d{1,7};|@\w+)"
    rf"|[<\[](?P<name>{_PLACEHOLDERS})[>\]]"
    r"|(?P<break></?[a-zA-Z!][^<>]{0,300}>)"
    r"|(?P<word>['’]s\b|\w+(?:[-–]\w+|['’](?!s\b)\w+)*)"
    r"|[^\w\s]"
)
_NOUNS = frozenset("NSnzg")


class Extractor(Protocol):
    """`name` says what finds the elements: "pattern", "spacy:<model>" or "content words"."""

    @property
    def name(self) -> str: ...

    def elements(self, caption: str) -> list[Element]:
        """Each element once, in caption order; never raises, whatever the text."""


class English:
    """Noun phrases by our grammar over the parts of speech of a tagger."""

    def __init__(self, name: str, tag: tagging_spacy.Tagger) -> None:
        self.name = name
        self._tag = tag

    def elements(self, caption: str) -> list[Element]:
        words: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        marked: dict[int, str] = {}  # letters the text itself gives away
        capitals: list[tuple[int, str]] = []
        for match in _TOKEN.finditer(caption, 0, _MOST_CHARACTERS):
            kind, text = match.lastgroup, match[0]
            if kind == "skip":
                continue
            if kind == "name":
                marked[len(words)] = "P"
                text = match["name"]
            elif kind == "break" or len(text) > _LONGEST_WORD:
                marked[len(words)] = "."
            elif text in "'’" and ends and ends[-1] == match.start() and words[-1][-1] == "s":
                marked[len(words)] = "'"  # the boys' hats
            elif text[0].isupper():
                capitals.append((len(words), text))
            words.append(text.lower())
            starts.append(match.start())
            ends.append(match.end())
        letters = self._tag(words)
        if 2 * len(capitals) <= len(words):  # in titles capitals say nothing
            for i, text in capitals:
                if i > 0 and letters[i] in _NOUNS and letters[i - 1] not in ".aDCAK" and tagging.is_name(text):
                    letters[i] = "P"
        for i, letter in marked.items():
            letters[i] = letter
        return phrases.elements(phrases.Words(words, settle("".join(letters)), starts, ends))


def extractor(language: str = "en") -> Extractor:
    """English with spaCy where a model of it is installed, else with TextBlob's lexicon; other languages by words."""
    if re.split(r"[-_]", language.lower(), maxsplit=1)[0] != "en":
        return ContentWords(language)
    return English(*(tagging_spacy.find() or ("pattern", tagging.letters)))
