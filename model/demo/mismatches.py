"""Captions that are wrong on purpose: one visible thing of a scene changed, and what was changed."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from model.demo.backgrounds import BACKGROUNDS, visibly_different
from model.demo.catalogue import KINDS, at_home
from model.demo.palette import contrasting
from model.demo.phrases import Aspect, Focus
from model.demo.scenes import Scene

# Large things first: a wrong count of small ones would be a quibble, not a mismatch.
_WEIGHTS: dict[Aspect, int] = {"kind": 50, "background": 28, "colour": 16, "count": 6}
_FAINT = frozenset({"snowman"})  # its colour is only that of a scarf
_OTHER_COUNTS = {1: (3, 5), 2: (5,), 3: (1,), 5: (1, 2)}


@dataclass(frozen=True)
class Wrong:
    """The one thing a near-miss caption gets wrong; `element` is None for the background."""

    aspect: Aspect
    element: int | None
    true: str
    said: str

    @property
    def focus(self) -> Focus:
        return Focus(self.aspect, self.element)


def near_miss(scene: Scene, rng: Random) -> tuple[Scene, Wrong]:
    """The scene a false caption describes, and how it differs from the true one."""
    changes: dict[Aspect, Callable[[Scene, Random], tuple[Scene, Wrong] | None]] = {
        "kind": _other_kind,
        "background": _other_background,
        "colour": _other_colour,
        "count": _other_count,
    }
    aspect = rng.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
    changed = changes[aspect](scene, rng) or _other_background(scene, rng)
    return changed


def _other_kind(scene: Scene, rng: Random) -> tuple[Scene, Wrong] | None:
    """Another main kind that could be here in this colour, unlike anything that is here."""
    main = scene.main
    families = {KINDS[element.kind].family for element in scene.elements}
    options = [
        name
        for name in at_home(scene.background, "main")
        if KINDS[name].family not in families
        and name not in BACKGROUNDS[scene.background].holds
        and (main.colour in KINDS[name].colours if main.colour else not KINDS[name].colours)
    ]
    if not options:
        return None
    kind = rng.choice(options)
    wrong = replace(scene, elements=(replace(main, kind=kind), *scene.elements[1:]))
    return wrong, Wrong("kind", 0, main.kind, kind)


def _other_background(scene: Scene, rng: Random) -> tuple[Scene, Wrong]:
    """Another background, where possible one the main thing could be on."""
    options = visibly_different(scene.background)
    plausible = [name for name in options if name in KINDS[scene.main.kind].homes]
    background = rng.choice(plausible or options)
    return replace(scene, background=background), Wrong("background", None, scene.background, background)


def _other_colour(scene: Scene, rng: Random) -> tuple[Scene, Wrong] | None:
    main = scene.main
    if main.colour is None or main.kind in _FAINT:
        return None
    options = [name for name in contrasting(main.colour) if name in KINDS[main.kind].colours]
    if not options:
        return None
    colour = rng.choice(options)
    wrong = replace(scene, elements=(replace(main, colour=colour), *scene.elements[1:]))
    return wrong, Wrong("colour", 0, main.colour, colour)


def _other_count(scene: Scene, rng: Random) -> tuple[Scene, Wrong]:
    main = scene.main
    count = rng.choice(_OTHER_COUNTS[main.count])
    wrong = replace(scene, elements=(replace(main, count=count, place=None), *scene.elements[1:]))
    return wrong, Wrong("count", 0, str(main.count), str(count))
