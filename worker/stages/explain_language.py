"""Which language the captions of a collection are in, mostly, and what reads that one."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from model.elements.captions import Extractor, extractor
from model.positions import spread
from worker.stages.language import UNKNOWN, guess_language

LOOKED_AT = 2_000  # captions, evenly spread
ENGLISH = "English"
# Codes for the names that the guess gives; others have no dictionary, and any code of their own does.
CODES = {
    ENGLISH: "en",
    "German": "de",
    "French": "fr",
    "Spanish": "es",
    "Italian": "it",
    "Portuguese": "pt",
    "Dutch": "nl",
    "Swedish": "sv",
    "Danish or Norwegian": "da",
    "Polish": "pl",
    "Turkish": "tr",
    "Indonesian": "id",
    "Greek": "el",
    "Cyrillic script": "ru",
    "Armenian": "hy",
    "Georgian": "ka",
    "Devanagari script": "hi",
}
NO_CODE = "und"


@dataclass(frozen=True)
class Language:
    name: str
    share: float  # of the captions whose language could be guessed
    read: Extractor

    @property
    def note(self) -> str:
        if self.name == ENGLISH:
            return "Noun phrases with their attributes and counts."
        return (
            f"The captions are mostly in another language than English ({self.name}, a guess): their elements are "
            "content words, without attributes or counts."
        )


def main_language(texts: Sequence[str]) -> Language:
    """English where no caption tells."""
    guesses = Counter(guess_language(texts[int(place)]) for place in spread(len(texts), LOOKED_AT))
    guesses.pop(UNKNOWN, None)
    name, count = guesses.most_common(1)[0] if guesses else (ENGLISH, 0)
    share = count / guesses.total() if guesses else 0.0
    return Language(name, share, extractor(CODES.get(name, NO_CODE)))
