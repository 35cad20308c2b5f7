"""Plants of the demo scenes, each in a unit height."""

import math

from model.demo.palette import INK, LAMP, LEAF, PAPER, WOOD, darker, lighter
from model.demo.pen import Pen


def tree(pen: Pen) -> None:
    pen.poly(((-0.08, 0), (-0.05, 0.5), (0.05, 0.5), (0.09, 0)), WOOD)
    pen.line(((0.02, 0.3), (0.2, 0.52)), WOOD, 0.04)
    shade = darker(pen.colour, 0.22)
    for x, y, r in ((-0.22, 0.52, 0.17), (0.22, 0.54, 0.18), (0.0, 0.5, 0.19)):
        pen.oval(x, y, r, r * 0.9, shade)
    for x, y, r in ((-0.2, 0.66, 0.2), (0.2, 0.68, 0.19), (0.0, 0.8, 0.2), (0.0, 0.62, 0.2)):
        pen.oval(x, y, r, r, pen.colour, edge=False)
    for _ in range(9):
        x, y = pen.rng.uniform(-0.28, 0.22), pen.rng.uniform(0.56, 0.92)
        pen.oval(x, y, 0.05, 0.035, lighter(pen.colour, 0.25), edge=False)


def pine(pen: Pen) -> None:
    pen.box(-0.05, 0, 0.05, 0.2, WOOD)
    for y, reach in ((0.12, 0.32), (0.36, 0.26), (0.58, 0.2), (0.76, 0.13)):
        top = min(1.0, y + 0.32)
        pen.poly(
            ((-reach, y), (0, top), (reach, y), (reach * 0.4, y + 0.035), (-reach * 0.4, y + 0.035)),
            pen.colour,
        )
        pen.glaze(((0.02, y + 0.02), (0, top), (reach, y)), INK, 50)
        pen.line(((-reach * 0.8, y + 0.05), (-reach * 0.25, y + 0.2)), lighter(pen.colour, 0.3), 0.014)


def palm(pen: Pen) -> None:
    trunk = ((-0.02, 0.0), (0.0, 0.25), (0.05, 0.5), (0.13, 0.74))
    pen.line(trunk, darker(WOOD, 0.35), 0.085)
    pen.line(trunk, lighter(WOOD, 0.15), 0.06)
    for x, y in ((-0.01, 0.12), (0.01, 0.26), (0.035, 0.4), (0.07, 0.53), (0.1, 0.64)):
        pen.line(((x - 0.03, y), (x + 0.03, y + 0.01)), darker(WOOD, 0.2), 0.012)
    x, y = 0.13, 0.74
    leaves = (
        (-0.5, 0.02),
        (-0.44, 0.24),
        (-0.2, 0.34),
        (0.16, 0.34),
        (0.42, 0.2),
        (0.46, -0.04),
        (-0.3, -0.14),
        (0.26, -0.16),
    )
    for i, (dx, dy) in enumerate(leaves):
        tone = LEAF if i % 2 else darker(LEAF, 0.18)
        bend = (x + dx * 0.55, y + dy * 0.6 + 0.11)
        pen.poly(((x, y), bend, (x + dx, y + dy), (x + dx * 0.55, y + dy * 0.6 + 0.02)), tone)
    for dx in (-0.05, 0.04):
        pen.ball(x + dx, y - 0.03, 0.045, 0.045, darker(WOOD, 0.2))


def flower(pen: Pen) -> None:
    pen.line(((0.02, 0), (-0.02, 0.3), (0, 0.6)), LEAF, 0.045)
    for side in (-1, 1):
        pen.blob(((0, 0.12), (side * 0.16, 0.2), (side * 0.3, 0.36), (side * 0.1, 0.28)), LEAF)
    for petal in range(8):
        angle = petal * math.pi / 4
        x, y = 0.19 * math.cos(angle), 0.7 + 0.19 * math.sin(angle)
        pen.oval(x, y, 0.115, 0.115, pen.colour if petal % 2 else lighter(pen.colour, 0.14))
    pen.ball(0, 0.7, 0.12, 0.12, LAMP if sum(pen.colour) < 480 or pen.colour[2] > 120 else (120, 66, 40))


def mushroom(pen: Pen) -> None:
    pen.blob(
        ((-0.15, 0.02), (-0.12, 0.3), (-0.1, 0.54), (0.1, 0.54), (0.12, 0.3), (0.17, 0.02), (0.0, -0.02)),
        (246, 234, 212),
    )
    pen.glaze(((0.03, 0.0), (0.16, 0.02), (0.11, 0.5), (0.04, 0.5)), INK, 30)
    pen.oval(0, 0.5, 0.36, 0.08, (228, 206, 176))
    cap = (
        (-0.5, 0.5),
        (-0.42, 0.76),
        (-0.2, 0.95),
        (0.0, 1.0),
        (0.2, 0.95),
        (0.42, 0.76),
        (0.5, 0.5),
        (0.0, 0.56),
    )
    pen.blob(cap, pen.colour)
    pen.glaze(((0.16, 0.56), (0.49, 0.5), (0.42, 0.74), (0.2, 0.94)), INK, 36)
    dots = PAPER if sum(pen.colour) < 640 else (214, 150, 110)
    for x, y, r in (
        (-0.28, 0.66, 0.07),
        (-0.06, 0.84, 0.085),
        (0.18, 0.7, 0.07),
        (0.34, 0.6, 0.045),
        (-0.04, 0.62, 0.045),
    ):
        pen.oval(x, y, r, r * 0.85, dots, edge=False)


def cactus(pen: Pen) -> None:
    green = (62, 148, 84)
    for side, low, high in ((-1, 0.34, 0.72), (1, 0.44, 0.82)):
        pen.panel(side * 0.15 - 0.12, low, side * 0.15 + 0.12, low + 0.13, green, 0.06)
        pen.panel(side * 0.28 - 0.07, low, side * 0.28 + 0.07, high, green, 0.07)
    pen.panel(-0.12, -0.02, 0.12, 1.0, green, 0.12)
    for x in (-0.055, 0.0, 0.055):
        pen.line(((x, 0.04), (x, 0.9)), darker(green, 0.25), 0.012)
    for y in (0.14, 0.3, 0.46, 0.62, 0.78):
        for x in (-0.12, 0.12):
            pen.line(((x, y), (x * 1.35, y + 0.02)), PAPER, 0.01)
    for x, y in ((0.0, 0.99), (-0.28, 0.73), (0.28, 0.83)):
        for dx, dy in ((-0.035, 0.0), (0.035, 0.0), (0.0, 0.035)):
            pen.oval(x + dx, y + dy, 0.035, 0.035, (244, 96, 150), edge=False)


def pumpkin(pen: Pen) -> None:
    pen.blob(((-0.04, 0.8), (-0.1, 1.0), (0.02, 1.02), (0.06, 0.8)), (92, 122, 60))
    for x, rx in ((-0.38, 0.24), (0.38, 0.24), (-0.2, 0.26), (0.2, 0.26)):
        pen.oval(x, 0.42, rx, 0.4, darker(pen.colour, 0.1))
    pen.ball(0, 0.42, 0.24, 0.43, pen.colour)
    pen.oval(-0.36, 0.56, 0.05, 0.12, lighter(pen.colour, 0.35), edge=False)
    pen.blob(((0.06, 0.84), (0.24, 0.96), (0.4, 0.86), (0.22, 0.8)), LEAF)
