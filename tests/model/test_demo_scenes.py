"""Demo scenes: what is invented, what is drawn, and what a near-miss changes."""

from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from model.demo.backgrounds import BACKGROUNDS, visibly_different
from model.demo.captions import describe
from model.demo.catalogue import KINDS, colours_for
from model.demo.drawing import draw
from model.demo.imagination import imagine
from model.demo.layout import arrange
from model.demo.lexicon_scene import COLOUR_WORDS
from model.demo.mismatches import near_miss
from model.demo.palette import COLOURS, contrasting
from model.demo.scenes import Element, Scene
from tests.model.demo_words import kinds_named


def pixels(scene: Scene, size: int = 64) -> np.ndarray:
    return np.asarray(draw(scene, size), dtype=np.int16)


@pytest.fixture(scope="module")
def scenes() -> list[Scene]:
    return [imagine(Random(f"scene {i}"), str(i)) for i in range(2000)]


class TestImagine:
    def test_every_kind_background_and_colour_turns_up(self, scenes: list[Scene]) -> None:
        assert {scene.background for scene in scenes} == set(BACKGROUNDS)
        assert {element.kind for scene in scenes for element in scene.elements} == set(KINDS)
        assert {scene.main.colour for scene in scenes} == {*COLOURS, None}
        assert {scene.main.count for scene in scenes} == {1, 2, 3, 5}
        assert len({scene.main.kind for scene in scenes}) >= 45

    def test_things_are_where_they_belong(self, scenes: list[Scene]) -> None:
        for scene in scenes:
            for element in scene.elements:
                assert scene.background in KINDS[element.kind].homes
                assert element.colour in (colours_for(element.kind, scene.background) or (None,))

    def test_no_two_elements_share_a_family_or_a_place(self, scenes: list[Scene]) -> None:
        for scene in scenes:
            families = Counter(KINDS[element.kind].family for element in scene.elements)
            places = Counter(element.place for element in scene.elements if element.place)
            assert max(families.values()) == 1
            assert max(places.values(), default=1) == 1


class TestArrange:
    def test_every_counted_thing_has_its_spot_on_the_canvas(self, scenes: list[Scene]) -> None:
        for scene in scenes:
            spots = arrange(scene, Random(0))
            assert Counter(spot.element for spot in spots) == {element: element.count for element in scene.elements}
            assert all(0.0 < spot.x < 1.0 and 0.05 < spot.y <= 1.05 for spot in spots)

    def test_main_thing_is_the_largest(self, scenes: list[Scene]) -> None:
        for scene in scenes:
            areas = {
                spot.element: spot.height**2 * KINDS[spot.element.kind].aspect for spot in arrange(scene, Random(0))
            }
            if scene.main.count == 1 and "rainbow" not in {element.kind for element in scene.elements}:
                assert areas[scene.main] == max(areas.values())

    @pytest.mark.parametrize(
        ("place", "low", "high"), [("left", 0.0, 0.45), ("middle", 0.4, 0.6), ("right", 0.55, 1.0)]
    )
    def test_place_is_where_it_says(self, place: str, low: float, high: float) -> None:
        scene = Scene("meadow", (Element("owl", "blue", 1, place),))  # type: ignore[arg-type]
        assert low < arrange(scene, Random(1))[0].x < high


