"""Words of an English caption, each with a part of speech as one letter (listed in tagging_rules.py).

The lexicon of TextBlob's pattern tagger knows one part of speech a word. Words that can be more, say "walks", get a
letter of their own, for the rules to settle by the words beside them.
"""

import re
import warnings
from functools import lru_cache
from importlib import import_module
from typing import Any

import simplemma

from model.elements.stop_words import COLOURS, NUMBERS, PLURAL_ONLY, word_set

_REMEMBERED = 100_000
_FIXED = {
    word: letter
    for letter, words in {
        "a": "a an another this one",
        "C": "these those many several few various multiple numerous",
        "D": "the some any no every each different other such own same all more "
        "most much my your his her its our their whose enough either neither certain",
        "B": "is are was were be been being am isn't aren't looks seems appears",
        "M": "can could will would may might must shall should do does did don't doesn't cannot can't let",
        "V": "has have had having get gets got",
        "O": "of",
        "N": "top back front",
        "S": "scarves hooves loaves",
        "U": "by after before without like than",
        "Y": "while whilst as when because if since until whereas though",
        "T": "to",
        "&": "and or & + n nor plus",
        "W": "i you he she it we they me him them us who whom which that what where there here himself herself itself "
        "themselves something someone everyone somebody anything nothing everything anyone how why",
        "R": "both about very too so quite really not never also just only up down away outside outdoors indoors "
        "together off out nearby overhead apart almost then now still again far further onstage ashore aboard "
        "sideways asleep upside uphill downhill upstairs downstairs midair",
        "I": "in on at with from into onto near beside between among through across under above below behind against "
        "along around over toward towards beneath inside during amid amidst within beyond past via next "
        "underneath atop alongside upon outside off up down for featuring showing vs versus",
        "A": "sports open left right middle wooden close downtown uptown pretty barefoot",
    }.items()
    for word in words.split()
}
_FIXED.update({word: "C" for word in NUMBERS if _FIXED.get(word) != "a" and word not in ("single", "lone")})
_PENN = {
    "DT": "D", "PDT": "D", "PRP$": "D", "CD": "C", "JJ": "A", "JJR": "A", "JJS": "A", "NN": "N", "NNS": "S", "NNP": "N",
    "NNPS": "S", "VB": "v", "VBP": "v", "VBZ": "Z", "VBG": "G", "VBN": "E", "VBD": "E", "IN": "I", "TO": "T", "CC": "&",
    "RB": "R", "RBR": "R", "RBS": "R", "RP": "R", "MD": "M", "PRP": "W", "WP": "W", "WDT": "W", "WRB": "W", "EX": "W",
    "WP$": "D", "POS": "'", "FW": "N",
}  # fmt: skip
# Nouns in -ing and -ed that name a thing at least as often as they tell what somebody does.
_THINGS = word_set(
    "building railing clothing ceiling wedding evening morning thing string ring king wing spring swing sling sibling "
    "duckling darling lightning awning earring pudding icing bedding wiring flooring paneling scaffolding fencing "
    "meeting gathering sting setting sled shed bed seed weed reed steed breed"
)
_DOUBLING = re.compile(r"[^aeiou]*[aeiou][^aeiouwxy]")
_PARTS = re.compile(r"[-–]")


@lru_cache(1)
def _library() -> Any:
    library = import_module("textblob.en")  # on first use: it takes two seconds, for it brings all of nltk
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # it leaves closing its files to the garbage collector
        library.parser.find_tags(["a", "unheardofs"])  # a known and an unknown word have it read them all
    return library


def _penn(word: str) -> str:
    return str(_library().parser.find_tags([word])[0][1])


def from_penn(word: str, penn: str) -> str:
    """The letter of a lower-case word whose part of speech another tagger settled, named as in the Penn Treebank."""
    own = _FIXED.get(word) or ("K" if word in COLOURS else _PENN.get(penn))
    if own is None:
        return letter(word) if not word[0].isalnum() else "N"
    return "V" if own in "vZ" else own


