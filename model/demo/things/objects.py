"""Toys, tools and other small things, each in a unit height."""

import math

from model.demo.palette import INK, LAMP, PAPER, STONE, WOOD, darker, lighter
from model.demo.pen import Pen


def balloon(pen: Pen) -> None:
    pen.line(((0, 0.42), (0.05, 0.3), (-0.05, 0.16), (0.02, 0.0)), lighter(INK, 0.35), 0.014)
    pen.poly(((-0.05, 0.4), (0, 0.47), (0.05, 0.4)), darker(pen.colour, 0.2))
    pen.ball(0, 0.72, 0.24, 0.28, pen.colour)
    pen.oval(-0.1, 0.84, 0.045, 0.075, lighter(pen.colour, 0.75), edge=False)


def kite(pen: Pen) -> None:
    pen.line(((0, 0.4), (-0.12, 0.26), (0.02, 0.14), (-0.1, 0.0)), lighter(INK, 0.3), 0.014)
    for x, y in ((-0.11, 0.27), (0.01, 0.14), (-0.09, 0.02)):
        pen.poly(((x - 0.07, y + 0.04), (x + 0.07, y - 0.04), (x + 0.07, y + 0.04), (x - 0.07, y - 0.04)), LAMP)
    top, right, foot, left = (0.0, 1.0), (0.3, 0.72), (0.0, 0.36), (-0.3, 0.72)
    middle = (0.0, 0.72)
    pale = lighter(pen.colour, 0.5) if sum(pen.colour) < 640 else (206, 214, 226)
    for corner, after, tone in (
        (top, right, pen.colour),
        (right, foot, pale),
        (foot, left, pen.colour),
        (left, top, pale),
    ):
        pen.poly((corner, after, middle), tone)


def umbrella(pen: Pen) -> None:
    pen.line(((0, 0.08), (0, 0.96)), darker(WOOD, 0.2), 0.028)
    pen.arc(0.07, 0.08, 0.07, 0.07, 0, 180, darker(WOOD, 0.2), 0.032)
    canopy = ((-0.5, 0.52), (-0.42, 0.74), (-0.22, 0.9), (0.0, 0.95), (0.22, 0.9), (0.42, 0.74), (0.5, 0.52))
    scallops = ((0.34, 0.58), (0.17, 0.52), (0.0, 0.58), (-0.17, 0.52), (-0.34, 0.58))
    pen.poly(canopy + scallops, pen.colour)
    pale = lighter(pen.colour, 0.35)
    pen.poly(((0, 0.95), (-0.22, 0.8), (-0.17, 0.52), (0.0, 0.58)), pale, edge=False)
    pen.poly(((0, 0.95), (0.42, 0.74), (0.5, 0.52), (0.34, 0.58)), darker(pen.colour, 0.18), edge=False)
    for x in (-0.17, 0.17):
        pen.line(((0, 0.95), (x * 1.3, 0.76), (x, 0.52)), darker(pen.colour, 0.45), 0.012)
    pen.line(((0, 0.95), (0, 1.0)), INK, 0.03)


def snowman(pen: Pen) -> None:
    white = (244, 248, 255)
    for side in (-1, 1):
        pen.line(((side * 0.18, 0.44), (side * 0.44, 0.58)), WOOD, 0.026)
        pen.line(((side * 0.38, 0.55), (side * 0.42, 0.66)), WOOD, 0.02)
    for y, r in ((0.2, 0.25), (0.5, 0.19), (0.74, 0.145)):
        pen.ball(0, y, r, r * 0.95, white)
    for y in (0.38, 0.47, 0.55):
        pen.oval(0, y, 0.022, 0.022, INK, edge=False)
    pen.line(((-0.15, 0.63), (0.15, 0.63)), pen.colour, 0.075)
    pen.poly(((0.07, 0.63), (0.15, 0.63), (0.2, 0.4), (0.11, 0.4)), pen.colour)
    for x in (-0.055, 0.055):
        pen.oval(x, 0.78, 0.02, 0.024, INK, edge=False)
    pen.poly(((0.0, 0.75), (0.17, 0.71), (0.0, 0.7)), (244, 128, 32))
    pen.box(-0.17, 0.84, 0.17, 0.875, INK)
    pen.box(-0.105, 0.87, 0.105, 1.02, INK)
    pen.box(-0.105, 0.88, 0.105, 0.91, pen.colour, edge=False)