class TestDraw:
    @pytest.mark.parametrize("kind", list(KINDS))
    def test_every_kind_can_be_seen(self, kind: str) -> None:
        """Without the thing, at least a fiftieth of the picture looks clearly different."""
        background = min(KINDS[kind].homes)
        colours = colours_for(kind, background)
        place = "middle" if "main" in KINDS[kind].roles else "sky"
        shown = Element(kind, colours[0] if colours else None, 1, place)  # type: ignore[arg-type]
        with_thing = pixels(Scene(background, (shown,), "7"))
        hidden = pixels(Scene(background, (), "7"))
        assert (np.abs(with_thing - hidden).max(axis=2) > 40).mean() > 0.02

    @pytest.mark.parametrize("background", list(BACKGROUNDS))
    def test_background_differs_from_those_it_may_be_swapped_for(self, background: str) -> None:
        own = pixels(Scene(background, (), "1")).mean(axis=(0, 1))
        others = [pixels(Scene(other, (), "1")).mean(axis=(0, 1)) for other in visibly_different(background)]
        assert len(others) >= 8
        assert min(np.abs(own - other).max() for other in others) > 5

    def test_same_scene_gives_the_same_pixels(self) -> None:
        scene = imagine(Random(4), "4")
        assert np.array_equal(pixels(scene), pixels(scene))
        assert not np.array_equal(pixels(scene), pixels(replace(scene, seed="5")))

    @pytest.mark.parametrize("size", [32, 224, 300])
    def test_picture_has_the_size_asked_for(self, size: int) -> None:
        assert draw(imagine(Random(1), "1"), size).size == (size, size)

    def test_colour_of_the_scene_is_the_colour_in_the_picture(self) -> None:
        red, blue = (pixels(Scene("snow", (Element("car", colour, 1, "middle"),), "3")) for colour in ("red", "blue"))
        assert red[..., 0].mean() > blue[..., 0].mean() + 5
        assert blue[..., 2].mean() > red[..., 2].mean() + 5


class TestNearMiss:
    def test_exactly_one_thing_is_changed_and_named(self, scenes: list[Scene]) -> None:
        for scene in scenes:
            told, wrong = near_miss(scene, Random(f"miss {scene.seed}"))
            assert told.elements[1:] == scene.elements[1:]
            true = {"background": scene.background, "kind": scene.main.kind, "colour": scene.main.colour}
            said = {"background": told.background, "kind": told.main.kind, "colour": told.main.colour}
            true["count"], said["count"] = str(scene.main.count), str(told.main.count)
            assert [aspect for aspect in true if true[aspect] != said[aspect]] == [wrong.aspect]
            assert (wrong.true, wrong.said) == (true[wrong.aspect], said[wrong.aspect])

    def test_change_is_visible(self, scenes: list[Scene]) -> None:
        for scene in scenes:
            told, wrong = near_miss(scene, Random(f"miss {scene.seed}"))
            if wrong.aspect == "kind":
                assert KINDS[wrong.said].family not in {KINDS[element.kind].family for element in scene.elements}
                assert wrong.said not in BACKGROUNDS[scene.background].holds
            elif wrong.aspect == "colour":
                assert wrong.said in contrasting(wrong.true)
                assert not set(COLOUR_WORDS[wrong.said]) & set(COLOUR_WORDS[wrong.true])
            elif wrong.aspect == "background":
                assert wrong.said in visibly_different(wrong.true)
            else:
                assert abs(int(wrong.true) - int(wrong.said)) >= 2
            assert told != scene

    def test_large_things_are_changed_more_often_than_details(self, scenes: list[Scene]) -> None:
        aspects = Counter(near_miss(scene, Random(f"miss {scene.seed}"))[1].aspect for scene in scenes)
        assert set(aspects) == {"kind", "background", "colour", "count"}
        assert aspects["kind"] + aspects["background"] > 0.7 * len(scenes)
        assert aspects["count"] < 0.1 * len(scenes)

    def test_caption_tells_the_wrong_thing(self, scenes: list[Scene]) -> None:
        for scene in scenes[:600]:
            rng = Random(f"miss {scene.seed}")
            told, wrong = near_miss(scene, rng)
            caption = describe(told, rng, wrong.focus)
            if wrong.aspect == "kind":
                assert wrong.said in kinds_named(caption)
                assert wrong.true not in kinds_named(caption)
            elif wrong.aspect == "colour":
                assert any(word in caption.lower() for word in COLOUR_WORDS[wrong.said])


class TestContrasting:
    @pytest.mark.parametrize("colour", list(COLOURS))
    def test_contrast_is_far_and_mutual(self, colour: str) -> None:
        for other in contrasting(colour):
            distance = np.abs(np.subtract(COLOURS[colour], COLOURS[other])).max()
            assert distance > 60
            assert colour in contrasting(other)
