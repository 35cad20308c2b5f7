"""Reads the kinds back out of a demo caption, for tests: longest names first, each word used once."""

import re

from model.demo.grammar import plural
from model.demo.lexicon import WORDS

_OWNER = {
    form: kind for kind, words in WORDS.items() for noun in words.nouns for form in (noun.lower(), plural(noun).lower())
}
_NAMES = re.compile(
    r"(?<![\w-])(" + "|".join(re.escape(name) for name in sorted(_OWNER, key=len, reverse=True)) + r")(?![\w-])"
)


def kinds_named(caption: str) -> set[str]:
    return {_OWNER[name] for name in _NAMES.findall(caption.lower())}