def campfire(pen: Pen) -> None:
    pen.glow(0, 0.4, 0.8, (255, 170, 60), 26)
    for angle in range(0, 181, 30):
        pen.oval(
            0.5 * math.cos(math.radians(angle)),
            0.1 * math.sin(math.radians(angle)) - 0.02,
            0.11,
            0.085,
            STONE,
        )
    for flame, tone in (
        (
            (
                (-0.34, 0.12),
                (-0.36, 0.42),
                (-0.18, 0.66),
                (0.0, 1.0),
                (0.14, 0.66),
                (0.34, 0.46),
                (0.34, 0.12),
            ),
            (236, 78, 32),
        ),
        (
            ((-0.22, 0.12), (-0.22, 0.36), (-0.06, 0.72), (0.1, 0.5), (0.22, 0.34), (0.22, 0.12)),
            (250, 160, 40),
        ),
        (((-0.12, 0.12), (-0.1, 0.3), (0.0, 0.48), (0.1, 0.28), (0.12, 0.12)), (255, 232, 120)),
    ):
        pen.blob(flame, tone, edge=False)
    for side in (-1, 1):
        pen.line(((side * 0.42, 0.04), (-side * 0.3, 0.22)), darker(WOOD, 0.4), 0.12)
        pen.line(((side * 0.42, 0.04), (-side * 0.3, 0.22)), WOOD, 0.09)


def bench(pen: Pen) -> None:
    for x in (-0.74, 0.74):
        pen.line(((x, 0.0), (x, 0.98)), INK, 0.07)
        pen.line(((x * 0.96, 0.42), (x * 1.1, 0.0)), INK, 0.06)
        pen.line(((x, 0.64), (x * 1.14, 0.64)), INK, 0.05)
    for y in (0.66, 0.82, 0.98):
        pen.panel(-0.9, y - 0.06, 0.9, y + 0.06, pen.colour, 0.03)
        pen.line(((-0.82, y + 0.025), (0.8, y + 0.025)), lighter(pen.colour, 0.35), 0.02)
    pen.panel(-0.96, 0.36, 0.96, 0.48, lighter(pen.colour, 0.1), 0.03)
    pen.panel(-0.98, 0.3, 0.98, 0.39, darker(pen.colour, 0.2), 0.03)


def lamp_post(pen: Pen) -> None:
    iron = pen.colour
    pen.glow(0, 0.85, 0.3, LAMP, 36)
    pen.box(-0.1, 0.0, 0.1, 0.05, iron)
    pen.box(-0.06, 0.05, 0.06, 0.14, iron)
    pen.line(((0, 0.1), (0, 0.76)), darker(iron, 0.4), 0.05)
    pen.line(((0, 0.1), (0, 0.76)), iron, 0.034)
    pen.line(((-0.14, 0.66), (0.14, 0.66)), iron, 0.026)
    pen.poly(((-0.065, 0.76), (0.065, 0.76), (0.11, 0.92), (-0.11, 0.92)), (255, 240, 170))
    pen.line(((0, 0.76), (0, 0.92)), iron, 0.012)
    pen.poly(((-0.14, 0.92), (0, 1.0), (0.14, 0.92)), iron)


def robot(pen: Pen) -> None:
    metal, dark = pen.colour, darker(pen.colour, 0.35)
    for x in (-0.15, 0.15):
        pen.box(x - 0.05, 0.06, x + 0.05, 0.22, STONE)
        pen.panel(x - 0.11, 0.0, x + 0.11, 0.08, dark, 0.03)
    for side in (-1, 1):
        pen.line(((side * 0.28, 0.5), (side * 0.44, 0.4), (side * 0.42, 0.24)), STONE, 0.07)
        pen.oval(side * 0.42, 0.22, 0.07, 0.07, dark)
    pen.panel(-0.29, 0.2, 0.29, 0.58, metal, 0.06)
    pen.glaze(((0.08, 0.21), (0.27, 0.21), (0.27, 0.57), (0.08, 0.57)), INK, 36)
    pen.panel(-0.17, 0.3, 0.17, 0.48, (60, 66, 82), 0.03)
    for x, tone in ((-0.09, (240, 80, 70)), (0.0, LAMP), (0.09, (110, 210, 110))):
        pen.oval(x, 0.39, 0.033, 0.033, tone)
    pen.line(((0, 0.88), (0, 0.97)), STONE, 0.024)
    pen.oval(0, 0.98, 0.04, 0.04, (240, 70, 60))
    pen.box(-0.07, 0.57, 0.07, 0.63, STONE)
    pen.panel(-0.25, 0.62, 0.25, 0.89, lighter(metal, 0.14), 0.07)
    for x in (-0.11, 0.11):
        pen.oval(x, 0.78, 0.07, 0.07, PAPER)
        pen.eye(x, 0.78, 0.04)
    pen.line(((-0.1, 0.68), (0.1, 0.68)), INK, 0.024)
