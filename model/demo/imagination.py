"""Invent a scene: a background, one large main element, and up to two smaller ones that belong there."""

from random import Random

from model.demo.backgrounds import BACKGROUNDS
from model.demo.catalogue import KINDS, at_home, colours_for
from model.demo.scenes import COUNTS, Element, Place, Scene

_MAIN_WEIGHTS = (74, 11, 8, 7)
_FLOCKING = frozenset(
    ("bird", "butterfly", "cloud", "flower", "mushroom", "tree", "pine", "fish", "sheep", "balloon", "duck")
)


def imagine(rng: Random, seed: str) -> Scene:
    """A scene from this source of chance; `seed` is kept for drawing it."""
    background = rng.choice(tuple(BACKGROUNDS))
    main_kind = rng.choice(at_home(background, "main"))
    count = rng.choices(COUNTS, _MAIN_WEIGHTS)[0]
    places: tuple[Place, ...] = ("left", "middle", "right")
    place = rng.choice(places) if count == 1 else None
    main = Element(main_kind, _colour(rng, main_kind, background), count, place)
    elements = [main]
    for _ in range(rng.choices((0, 1, 2), (25, 50, 25))[0]):
        extra = _extra(rng, background, elements)
        if extra is not None:
            elements.append(extra)
    return Scene(background, tuple(elements), seed)


def _colour(rng: Random, kind: str, background: str) -> str | None:
    colours = colours_for(kind, background)
    return rng.choice(colours) if colours else None


def _extra(rng: Random, background: str, so_far: list[Element]) -> Element | None:
    """A smaller element in a place nothing else has taken, of a family that is not there yet."""
    role = rng.choice(("sky", "sky", "side", "far", "front"))
    place = _free_place(rng, role, so_far)
    families = {KINDS[element.kind].family for element in so_far}
    choices = [name for name in at_home(background, role) if KINDS[name].family not in families]
    if place is None or not choices:
        return None
    kind = rng.choice(choices)
    count = rng.choice((1, 1, 2, 3)) if kind in _FLOCKING and place != "far" else 1
    return Element(kind, _colour(rng, kind, background), count, place)


def _free_place(rng: Random, role: str, so_far: list[Element]) -> Place | None:
    taken = {element.place for element in so_far}
    main = so_far[0]
    if role == "sky":
        return None if "sky" in taken or (KINDS[main.kind].level == "air" and main.count > 1) else "sky"
    if role == "far":  # a row of main things would hide it
        return None if "far" in taken or (main.count > 1 and KINDS[main.kind].level != "air") else "far"
    if role == "front":
        return None if "front" in taken else "front"
    if main.place == "left" and "right" not in taken:
        return "right"
    if main.place == "right" and "left" not in taken:
        return "left"
    return None