@lru_cache(_REMEMBERED)
def letter(word: str) -> str:
    """The letter of a lower-case word for itself; lower-case letters and Z, G, E are settled by the words around."""
    if word in _FIXED:
        return _FIXED[word]
    if word in COLOURS:
        return "K"
    if word in PLURAL_ONLY:
        return "S"
    if not word[0].isalnum():
        return "'" if word in ("'s", "’s") else "," if word == "," else "."
    if word[0].isdigit():
        return "C" if word.isdigit() else "A"
    if "-" in word or "–" in word:
        return _hyphenated(word)
    return _ambiguous(word, _penn(word))


def letters(words: list[str]) -> list[str]:
    return list(map(letter, words))


def _hyphenated(word: str) -> str:
    last = _PARTS.split(word)[-1]
    if last in COLOURS:
        return "K"
    if last.endswith("ing"):
        return "G"
    if last.endswith(("ed", "style", "like", "long", "old", "free", "hand")):
        return "A"
    own = letter(last) if last else "N"
    return own if own in "SA" else "S" if own in "zZ" else "N"


def _ambiguous(word: str, penn: str) -> str:
    own = _PENN.get(penn, "N")
    if word in _THINGS:
        return "N"
    lexicon = _library().lexicon
    if word not in lexicon and own in "NREAS":
        own = _unknown(word, own)
    if own == "N" and word[-1] == "s" and word == simplemma.lemmatize(word, lang="en") + "s":
        own = "S"  # the lexicon has some plurals for singulars
    if own == "N" and word.endswith("ing") and len(word) > 5:
        return "g"
    if own == "N" and _is_verb(word):
        return "n"
    if own == "A" and simplemma.is_known(word + "s", lang="en"):
        return "l"
    if own == "S" and word.endswith("s") and any(_is_common_verb(base) for base in _bases(word)):
        return "z"
    return own


def _unknown(word: str, guess: str) -> str:
    """The lexicon guesses by endings; a dictionary of forms knows that "seabed" is no participle."""
    if not simplemma.is_known(word, lang="en"):
        is_plural = guess == "N" and word[-1] == "s" and word[-2:] not in ("ss", "us", "is")
        return "S" if is_plural else guess
    lemma = simplemma.lemmatize(word, lang="en")
    if guess == "S":
        return "S" if lemma.lower() != word else "N"  # bus, tennis
    if guess in "RE":
        return "N" if lemma == word and word[:-2] not in _library().lexicon else guess
    return "S" if guess == "N" and lemma.lower() != word and not word.endswith(("ing", "ed", "er", "est")) else guess


def _bases(word: str) -> list[str]:
    bases = [word[:-1]]
    if word.endswith("es"):
        bases.append(word[:-2])
    if word.endswith("ies"):
        bases.append(word[:-3] + "y")
    return bases


def _is_verb(base: str) -> bool:
    return _is_common_verb(base) or any(simplemma.lemmatize(form, lang="en") == base for form in _ing_forms(base))


def _is_common_verb(base: str) -> bool:
    lexicon = _library().lexicon
    return lexicon.get(base, "")[:2] == "VB" or any(lexicon.get(form) in ("VBG", "JJ") for form in _ing_forms(base))


def _ing_forms(base: str) -> tuple[str, ...]:
    """How the verb would end in -ing: "staring" is of "stare", never of "star"."""
    if _DOUBLING.fullmatch(base):
        return (base + base[-1] + "ing",)
    return (base[:-1] if base.endswith("e") else base) + "ing", base + base[-1] + "ing"


@lru_cache(_REMEMBERED)
def is_name(word: str) -> bool:
    """Whether a word with a capital in the middle of a sentence is somebody's or some place's own."""
    lower, lexicon = word.lower(), _library().lexicon
    if lower in lexicon or lower in _FIXED or lower in COLOURS:
        return False
    if lexicon.get(word) == "NNP" or not simplemma.is_known(lower, lang="en"):
        return True
    return simplemma.lemmatize(lower, lang="en").istitle()
