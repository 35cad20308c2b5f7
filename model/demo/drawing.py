"""Draw a scene at twice its size and halve it: background, things from far to near, strokes in front."""

from random import Random

from PIL import Image, ImageDraw

from model.demo.backgrounds import BACKGROUNDS, VARIANTS, Background, painted
from model.demo.catalogue import KINDS
from model.demo.foreground import finish, shadow
from model.demo.layout import Spot, arrange
from model.demo.palette import COLOURS, PAPER, RGB, mix
from model.demo.pen import Pen
from model.demo.scenes import Scene

_FLOATING = frozenset({"underwater", "space"})  # nothing stands there, so nothing casts a shadow


def draw(scene: Scene, size: int = 224) -> Image.Image:
    """The picture of a scene; the same scene gives the same pixels."""
    rng = Random(f"draw/{scene.seed}")
    background = BACKGROUNDS[scene.background]
    canvas = painted(scene.background, rng.randrange(VARIANTS), 2 * size)
    canvas = canvas.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if rng.random() < 0.5 else canvas.copy()
    brush = ImageDraw.Draw(canvas, "RGBA")
    for spot in arrange(scene, rng):
        _draw_thing(brush, spot, scene.background, 2 * size, rng)
    finish(brush, background.front, 2 * size, rng)
    return canvas.reduce(2)


def _draw_thing(brush: ImageDraw.ImageDraw, spot: Spot, where: str, size: int, rng: Random) -> None:
    kind = KINDS[spot.element.kind]
    background = BACKGROUNDS[where]
    x, y, height = spot.x * size, spot.y * size, spot.height * size
    floats = kind.level == "water" and background.water is not None
    if kind.level != "air" and where not in _FLOATING:
        shadow(brush, x, y, height * kind.aspect * 0.92, floats or where == "sea")
    colour = _shade(spot.element.colour, rng)
    flip = rng.random() < 0.5 and spot.element.kind != "hot_air_balloon"
    pen = Pen(brush, (x, y), height, colour, rng, flip, _haze(background, spot.distance))
    kind.draw(pen)


def _shade(name: str | None, rng: Random) -> RGB:
    """The named colour, a touch lighter or darker: no two red houses are quite the same."""
    return mix(COLOURS[name or "white"], PAPER if rng.random() < 0.5 else (20, 20, 40), rng.uniform(0.0, 0.1))


def _haze(background: Background, distance: float) -> tuple[RGB, float]:
    tint, share = background.tint
    return tint, share + (0.22 * distance if background.is_day else 0.12 * distance)
