"""Captions in other languages than English are read by content words."""

import pytest

from model.elements.languages import ContentWords


class TestElements:
    @pytest.mark.parametrize(
        ("language", "caption", "expected"),
        [
            ("de", "Zwei Hunde spielen auf der grünen Wiese", ["zwei", "hund", "spielen", "grün", "wiese"]),
            ("de-AT", "Die Hunde", ["hund"]),
            ("fr", "Un chien avec des enfants", ["chien", "enfant"]),
            ("zz", "Ein Hund, 2 Hunde", ["ein", "hund", "hunde"]),
            ("", "Ein Hund", ["ein", "hund"]),
        ],
    )
    def test_are_content_words_in_dictionary_form(self, language: str, caption: str, expected: list[str]) -> None:
        assert [element.lemma for element in ContentWords(language).elements(caption)] == expected

    def test_spans_are_the_words_as_written(self) -> None:
        caption = "Die Hunde!"
        (element,) = ContentWords("de").elements(caption)
        assert caption[element.start : element.end] == "Hunde"

    def test_each_word_is_named_once_and_long_text_is_cut(self) -> None:
        assert len(ContentWords("zz").elements("Hund " * 2000)) == 1
        letters = "bcdfghjklm"
        many = " ".join(f"a{one}{two}" for one in letters for two in letters)
        assert len(ContentWords("zz").elements(many)) == 40
