"""The backgrounds of scenes: where things stand on them, how they tint, and a cache of painted ones."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from random import Random

import numpy as np
from PIL import Image

from model.demo import backgrounds_land as on_land
from model.demo import backgrounds_other as other
from model.demo.palette import RGB

VARIANTS = 4  # painted versions of each background; mirrored ones come free

_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Background:
    """Heights are shares of the canvas, from the top. `avoid` are colours that would drown in it,
    `holds` kinds it shows by itself, which a false caption must therefore not name."""

    paint: Callable[[int, Random], Image.Image]
    ground: float  # where the feet of near things stand
    horizon: float  # where the feet of far things stand
    front: str  # what grows or moves before the things
    tint: tuple[RGB, float]
    avoid: frozenset[str]
    water: float | None = None  # where floating things float
    holds: frozenset[str] = _NONE
    is_day: bool = True


_SKY: RGB = (214, 232, 248)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


BACKGROUNDS: dict[str, Background] = {
    "sea": Background(other.sea, 0.86, 0.56, "waves", (_SKY, 0.0), _names("blue turquoise"), 0.86),
    "beach": Background(
        other.beach, 0.88, 0.66, "pebbles", (_SKY, 0.0), _names("blue turquoise brown"), 0.74
    ),
    "meadow": Background(
        on_land.meadow, 0.88, 0.64, "grass", (_SKY, 0.0), _names("green"), None, _names("flower")
    ),
    "mountains": Background(on_land.mountains, 0.91, 0.8, "rocks", (_SKY, 0.04), _names("grey green"), 0.82),
    "desert": Background(
        on_land.desert, 0.88, 0.66, "sand", ((255, 214, 150), 0.05), _names("orange yellow brown")
    ),
    "snow": Background(
        on_land.snow, 0.88, 0.66, "snowflakes", ((220, 232, 250), 0.06), _names("white grey"), None,
        _names("pine")
    ),
    "city": Background(
        on_land.city, 0.93, 0.76, "paving", (_SKY, 0.03), _names("grey brown"), None, _names("house")
    ),
    "forest": Background(
        on_land.forest, 0.88, 0.72, "ferns", ((60, 100, 70), 0.08), _names("green brown black"), None,
        _names("tree pine"),
    ),
    "autumn": Background(
        on_land.autumn, 0.88, 0.64, "leaves", ((240, 190, 120), 0.05), _names("orange brown yellow red"),
        None,
        _names("tree"),
    ),
    "lavender": Background(
        on_land.lavender, 0.88, 0.62, "lavender", ((226, 206, 246), 0.04), _names("purple pink"), None,
        _names("flower"),
    ),
    "underwater": Background(
        other.underwater, 0.9, 0.84, "bubbles", ((30, 120, 180), 0.1), _names("blue turquoise"), 0.72,
        is_day=False,
    ),
    "sunset": Background(
        other.sunset, 0.91, 0.81, "dusk_grass", ((226, 96, 96), 0.12), _names("orange purple pink red"), 0.82,
        is_day=False,
    ),
    "night": Background(
        other.night, 0.88, 0.7, "dark_grass", ((24, 28, 84), 0.15), _names("black blue purple"), is_day=False
    ),
    "rain": Background(
        other.rain, 0.88, 0.67, "raindrops", ((120, 132, 144), 0.1), _names("grey green"), is_day=False
    ),
    "space": Background(
        other.space, 0.84, 0.5, "stardust", ((40, 24, 90), 0.08), _names("black purple"), 0.7, is_day=False
    ),
}  # fmt: skip


@lru_cache(maxsize=2 * VARIANTS * len(BACKGROUNDS))
def painted(name: str, variant: int, size: int) -> Image.Image:
    """One painted version, lit from the upper left. Callers copy it before they draw on it."""
    image = BACKGROUNDS[name].paint(size, Random(f"{name}/{variant}"))
    light = np.linspace(10, -10, size)[None, :, None] * np.linspace(1.0, 0.3, size)[:, None, None]
    return Image.fromarray(np.clip(np.asarray(image) + light, 0, 255).astype(np.uint8))


def visibly_different(name: str) -> tuple[str, ...]:
    """Backgrounds nobody would call by this one's name."""
    return tuple(other_name for other_name in BACKGROUNDS if other_name != name and {name, other_name} not in _ALIKE)


_ALIKE: tuple[set[str], ...] = (
    {"sea", "beach"},
    {"sea", "sunset"},
    {"sea", "mountains"},
    {"sea", "underwater"},
    {"meadow", "mountains"},
    {"meadow", "rain"},
    {"meadow", "lavender"},
    {"night", "space"},
    {"forest", "autumn"},
    {"snow", "mountains"},
    {"desert", "beach"},
)
