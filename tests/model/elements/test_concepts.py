import numpy as np
import pytest

from model.elements.captions import extractor
from model.elements.colours import basic_colour
from model.elements.concepts import LEAST_MENTIONS, NONE, Concepts, Kind, Rivals
from model.elements.element import Element

READ = extractor()


def told(*captions: str) -> list[list[Element]]:
    return [READ.elements(caption) for caption in captions]


def element(head: str, *attributes: str, count: int | None = None) -> Element:
    return Element(" ".join([*attributes, head]), head, attributes, count, 0, 1, False)


class TestBasicColour:
    @pytest.mark.parametrize(
        ("word", "colour"),
        [("scarlet", "red"), ("cherry-red", "red"), ("gray", "grey"), ("violet-coloured", "purple"), ("big", None)],
    )
    def test_shades_go_by_their_plain_colour(self, word: str, colour: str | None) -> None:
        assert basic_colour(word) == colour

    def test_only_the_ending_of_a_word_makes_it_no_colour(self) -> None:
        assert basic_colour("coloured") is None


class TestBuild:
    def test_rare_words_are_left_out(self) -> None:
        found = Concepts.build(told(*["a dog"] * LEAST_MENTIONS, *["a cat"] * (LEAST_MENTIONS - 1)))
        assert set(found.heads) == {"dog"}

    def test_heads_attributes_and_counts_have_columns_of_their_own(self) -> None:
        found = Concepts.build(told(*["two red dogs on the beach"] * 5))
        kinds = dict(zip(found.names, found.kinds, strict=True))
        assert kinds == {"beach": Kind.HEAD, "dog": Kind.HEAD, "red": Kind.ATTRIBUTE, "2": Kind.COUNT}
        assert found.head_count == 2

    def test_shades_are_counted_together(self) -> None:
        found = Concepts.build(told(*["a scarlet car"] * 3, *["a red car"] * 2))
        assert found.mentions[found.attributes["red"]] == 5

    def test_captions_without_elements_make_no_concepts(self) -> None:
        assert len(Concepts.build([[], []])) == 0


class TestMerged:
    def test_words_of_a_group_share_a_column_named_by_the_most_frequent(self) -> None:
        plain = Concepts.build(told(*["a car"] * 7, *["an automobile"] * 5, *["a red dog"] * 6))
        group = {"car": 0, "automobile": 0, "dog": 1}
        found = plain.merged(np.array([group[word] for word in plain.heads]))
        assert found.heads["automobile"] == found.heads["car"] != found.heads["dog"]
        assert found.names[found.heads["automobile"]] == "car"
        assert found.mentions[found.heads["car"]] == 12
        assert found.names[found.attributes["red"]] == "red"


class TestWithPhrases:
    def test_attribute_and_head_said_often_become_a_phrase(self) -> None:
        captions = told(*["a red car"] * 6, *["a blue dog"] * 6)
        found = Concepts.build(captions).with_phrases(captions)
        assert set(found.names[found.head_count + 2 + 1 :]) >= {"red car", "blue dog"} - {"1"}
        assert found.parts(element("car", "blue")).traits[0].phrase == NONE


class TestParts:
    def test_element_is_read_as_columns(self) -> None:
        captions = told(*["two red cars"] * 6)
        found = Concepts.build(captions).with_phrases(captions)
        parts = found.parts(element("car", "crimson", count=2))
        assert parts.head == found.heads["car"]
        assert [trait.rivals for trait in parts.traits] == [Rivals.COLOUR, Rivals.COUNT]
        assert found.names[parts.traits[0].phrase] == "red car"
        assert len(found.columns(parts)) == 4

    def test_unknown_words_have_no_columns(self) -> None:
        parts = Concepts.build(told(*["a dog"] * 5)).parts(element("zebra", "striped"))
        assert not parts.is_known
        assert parts.head == NONE
