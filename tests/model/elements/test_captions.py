"""Noun phrases of English captions: heads, attributes, counts and spans."""

import pytest

from model.elements.captions import extractor


def lemmas(caption: str) -> list[str]:
    return [element.lemma for element in extractor().elements(caption)]


class TestElements:
    @pytest.mark.parametrize(
        ("caption", "expected"),
        [
            ("A black dog is running after a white dog in the snow.", ["black dog", "white dog", "snow"]),
            ("a black and white dog", ["black white dog"]),
            ("a photo of two dogs on a beach", ["2 dog", "beach"]),
            ("a pair of red shoes", ["2 red shoe"]),
            ("the man's hat", ["man", "hat"]),
        ],
    )
    def test_noun_phrases_become_elements(self, caption: str, expected: list[str]) -> None:
        assert lemmas(caption) == expected
