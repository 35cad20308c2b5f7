"""Noun phrases of English captions: heads, attributes, counts and spans."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.elements.captions import English, extractor
from model.elements.element import Element
from model.elements.phrases import MOST_ELEMENTS
from model.elements.tagging import from_penn, letters

_PATTERN = English("pattern", letters)  # whatever else is installed


def elements(caption: str) -> list[Element]:
    return _PATTERN.elements(caption)


def lemmas(caption: str) -> list[str]:
    return [element.lemma for element in elements(caption)]


class TestPhrases:
    @pytest.mark.parametrize(
        ("caption", "expected"),
        [
            ("A black dog is running after a white dog in the snow.", ["black dog", "white dog", "snow"]),
            ("a fire truck and a soccer ball", ["fire truck", "soccer ball"]),
            ("the man's hat", ["man", "hat"]),
            ("the boys' hats", ["boy", "hat"]),
            ("a snow-covered hill", ["snow-covered hill"]),
            ("a brown haired boy on a snow covered hill", ["brown-haired boy", "snow-covered hill"]),
            ("A field of lavender", ["field", "lavender"]),
            ("people in bathing suits", ["people", "bathing suit"]),
            ("a girl in a tank top at the top of the stairs", ["girl", "tank top", "stairs"]),
            ("TWO BLACK DOGS ON THE BEACH", ["2 black dog", "beach"]),
            ("#sunset #beach", ["sunset", "beach"]),
        ],
    )
    def test_are_found_with_their_modifiers(self, caption: str, expected: list[str]) -> None:
        assert lemmas(caption) == expected

    @pytest.mark.parametrize(
        ("caption", "expected"),
        [
            ("A dog jumps over a log", ["dog", "log"]),
            ("Two dogs race down the hill", ["2 dog", "hill"]),
            ("A boy and a girl run through leaves", ["boy", "girl", "leaf"]),
            ("A man in black stands on a stand", ["black man", "stand"]),
            ("He stops to smile for the camera", ["camera"]),
            ("a man is rock climbing", ["man"]),
            ("In the forest stand two trees", ["forest", "2 tree"]),
            ("A blonde lady with sunglasses smiles.", ["blonde lady", "sunglasses"]),
            ("A giraffe eating leaves", ["giraffe", "leaf"]),
            ("an owl with brown feathers perches in a tree", ["owl", "brown feather", "tree"]),
            ("A bathroom with a toilet, sink, and shower", ["bathroom", "toilet", "sink", "shower"]),
            ("a man on a bike ride by ocean waves", ["man", "bike ride", "ocean wave"]),
        ],
    )
    def test_do_not_hold_verbs(self, caption: str, expected: list[str]) -> None:
        assert lemmas(caption) == expected

    @pytest.mark.parametrize(
        ("caption", "expected"),
        [
            ("a stock photo of a cat", ["cat"]),
            ("children's book illustration of a fox", ["fox"]),
            ("a house with a mountain in the background", ["house", "mountain"]),
            ("mountain view with a barn on the left side", ["mountain", "barn"]),
            ("a close-up of a bunch of bananas", ["banana"]),
        ],
    )
    def test_about_the_picture_itself_are_left_out(self, caption: str, expected: list[str]) -> None:
        assert lemmas(caption) == expected

    def test_said_twice_are_one_element(self) -> None:
        assert lemmas("a black dog and a cat, the cat chasing the dog") == ["black dog", "cat"]


class TestAttributes:
    @pytest.mark.parametrize(
        ("caption", "expected"),
        [
            ("a black and white dog", ("black", "white")),
            ("a tall, dark man", ("tall", "dark")),
            ("the car is red", ("red",)),
            ("a sky that is blue", ("blue",)),
            ("a man dressed in red and black", ("red", "black")),
            ("a larger wooden house", ("large", "wooden")),
            ("a lovely striped shirt", ("striped",)),
            ("a smiling girl", ("smiling",)),
        ],
    )
    def test_are_kept_in_order(self, caption: str, expected: tuple[str, ...]) -> None:
        assert elements(caption)[0].attributes == expected


class TestCounts:
    @pytest.mark.parametrize(
        ("caption", "lemma", "count"),
        [
            ("two dogs", "2 dog", 2),
            ("2 dogs", "2 dog", 2),
            ("a pair of red shoes", "2 red shoe", 2),
            ("a trio of birds", "3 bird", 3),
            ("a dog", "dog", 1),
            ("one dog", "dog", 1),
            ("dogs", "dog", None),
            ("several dogs", "dog", None),
            ("a few dogs", "dog", None),
            ("a group of dogs", "dog", None),
            ("a group of six people", "6 people", 6),
            ("the dog", "dog", None),
            ("2024 calendar", "calendar", None),
            ("6 phone case", "phone case", None),
            ("3 fish", "3 fish", 3),
        ],
    )
    def test_are_what_the_text_says(self, caption: str, lemma: str, count: int | None) -> None:
        assert [(element.lemma, element.count) for element in elements(caption)] == [(lemma, count)]


class TestNames:
    @pytest.mark.parametrize("caption", ["<PERSON> rides a horse", "[PERSON] rides a horse"])
    def test_placeholders_are_names_without_their_brackets(self, caption: str) -> None:
        assert [(element.lemma, element.is_name) for element in elements(caption)] == [
            ("person", True),
            ("horse", False),
        ]

    def test_a_person_is_no_name(self) -> None:
        assert [element.is_name for element in elements("person rides a horse")] == [False, False]

    def test_proper_nouns_inside_a_sentence_are_names(self) -> None:
        assert [(element.lemma, element.is_name) for element in elements("the party in Paris")] == [
            ("party", False),
            ("paris", True),
        ]

    def test_capitals_of_a_title_are_no_names(self) -> None:
        assert not any(element.is_name for element in elements("Green Zebra Walks Through Provence"))


class TestSpans:
    @pytest.mark.parametrize(
        ("caption", "expected"),
        [
            ("Look: the two Red Balls!", ["two Red Balls"]),
            ("<b>a cat</b> &amp; https://example.org/dog <i>a dog</i>", ["cat", "dog"]),
            ("<PERSON> with a hat", ["<PERSON>", "hat"]),
            ("a mountain view", ["mountain"]),
        ],
    )
    def test_cut_the_phrase_out_as_written(self, caption: str, expected: list[str]) -> None:
        assert [caption[element.start : element.end] for element in elements(caption)] == expected


class TestHostileText:
    @pytest.mark.parametrize("caption", ["", " ", "\x00\x01", "🐶🐶", "&" * 9999, "<" * 9999, "the " * 3000, "\ud800"])
    def test_without_words_has_no_elements(self, caption: str) -> None:
        assert elements(caption) == []

    def test_right_to_left_text_gives_its_words(self) -> None:
        assert "كلب" in elements("كلب, قطة")[0].lemma

    def test_endless_lists_are_cut(self) -> None:
        nouns = ["cat", "tree", "house", "car", "boat", "hat", "lamp", "door", "bird", "river"]
        caption = ", ".join(f"{colour} {noun}" for noun in nouns for colour in ("red", "blue", "green", "old", "wet"))
        assert len(elements(caption)) == MOST_ELEMENTS

    def test_words_longer_than_words_are_passed_over(self) -> None:
        assert lemmas("a" * 5000 + " dog") == []
        assert lemmas("a" * 500 + " dog") == ["dog"]

    @settings(max_examples=200, deadline=None)
    @given(st.text(max_size=300))
    def test_any_text_gives_spans_inside_it_and_each_lemma_once(self, caption: str) -> None:
        found = elements(caption)
        assert len({element.lemma for element in found}) == len(found)
        assert all(0 <= element.start < element.end <= len(caption) for element in found)


class TestExtractor:
    def test_english_of_any_region_is_read_by_the_grammar(self) -> None:
        assert [element.lemma for element in extractor("en-GB").elements("two red balls")] == ["2 red ball"]

    def test_other_languages_say_that_they_are_read_by_words(self) -> None:
        assert extractor("de").name == "content words"

    def test_spacy_is_used_where_it_has_a_model(self) -> None:
        spacy = pytest.importorskip("spacy")
        if not spacy.util.is_package("en_core_web_sm"):
            pytest.skip("no English model of spaCy is installed")
        english = extractor()
        assert english.name.startswith("spacy:")
        assert [element.lemma for element in english.elements("two dogs jump over a red log")] == ["2 dog", "red log"]


class TestFromPenn:
    def test_another_taggers_parts_of_speech_go_through_the_same_grammar(self) -> None:
        tags = {"two": "CD", "dogs": "NNS", "watch": "VBP", "a": "DT", "smiling": "VBG", "girl": "NN", ".": "."}
        english = English("penn", lambda words: [from_penn(word, tags[word]) for word in words])
        assert [element.lemma for element in english.elements("Two dogs watch a smiling girl.")] == [
            "2 dog",
            "smiling girl",
        ]
