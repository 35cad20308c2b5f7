"""Words of an English caption, each with a part of speech as one letter.

The lexicon of TextBlob's pattern tagger knows one part of speech a word. Rules over the string of letters, in the
manner of Brill's tagger, then settle what the words beside it say. a: singular article, D: other determiner,
C: number, A: adjective, K: colour, J: participle before a noun, N, S: noun and plural, P: placeholder or name, V: verb,
B: be, M: modal, I: preposition, O: of, U: while, T: to, R: adverb, W: pronoun, &: and, and signs for themselves.
"""

import re
import warnings
from functools import lru_cache
from importlib import import_module
from typing import Any

from model.elements.stop_words import COLOURS, NUMBERS, word_set

_REMEMBERED = 100_000
_FIXED = {
    word: letter
    for letter, words in {
        "a": "a an another this one",
        "D": "the these those some any no every each many several few various different other such own same all more "
        "most much next my your his her its our their whose enough either neither multiple numerous certain",
        "B": "is are was were be been being am isn't aren't looks seems appears",
        "M": "can could will would may might must shall should do does did don't doesn't cannot can't let",
        "V": "has have had having get gets got",
        "O": "of",
        "U": "while whilst as by after before when without like because if since until than whereas though",
        "T": "to",
        "&": "and or & + n nor plus",
        "W": "i you he she it we they me him them us who whom which that what where there here himself herself itself "
        "themselves something someone everyone somebody anything nothing everything anyone how why",
        "R": "very too so quite really not never also just only together up down away back outside outdoors indoors "
        "inside off out nearby overhead apart almost then now still again far further over",
        "I": "in on at with from into onto near beside between among through across under above below behind against "
        "along around over toward towards beneath inside during about amid amidst within beyond past via next "
        "underneath atop alongside upon outside off up down for featuring showing",
        "A": "sports open left right top front middle back wooden",
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
# Nouns in -ing that name a thing at least as often as they tell what somebody does.
_THINGS = word_set(
    "building railing clothing ceiling painting wedding crossing drawing landing opening evening morning thing string "
    "ring king wing spring swing sling sibling duckling darling lightning awning earring pudding "
    "icing bedding wiring flooring paneling scaffolding fencing meeting sing bring gathering sting"
)
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


@lru_cache(_REMEMBERED)
def letter(word: str) -> str:
    """The letter of a lower-case word for itself; lower-case letters and Z, G, E are settled by the words around."""
    if word in _FIXED:
        return _FIXED[word]
    if word in COLOURS:
        return "K"
    if not word[0].isalnum():
        return "'" if word in ("'s", "’s") else "," if word == "," else "."
    if word[0].isdigit():
        return "C" if word.isdigit() else "A"
    if "-" in word or "–" in word:
        return _hyphenated(word)
    return _ambiguous(word, _penn(word))


def _hyphenated(word: str) -> str:
    last = _PARTS.split(word)[-1]
    if last in COLOURS:
        return "K"
    if last.endswith(("ed", "ing", "style", "like", "long", "old", "free", "hand")):
        return "A"
    own = letter(last) if last else "N"
    return own if own in "SA" else "S" if own in "zZ" else "N"


def _ambiguous(word: str, penn: str) -> str:
    own = _PENN.get(penn, "N")
    if own == "N" and word.endswith("ing") and len(word) > 5 and word not in _THINGS:
        return "g"
    if own == "N" and _is_verb(word):
        return "n"
    if own == "N" and word.endswith("s") and not word.endswith(("ss", "us", "is")) and word[:-1] in _library().lexicon:
        own = "S"  # a plural the lexicon does not hold
    if own == "S" and word.endswith("s") and any(_is_verb(base) for base in _bases(word)):
        return "z"
    if own == "E" and word in ("sled", "shed", "bed", "seed", "weed", "reed", "steed", "breed"):
        return "N"
    return own


def _bases(word: str) -> list[str]:
    bases = [word[:-1]]
    if word.endswith("es"):
        bases.append(word[:-2])
    if word.endswith("ies"):
        bases.append(word[:-3] + "y")
    return bases


def _is_verb(base: str) -> bool:
    lexicon = _library().lexicon
    if lexicon.get(base, "")[:2] == "VB":
        return True
    stem = base[:-1] if base.endswith("e") else base
    forms = (stem + "ing", base + base[-1] + "ing")
    return any(lexicon.get(form) == "VBG" for form in forms)


_RULES = tuple(
    (frozenset(needs), re.compile(pattern), replacement)
    for needs, pattern, replacement in (
        ("vnzZ", r"([WM]R?)[vnzZ]", r"\1V"),
        ("v", r"Tv", "TV"),
        ("n", r"Tn(?=[aDIRUT.,&])", "TV"),
        ("vzZ", r"(IK(?:&K)?)[vzZ]", r"\1V"),
        ("v", r"Cv", "CV"),
        ("vn", r"([aDAKJC'])[vn]", r"\1N"),
        ("zZ", r"([DCAKJE'])[zZ]", r"\1S"),
        ("zZ", r"(a[AKJGE]{0,5}[NnP]{1,3})[zZ]", r"\1V"),
        ("v", r"Sv", "SV"),
        ("n", r"Sn(?=[aDCIURT.,&WGAK])", "SV"),
        ("vn", r"([NnP]&[aD]?[AKJ]{0,3}[NnP])[vn](?![NSn])", r"\1V"),
        ("Z", r"(I[AKJ]{0,2}[Nn])Z(?=[aDITR])", r"\1V"),
        ("zZ", r"(I[AKJ]{0,2}[Nn])[zZ]", r"\1S"),
        ("Z", r"([NnPS])Z", r"\1V"),
        ("z", r"([NnP])z(?=[aDIURT.,&W])", r"\1V"),
        ("z", r"Sz(?=[aDITR])", "SV"),
        ("z", r"(V,?&)z", r"\1V"),
        ("z", r"([NnP]&)z(?=[aDITRU])", r"\1V"),
        ("v", r"([NnPIO])v", r"\1N"),
        ("zZ", r"([IOV])[zZ]", r"\1S"),
        ("n", r"n", "N"), ("z", r"z", "S"), ("Z", r"Z", "V"), ("v", r"v", "V"),
        ("Gg", r"([aDCAJ']|[^I]K)[Gg](?=[AKJNSPGgE])", r"\1J"),
        ("g", r"([aDAKC'])g", r"\1N"),
        ("Gg", r"(^\.|[IO])[Gg](?=[NS])", r"\1J"),
        ("Gg", r"[Gg]", "V"),
        ("E", r"([aDCAKJP',IO]|^\.)E(?=[AKJNSP])", r"\1J"),
        ("E", r"NE(?=[NSP])", "NJ"),
        ("E", r"E", "V"),
        ("A", r"([aD'][AKJ]{0,3})A(?![AKJNSP&,R])", r"\1N"),
    )
)  # fmt: skip


def settle(letters: str) -> str:
    """One unambiguous letter for each: rules in order, each looking at a few neighbours."""
    letters = f".{letters}."
    for needs, pattern, replacement in _RULES:
        if not needs.isdisjoint(letters):
            letters = pattern.sub(replacement, letters)
    return letters[1:-1]
