"""The last strokes of a scene: what grows, falls or floats before its things, and the shadows under them."""

from random import Random

from PIL import ImageDraw

from model.demo.palette import RGB

_BLADES: dict[str, tuple[RGB, ...]] = {
    "grass": ((70, 156, 58), (140, 208, 90), (50, 126, 48)),
    "ferns": ((50, 92, 44), (96, 140, 64), (36, 70, 36)),
    "dusk_grass": ((52, 28, 58), (88, 46, 74), (36, 20, 46)),
    "dark_grass": ((26, 50, 66), (44, 78, 92), (14, 28, 44)),
    "lavender": ((150, 100, 214), (190, 150, 236), (104, 60, 166)),
    "rocks": ((74, 112, 66), (120, 160, 96), (52, 84, 52)),
    "raindrops": ((80, 104, 82), (116, 140, 108)),
}
_SPECKS: dict[str, tuple[RGB, ...]] = {
    "pebbles": ((226, 190, 134), (255, 244, 210), (214, 150, 120)),
    "sand": ((214, 146, 76), (255, 226, 160)),
    "leaves": ((214, 84, 36), (240, 160, 50), (176, 50, 36), (246, 204, 90)),
    "paving": ((112, 114, 122),),
}


def shadow(draw: ImageDraw.ImageDraw, x: float, y: float, width: float, is_water: bool) -> None:
    """A soft shadow on the ground, or the stir around a hull; pixels."""
    tone: tuple[int, int, int, int] = (225, 244, 252, 46) if is_water else (24, 18, 48, 34)
    for reach in (0.58, 0.5, 0.4):
        half, flat = width * reach, max(3.0, width * reach * 0.15)
        draw.ellipse((x - half, y - flat, x + half, y + flat), fill=tone)


def bubble(draw: ImageDraw.ImageDraw, x: float, y: float, r: float) -> None:
    draw.ellipse((x - r, y - r, x + r, y + r), fill=(200, 240, 255, 60), outline=(226, 248, 255, 190), width=2)


def finish(draw: ImageDraw.ImageDraw, style: str, size: int, rng: Random) -> None:
    """The strokes in front of everything."""
    if style in _BLADES:
        _tufts(draw, _BLADES[style], size, rng)
    elif style in _SPECKS:
        for _ in range(12):
            x, y, r = rng.uniform(0, size), size * rng.uniform(0.9, 1.0), size * rng.uniform(0.004, 0.01)
            draw.ellipse((x - r, y - r * 0.7, x + r, y + r * 0.7), fill=rng.choice(_SPECKS[style]))
    elif style == "waves":
        for _ in range(9):
            x, y, long = (
                rng.uniform(-0.05, 1.0) * size,
                size * rng.uniform(0.86, 0.98),
                size * rng.uniform(0.07, 0.15),
            )
            draw.arc((x, y, x + long, y + long * 0.2), 190, 350, fill=(226, 244, 252), width=4)
    elif style == "bubbles":
        for _ in range(10):
            bubble(draw, rng.uniform(0, size), rng.uniform(0, size), size * rng.uniform(0.006, 0.018))
    if style == "snowflakes":
        for _ in range(46):
            x, y, r = rng.uniform(0, size), rng.uniform(0, size), size * rng.uniform(0.004, 0.011)
            draw.ellipse((x - r, y - r, x + r, y + r), fill=(255, 255, 255, 210))
    elif style == "raindrops":
        for _ in range(64):
            x, y, long = (
                rng.uniform(0, 1.1) * size,
                rng.uniform(-0.05, 1.0) * size,
                size * rng.uniform(0.03, 0.07),
            )
            draw.line((x, y, x - long * 0.3, y + long), fill=(216, 230, 240, 130), width=2)


def _tufts(draw: ImageDraw.ImageDraw, colours: tuple[RGB, ...], size: int, rng: Random) -> None:
    for _ in range(12):
        x, y = rng.uniform(0, size), size * rng.uniform(0.9, 1.01)
        for _ in range(4):
            reach = size * rng.uniform(0.025, 0.05)
            lean, root = rng.uniform(-0.4, 0.4) * reach, x + rng.uniform(-0.012, 0.012) * size
            draw.line((root, y, root + lean, y - reach), fill=rng.choice(colours), width=3)
