"""A small guess at the language of a caption, without a model or a download: by its script, and within the Latin script
by the most common short words of a dozen languages. Honest rather than clever: where nothing decides it is unknown, and
scripts that several languages share (Cyrillic, Arabic, Devanagari) are named as scripts."""

import re
from bisect import bisect_right
from collections import Counter

UNKNOWN = "unknown"
_LATIN, _KANA, _HAN = "Latin", "Japanese", "Chinese or Japanese (Han)"
_LETTERS = 200  # of a caption that are looked at
_WORD = re.compile(r"[^\W\d_]+")

# First code point of a block and what its letters say; "" where that is nothing.
_BLOCKS = [
    (0x0000, _LATIN), (0x0250, ""), (0x0370, "Greek"), (0x0400, "Cyrillic script"), (0x0530, "Armenian"),
    (0x0590, "Hebrew"), (0x0600, "Arabic script"), (0x0700, ""), (0x0750, "Arabic script"), (0x0780, ""),
    (0x08A0, "Arabic script"), (0x0900, "Devanagari script"), (0x0980, "Bengali script"), (0x0A00, "Gurmukhi"),
    (0x0A80, "Gujarati"), (0x0B00, ""), (0x0B80, "Tamil"), (0x0C00, "Telugu"), (0x0C80, "Kannada"),
    (0x0D00, "Malayalam"), (0x0D80, "Sinhala"), (0x0E00, "Thai"), (0x0E80, "Lao"), (0x0F00, ""),
    (0x1000, "Burmese"), (0x10A0, "Georgian"), (0x1100, "Korean"), (0x1200, "Ethiopic script"), (0x1380, ""),
    (0x1780, "Khmer"), (0x1800, ""), (0x1E00, _LATIN), (0x1F00, "Greek"), (0x2000, ""),
    (0x3040, _KANA), (0x3100, ""), (0x3130, "Korean"), (0x3190, ""), (0x31F0, _KANA), (0x3200, ""),
    (0x3400, _HAN), (0x4DC0, ""), (0x4E00, _HAN), (0xA000, ""), (0xAC00, "Korean"), (0xD7B0, ""),
    (0xF900, _HAN), (0xFB00, ""), (0xFB1D, "Hebrew"), (0xFB50, "Arabic script"), (0xFE00, ""),
    (0xFE70, "Arabic script"), (0xFF00, ""), (0xFF66, _KANA), (0xFFA0, ""), (0x20000, _HAN), (0x323B0, ""),
]  # fmt: skip
_STARTS = [start for start, _ in _BLOCKS]

# Danish and Norwegian share almost all of theirs. A lone "a" is counted for English only: captions start with it.
_STOP_WORDS = {
    "English": "a an the of and with on is are at by for to his her their from this that in while near through",
    "German": "der die das und ein eine einen einem einer mit auf von im ist sind den dem zu für am vor in nicht",
    "French": "le la les des un une et dans avec sur du est au aux pour en de qui ce cette",
    "Spanish": "el la los las un una y con en del de es al por para que se su",
    "Italian": "il lo la gli un una e di con in del della dei delle che per su sono nel nella",
    "Portuguese": "o os as um uma e de com em do da dos das no na para que por ao",
    "Dutch": "de het een en van met op in is zijn voor aan bij naar te die dat",
    "Swedish": "en ett och på med i av som är den det för till från",
    "Danish or Norwegian": "en et og på med i af av som er den det til fra",
    "Polish": "i w na z do się jest nie ze po dla od przez oraz",
    "Turkish": "ve bir bu ile için da de olan çok en ne",
    "Indonesian": "yang dan di dengan ini untuk dari pada adalah sebuah seorang itu",
}


def _by_word() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for language, words in _STOP_WORDS.items():
        for word in words.split():
            found.setdefault(word, []).append(language)
    return found


_LANGUAGES = _by_word()
_COMMON = frozenset(_LANGUAGES)


def guess_language(caption: str) -> str:
    script = _LATIN if caption.isascii() else _script(caption[:_LETTERS])
    return _latin_language(caption) if script == _LATIN else script


def _script(text: str) -> str:
    """What most letters are of. Japanese mixes Han with kana, which nothing else has."""
    scripts = Counter(_BLOCKS[bisect_right(_STARTS, ord(letter)) - 1][1] for letter in text if letter.isalpha())
    if scripts[_KANA]:
        scripts[_KANA] += scripts.pop(_HAN, 0)
    return (max(scripts, key=lambda name: scripts[name]) if scripts else "") or UNKNOWN


def _latin_language(caption: str) -> str:
    """The language with the most of these words; a word of several languages counts in parts. A tie is unknown."""
    points: dict[str, float] = {}
    for word in _COMMON.intersection(_WORD.findall(caption[: 2 * _LETTERS].lower())):
        languages = _LANGUAGES[word]
        for language in languages:
            points[language] = points.get(language, 0.0) + 1 / len(languages)
    best = max(points.values(), default=0.0) - 1e-9
    leaders = [language for language, found in points.items() if found > best]
    return leaders[0] if len(leaders) == 1 else UNKNOWN
