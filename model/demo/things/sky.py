"""What hangs in the sky, each in a unit height."""

import math

from model.demo.palette import RGB, darker, lighter
from model.demo.pen import Pen

_BOW: tuple[RGB, ...] = (
    (232, 70, 70),
    (246, 150, 50),
    (252, 220, 80),
    (90, 190, 100),
    (70, 140, 224),
    (140, 90, 200),
)


def sun(pen: Pen) -> None:
    gold = (255, 206, 60)
    pen.glow(0, 0.5, 0.75, (255, 236, 150), 34)
    for ray in range(12):
        angle = ray * math.pi / 6
        cos, sin = math.cos(angle), math.sin(angle)
        pen.line(((0.38 * cos, 0.5 + 0.38 * sin), (0.52 * cos, 0.5 + 0.52 * sin)), (255, 176, 40), 0.05)
    pen.ball(0, 0.5, 0.32, 0.32, gold)


def moon(pen: Pen) -> None:
    pale = (252, 244, 208)
    pen.glow(0, 0.5, 0.8, (226, 230, 255), 22)
    pen.ball(0, 0.5, 0.46, 0.46, pale)
    for x, y, r in ((-0.14, 0.64, 0.09), (0.18, 0.5, 0.07), (-0.08, 0.32, 0.06), (0.1, 0.72, 0.05)):
        pen.oval(x, y, r, r * 0.9, darker(pale, 0.13), edge=False)


def cloud(pen: Pen) -> None:
    shade = darker(pen.colour, 0.12)
    parts = ((-0.62, 0.34, 0.32), (-0.2, 0.56, 0.42), (0.3, 0.48, 0.38), (0.7, 0.32, 0.28))
    for x, y, r in parts:
        pen.oval(x, y - 0.05, r, r * 0.9, shade, edge=False)
    pen.box(-0.66, 0.0, 0.74, 0.24, shade, edge=False)
    for x, y, r in parts:
        pen.oval(x, y + 0.02, r * 0.94, r * 0.84, pen.colour, edge=False)
    for x, y, r in parts[1:3]:
        pen.oval(x - 0.06, y + 0.12, r * 0.6, r * 0.5, lighter(pen.colour, 0.5), edge=False)


def rainbow(pen: Pen) -> None:
    for i, tone in enumerate(_BOW):
        reach = 1.0 - 0.075 * i
        pen.arc(0, 0, reach, reach, 180, 360, tone, 0.08)


def planet(pen: Pen) -> None:
    ring = lighter(pen.colour, 0.45) if sum(pen.colour) < 600 else (206, 150, 110)
    pen.arc(0, 0.5, 0.82, 0.2, 180, 360, ring, 0.07)
    pen.ball(0, 0.5, 0.46, 0.46, pen.colour)
    for y, reach in ((0.62, 0.4), (0.38, 0.42)):
        pen.line(((-reach, y), (0, y - 0.03), (reach, y)), darker(pen.colour, 0.18), 0.05)
    pen.arc(0, 0.5, 0.82, 0.2, 0, 180, ring, 0.07)
    pen.arc(0, 0.5, 0.7, 0.16, 0, 180, darker(ring, 0.15), 0.03)
