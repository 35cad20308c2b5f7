"""Captions as numbered words, for the backbones that read words: the vocabulary is built from the collection."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

PAD, START, END, UNKNOWN = range(4)
_SPECIAL = ("<pad>", "<start>", "<end>", "<unk>")
# Words and numbers of any script; every other sign that is no space is a word of its own.
_WORD = re.compile(r"\w+(?:'\w+)?|[^\w\s]")


class Vocabulary:
    """Known words and their numbers; the first four are padding, start, end and any unknown word."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words = (*_SPECIAL, *(word for word in dict.fromkeys(words) if word not in _SPECIAL))
        self._numbers = {word: number for number, word in enumerate(self.words)}

    @classmethod
    def build(cls, texts: Iterable[str], least_count: int) -> "Vocabulary":
        """All words seen at least so often, the most frequent first and equally frequent ones in alphabetical order."""
        counts = Counter(word for text in texts for word in split(text))
        kept = [word for word, count in counts.items() if count >= least_count]
        return cls(sorted(kept, key=lambda word: (-counts[word], word)))

    @classmethod
    def load(cls, path: Path) -> "Vocabulary":
        """From a JSON list of words, or the `{word2idx: ...}` file of the papers' released data."""
        content = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(content, dict) and isinstance(content.get("word2idx"), dict):
            numbers = content["word2idx"]
            content = sorted(numbers, key=lambda word: numbers[word])
        if not isinstance(content, list) or not all(isinstance(word, str) for word in content):
            raise ValueError(f"{path.name} is neither a JSON list of words nor an object with word2idx")
        return cls(content)

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, text: str, most: int) -> list[int]:
        """Numbers of at most `most` words between the start and the end sign."""
        return [START, *(self._numbers.get(word, UNKNOWN) for word in split(text)[:most]), END]


def split(text: str) -> list[str]:
    return _WORD.findall(text.lower())
