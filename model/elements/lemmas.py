"""Dictionary forms of English nouns and adjectives."""

from functools import lru_cache

import simplemma

from model.elements.stop_words import PLURAL_ONLY, word_set

_REMEMBERED = 50_000


@lru_cache(_REMEMBERED)
def singular(noun: str) -> str:
    """The singular of a lower-case plural; spectacles and other pairs stay as they are."""
    if noun in PLURAL_ONLY or len(noun) < 4 or noun.endswith("ss"):
        return _IRREGULAR.get(noun, noun)
    if noun in _IRREGULAR:
        return _IRREGULAR[noun]
    if noun.endswith("ies") and len(noun) > 4:
        return noun[:-3] + ("ie" if noun in _IE else "y")  # a dictionary would make "ski" of "skies"
    lemma = simplemma.lemmatize(noun, lang="en")
    return lemma.lower() if noun.endswith("s") and noun.startswith(lemma[:2].lower()) else _irregular(noun, lemma)


def _irregular(noun: str, lemma: str) -> str:
    return lemma.lower() if len(lemma) > 1 else noun


@lru_cache(_REMEMBERED)
def positive(adjective: str) -> str:
    """ "larger" and "largest" are "large"."""
    return simplemma.lemmatize(adjective, lang="en").lower()


_IE = word_set("cookies movies ties pies brownies calories selfies zombies hoodies birdies smoothies")
_IRREGULAR = {"leaves": "leaf", "men": "man", "axes": "axe", "hoodies": "hoodie"}
