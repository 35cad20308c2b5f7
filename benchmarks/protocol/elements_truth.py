"""What is true of a demo scene, word by word: which things a phrase may name, and whether the scene shows them."""

import re
from functools import cache

from model.demo.backgrounds import BACKGROUNDS
from model.demo.lexicon import WORDS
from model.demo.lexicon_scene import SETTINGS
from model.demo.scenes import Scene
from model.elements.captions import extractor
from model.elements.colours import basic_colour
from model.elements.element import Element


@cache
def _owners() -> dict[str, frozenset[str]]:
    """Head of a phrase -> the kinds and backgrounds it may name, by the demo's own words for them."""
    found: dict[str, set[str]] = {}
    read = extractor()

    def own(phrase: str, owner: str) -> None:
        for element in read.elements(phrase):
            found.setdefault(element.head, set()).add(owner)

    for kind, words in WORDS.items():
        for noun in words.nouns:
            found.setdefault(re.split(r"[ ]", noun)[-1], set()).add(kind)
            own(f"a {noun}", kind)
        for phrase in words.wears:
            own("a thing " + phrase.replace("%s", "red"), kind)
    for background, setting in SETTINGS.items():
        for noun in setting.nouns:
            own(f"the {noun.rstrip('+~!')}", background)
        for air in setting.airs:
            own(air, background)
    found.pop("thing", None)
    return {head: frozenset(owners) for head, owners in found.items()}


def owners(head: str) -> frozenset[str]:
    """Empty for a word that the demo does not use for a thing."""
    return _owners().get(head, frozenset())


def shown(scene: Scene) -> frozenset[str]:
    """Kinds and the background, with what the background shows by itself."""
    return frozenset({scene.background, *(element.kind for element in scene.elements)})


def is_depicted(element: Element, scene: Scene) -> bool | None:
    """Whether all that a phrase says is true of the scene; None for words the demo does not use for things."""
    named = owners(element.head)
    if not named:
        return None
    if named & {scene.background, *BACKGROUNDS[scene.background].holds}:
        return True
    things = [thing for thing in scene.elements if thing.kind in named]
    colour = next((plain for word in element.attributes if (plain := basic_colour(word))), None)
    return any(
        (colour is None or thing.colour is None or thing.colour == colour)
        and (element.count is None or min(element.count, 5) == thing.count or not _counts(element))
        for thing in things
    )


def is_head_shown(head: str, scene: Scene) -> bool | None:
    named = owners(head)
    return bool(named & (shown(scene) | BACKGROUNDS[scene.background].holds)) if named else None


def _counts(element: Element) -> bool:
    """What a thing wears is not counted as the thing is: "with a red shell"."""
    return element.head in _things()


@cache
def _things() -> frozenset[str]:
    return frozenset(noun.split(" ")[-1] for words in WORDS.values() for noun in words.nouns)
