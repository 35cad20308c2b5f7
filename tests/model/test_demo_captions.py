"""Captions of demo scenes: varied, of a readable length, and true."""

import re
from random import Random

import pytest

from model.demo.backgrounds import BACKGROUNDS
from model.demo.captions import LONGEST, SHORTEST, describe
from model.demo.catalogue import KINDS
from model.demo.grammar import article, participle, plural, third_person
from model.demo.imagination import imagine
from model.demo.lexicon import WORDS
from model.demo.lexicon_scene import COLOUR_WORDS, COUNT_WORDS, SETTINGS
from model.demo.palette import COLOURS
from model.demo.phrases import Focus
from model.demo.scenes import Element, Scene
from tests.model.demo_words import kinds_named

MANY = 3000


@pytest.fixture(scope="module")
def told() -> list[tuple[Scene, str]]:
    scenes = [imagine(Random(f"scene {i}"), str(i)) for i in range(MANY)]
    return [(scene, describe(scene, Random(f"caption {scene.seed}"))) for scene in scenes]


def shape(caption: str) -> str:
    """What is left of a caption when the words about its scene are taken out."""
    words = re.findall(r"[\w'-]+", caption.lower())
    return " ".join(
        word for word in words if word in {"a", "an", "the", "of", "in", "on", "with", "and", "while", "that"}
    )


class TestDescribe:
    def test_practically_no_caption_occurs_twice(self, told: list[tuple[Scene, str]]) -> None:
        assert len({caption.lower() for _, caption in told}) >= 0.995 * MANY

    def test_captions_are_not_built_alike(self, told: list[tuple[Scene, str]]) -> None:
        assert len({shape(caption) for _, caption in told}) >= 500

    def test_vocabulary_is_large(self, told: list[tuple[Scene, str]]) -> None:
        words = {word for _, caption in told for word in re.findall(r"[a-z'-]+", caption.lower())}
        assert len(words) >= 700

    def test_length_is_that_of_alt_text(self, told: list[tuple[Scene, str]]) -> None:
        lengths = [len(caption.split()) for _, caption in told]
        assert min(lengths) >= SHORTEST
        assert max(lengths) <= LONGEST

    def test_fits_one_field_of_a_tsv(self, told: list[tuple[Scene, str]]) -> None:
        assert all(caption == caption.strip() and "  " not in caption and caption.isprintable() for _, caption in told)

    def test_names_the_main_thing_and_nothing_that_is_absent(self, told: list[tuple[Scene, str]]) -> None:
        for scene, caption in told:
            named = kinds_named(caption)
            assert scene.main.kind in named, caption
            assert named <= {element.kind for element in scene.elements}, caption

    def test_says_no_colour_that_neither_thing_nor_setting_has(self, told: list[tuple[Scene, str]]) -> None:
        for scene, caption in told:
            text = caption.lower()
            setting = SETTINGS[scene.background]
            for phrase in sorted((*setting.airs, *setting.nouns, *setting.adjectives), key=len, reverse=True):
                text = text.replace(phrase.rstrip("+~!").lower(), "")
            said = {name for name, words in COLOUR_WORDS.items() if any(word in text.split() for word in words)}
            assert said <= {element.colour for element in scene.elements}, caption

    def test_does_not_say_another_number_of_main_things(self, told: list[tuple[Scene, str]]) -> None:
        for scene, caption in told:
            allowed = {element.count for element in scene.elements}
            for count, words in COUNT_WORDS.items():
                if count not in allowed:
                    assert not any(re.search(rf"\b{word}(?![\w-])", caption.lower()) for word in words), caption

    def test_setting_is_mostly_told(self, told: list[tuple[Scene, str]]) -> None:
        def tells(scene: Scene, caption: str) -> bool:
            words = SETTINGS[scene.background]
            return any(noun.rstrip("+~!").lower() in caption.lower() for noun in (*words.nouns, *words.airs))

        assert sum(tells(scene, caption) for scene, caption in told) >= 0.85 * MANY

    def test_same_source_of_chance_gives_the_same_words(self) -> None:
        scene = imagine(Random(1), "1")
        assert describe(scene, Random(2)) == describe(scene, Random(2))
        assert describe(scene, Random(2)) != describe(scene, Random(3))

    @pytest.mark.parametrize("seed", range(30))
    def test_focus_is_never_left_out(self, seed: int) -> None:
        scene = Scene("desert", (Element("car", "red", 1, "left"), Element("cactus", None, 1, "far")))
        colour = describe(scene, Random(seed), Focus("colour", 0)).lower()
        assert any(word in colour for word in COLOUR_WORDS["red"])
        setting = describe(scene, Random(seed), Focus("background")).lower()
        assert "desert" in setting or "dunes" in setting
        assert "cactus" in kinds_named(describe(scene, Random(seed), Focus("kind", 1)))


class TestWords:
    def test_every_kind_colour_and_background_has_words(self) -> None:
        assert WORDS.keys() == KINDS.keys()
        assert COLOUR_WORDS.keys() == COLOURS.keys()
        assert SETTINGS.keys() == BACKGROUNDS.keys()

    def test_no_word_belongs_to_two_kinds(self) -> None:
        nouns = [noun for words in WORDS.values() for noun in words.nouns]
        assert len(nouns) == len(set(nouns))

    def test_no_colour_word_belongs_to_two_colours(self) -> None:
        words = [word for names in COLOUR_WORDS.values() for word in set(names)]
        assert len(words) == len(set(words))


class TestGrammar:
    @pytest.mark.parametrize(
        ("phrase", "expected"),
        [("old house", "an old house"), ("ewe", "a ewe"), ("umbrella", "an umbrella"), ("red owl", "a red owl")],
    )
    def test_article_follows_the_sound(self, phrase: str, expected: str) -> None:
        assert article(phrase) == expected

    @pytest.mark.parametrize(
        ("noun", "expected"),
        [
            ("park bench", "park benches"),
            ("daisy", "daisies"),
            ("toy", "toys"),
            ("snowman", "snowmen"),
            ("sheep", "sheep"),
            ("cactus", "cacti"),
            ("gas giant", "gas giants"),
        ],
    )
    def test_plural_is_english(self, noun: str, expected: str) -> None:
        assert plural(noun) == expected

    @pytest.mark.parametrize(
        ("verb", "does", "doing"),
        [
            ("sit", "sits", "sitting"),
            ("lie", "lies", "lying"),
            ("fly", "flies", "flying"),
            ("perch", "perches", "perching"),
            ("graze", "grazes", "grazing"),
            ("blast off", "blasts off", "blasting off"),
            ("sway", "sways", "swaying"),
        ],
    )
    def test_verbs_are_inflected(self, verb: str, does: str, doing: str) -> None:
        assert third_person(verb, is_plural=False) == does
        assert third_person(verb, is_plural=True) == verb
        assert participle(verb) == doing
