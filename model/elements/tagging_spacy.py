"""Parts of speech by spaCy, where it and one of its English models are installed."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from model.elements.tagging import from_penn

_MODELS = ("en_core_web_lg", "en_core_web_md", "en_core_web_sm")
Tagger = Callable[[list[str]], list[str]]  # lower-case words to their letters


def find() -> tuple[str, Tagger] | None:
    """The name of the best model installed and a tagger that uses it."""
    try:
        spacy: Any = import_module("spacy")
    except ImportError:
        return None
    for model in _MODELS:
        if spacy.util.is_package(model):
            return f"spacy:{model}", _tagger(spacy, spacy.load(model, exclude=["parser", "ner", "lemmatizer"]))
    return None


def _tagger(spacy: Any, pipeline: Any) -> Tagger:
    def tag(words: list[str]) -> list[str]:
        document = pipeline(spacy.tokens.Doc(pipeline.vocab, words=words))
        return [from_penn(token.text, token.tag_) for token in document]

    return tag
