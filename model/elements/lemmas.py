"""Dictionary forms of English nouns and adjectives."""

from functools import lru_cache

import simplemma

from model.elements.stop_words import PLURAL_ONLY, word_set

_REMEMBERED = 50_000


@lru_cache(_REMEMBERED)
def singular(noun: str) -> str:
    """The singular of a lower-case plural; spectacles and other pairs stay as they are."""
    if noun in PLURAL_ONLY or noun in _IRREGULAR:
        return _IRREGULAR.get(noun, noun)
    if noun.endswith("ies") and len(noun) > 4:
        return noun[:-3] + ("ie" if noun in _IE else "y")  # a dictionary of all forms makes "ski" of "skies"
    lemma = simplemma.lemmatize(noun, lang="en").lower()
    if lemma == noun and noun.endswith("s") and not noun.endswith(("ss", "ics")):
        return noun[:-1]  # ipods are not in it, and poles are people
    return lemma


@lru_cache(_REMEMBERED)
def positive(adjective: str) -> str:
    """Both "larger" and "largest" are "large"."""
    return simplemma.lemmatize(adjective, lang="en").lower()


_IE = word_set("cookies movies ties pies brownies calories selfies zombies hoodies birdies smoothies")
_IRREGULAR = {
    "leaves": "leaf",
    "loaves": "loaf",
    "scarves": "scarf",
    "hooves": "hoof",
    "series": "series",
    "species": "species",
    "men": "man",
    "axes": "axe",
}
