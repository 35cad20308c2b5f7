"""A pen that draws one thing in its own units: x to the right of its middle, y up from the ground, height 1.

Pillow's own wide outlines allocate a mask of the whole canvas; lines along the edge look the same for less.
"""

from collections.abc import Sequence
from functools import lru_cache
from random import Random

from PIL import ImageDraw

from model.demo.palette import RGB, darker, lighter, mix

Point = tuple[float, float]


@lru_cache(maxsize=512)
def smooth(points: tuple[Point, ...], steps: int = 5) -> tuple[Point, ...]:
    """A closed Catmull-Rom curve through the points; shapes are constants, so each is computed once."""
    n = len(points)
    curve: list[Point] = []
    for i in range(n):
        p0, p1, p2, p3 = (points[(i + k) % n] for k in (-1, 0, 1, 2))
        for step in range(steps):
            t = step / steps
            a, b = -0.5 * t + t * t - 0.5 * t**3, 1 - 2.5 * t * t + 1.5 * t**3
            c, d = 0.5 * t + 2 * t * t - 1.5 * t**3, -0.5 * t * t + 0.5 * t**3
            curve.append((a * p0[0] + b * p1[0] + c * p2[0] + d * p3[0], a * p0[1] + b * p1[1] + c * p2[1] + d * p3[1]))
    return tuple(curve)


class Pen:
    """Draws on an RGB canvas opened in RGBA mode, so a fourth channel in a fill is blended in."""

    def __init__(
        self,
        draw: ImageDraw.ImageDraw,
        foot: Point,
        height: float,
        colour: RGB,
        rng: Random,
        flip: bool = False,
        haze: tuple[RGB, float] = ((255, 255, 255), 0.0),
    ) -> None:
        self.draw = draw
        self.foot_x, self.foot_y = foot
        self.height = height
        self.colour = colour
        self.rng = rng
        self.sign = -height if flip else height
        self.haze_colour, self.haze_share = haze
        self.line_width = max(2, round(height * 0.011))

    def at(self, x: float, y: float) -> Point:
        return self.foot_x + x * self.sign, self.foot_y - y * self.height

    def tone(self, colour: RGB) -> RGB:
        """The colour as seen through the air of the scene."""
        return mix(colour, self.haze_colour, self.haze_share) if self.haze_share else colour

    def poly(self, points: Sequence[Point], fill: RGB, edge: bool = True) -> None:
        pixels = [self.at(x, y) for x, y in points]
        self.draw.polygon(pixels, fill=self.tone(fill))
        if edge:
            pixels.append(pixels[0])
            self.draw.line(pixels, fill=self.tone(darker(fill, 0.5)), width=self.line_width)

    def blob(self, points: tuple[Point, ...], fill: RGB, edge: bool = True) -> None:
        self.poly(smooth(points), fill, edge)

    def frame(self, x: float, y: float, rx: float, ry: float) -> tuple[float, float, float, float]:
        cx, cy = self.at(x, y)
        return cx - rx * self.height, cy - ry * self.height, cx + rx * self.height, cy + ry * self.height

    def oval(self, x: float, y: float, rx: float, ry: float, fill: RGB, edge: bool = True) -> None:
        outline = self.tone(darker(fill, 0.5)) if edge else None
        self.draw.ellipse(
            self.frame(x, y, rx, ry),
            fill=self.tone(fill),
            outline=outline,
            width=self.line_width if edge else 0,
        )

    def ball(self, x: float, y: float, rx: float, ry: float, fill: RGB) -> None:
        """An oval lit from the upper left."""
        self.oval(x, y, rx, ry, darker(fill, 0.16))
        lean = -0.07 if self.sign > 0 else 0.07
        self.oval(x + lean * rx, y + 0.07 * ry, rx * 0.88, ry * 0.88, fill, edge=False)
        self.oval(x + 3 * lean * rx, y + 0.28 * ry, rx * 0.58, ry * 0.56, lighter(fill, 0.13), edge=False)
        self.oval(x + 5 * lean * rx, y + 0.46 * ry, rx * 0.26, ry * 0.24, lighter(fill, 0.34), edge=False)

    def box(self, x0: float, y0: float, x1: float, y1: float, fill: RGB, edge: bool = True) -> None:
        self.poly(((x0, y0), (x1, y0), (x1, y1), (x0, y1)), fill, edge)

    def panel(self, x0: float, y0: float, x1: float, y1: float, fill: RGB, round_by: float = 0.05) -> None:
        """A box with round corners."""
        (ax, ay), (bx, by) = self.at(x0, y0), self.at(x1, y1)
        self.draw.rounded_rectangle(
            (min(ax, bx), min(ay, by), max(ax, bx), max(ay, by)),
            radius=round_by * self.height,
            fill=self.tone(fill),
            outline=self.tone(darker(fill, 0.5)),
            width=self.line_width,
        )

    def line(self, points: Sequence[Point], fill: RGB, width: float) -> None:
        pixels = [self.at(x, y) for x, y in points]
        self.draw.line(pixels, fill=self.tone(fill), width=max(2, round(width * self.height)))

    def tube(self, points: tuple[Point, ...], fill: RGB, width: float) -> None:
        """A round, outlined tail, trunk or arm along a smooth path."""
        there_and_back = smooth((*points, *points[-2:0:-1]), 4)
        path = [self.at(x, y) for x, y in there_and_back[: 4 * (len(points) - 1) + 1]]
        for colour, wide in (
            (darker(fill, 0.5), width * self.height + 2 * self.line_width),
            (fill, width * self.height),
        ):
            tone, radius = self.tone(colour), wide / 2
            self.draw.line(path, fill=tone, width=round(wide), joint="curve")
            for x, y in (path[0], path[-1]):
                self.draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=tone)

    def arc(self, x: float, y: float, rx: float, ry: float, start: float, end: float, fill: RGB, width: float) -> None:
        """Degrees as Pillow counts them, clockwise from three o'clock, mirrored when the thing is."""
        if self.sign < 0:
            start, end = 180 - end, 180 - start
        pixels = max(2, round(width * self.height))
        self.draw.arc(self.frame(x, y, rx, ry), start, end, fill=self.tone(fill), width=pixels)

    def glaze(self, points: Sequence[Point], colour: RGB, alpha: int) -> None:
        """A see-through polygon: the shaded side of a wall, the light on a roof."""
        self.draw.polygon([self.at(x, y) for x, y in points], fill=(*colour, alpha))

    def glow(self, x: float, y: float, radius: float, colour: RGB, alpha: int = 40, rings: int = 4) -> None:
        for ring in range(rings, 0, -1):
            reach = radius * ring / rings
            self.draw.ellipse(self.frame(x, y, reach, reach), fill=(*colour, alpha))

    def eye(self, x: float, y: float, size: float) -> None:
        self.oval(x, y, size, size * 1.15, (30, 26, 40), edge=False)
        self.oval(x + size * 0.25, y + size * 0.4, size * 0.36, size * 0.36, (255, 255, 255), edge=False)
