"""What a caption speaks of: one noun phrase, normalised, with its place in the text."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Element:
    """Elements with the same lemma are the same; `caption[start:end]` is the phrase without its determiner."""

    lemma: str  # count above one, attributes and head: "2 red ball"
    head: str
    attributes: tuple[str, ...]  # in caption order; modifying nouns are attributes too
    count: int | None  # None where the text does not say
    start: int
    end: int
    is_name: bool  # a placeholder such as <PERSON>, or a proper noun
