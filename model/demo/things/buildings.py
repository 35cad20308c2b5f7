"""Buildings of the demo scenes, each in a unit height."""

import math

from model.demo.palette import GLASS, INK, LAMP, PAPER, STONE, WOOD, darker, lighter
from model.demo.pen import Pen


def _window(pen: Pen, x: float, y: float, size: float) -> None:
    pen.box(x - size, y - size, x + size, y + size, LAMP if pen.rng.random() < 0.5 else GLASS)
    pen.line(((x, y - size), (x, y + size)), PAPER, 0.012)
    pen.line(((x - size, y), (x + size, y)), PAPER, 0.012)


def house(pen: Pen) -> None:
    roof = darker(pen.colour, 0.45) if sum(pen.colour) > 260 else (150, 60, 50)
    pen.box(0.22, 0.72, 0.33, 0.98, (168, 92, 74))
    pen.box(-0.46, 0, 0.46, 0.56, pen.colour)
    pen.glaze(((0.12, 0), (0.46, 0), (0.46, 0.56), (0.12, 0.56)), INK, 34)
    for y in (0.14, 0.28, 0.42):
        pen.line(((-0.46, y), (0.46, y)), darker(pen.colour, 0.14), 0.008)
    pen.poly(((-0.58, 0.54), (0, 0.96), (0.58, 0.54)), roof)
    pen.glaze(((-0.58, 0.54), (0, 0.96), (0, 0.54)), PAPER, 36)
    pen.panel(-0.11, 0, 0.11, 0.33, WOOD, 0.04)
    pen.oval(0.07, 0.16, 0.014, 0.014, LAMP, edge=False)
    for x in (-0.29, 0.29):
        _window(pen, x, 0.3, 0.09)
    pen.oval(0, 0.7, 0.075, 0.075, LAMP)


def castle(pen: Pen) -> None:
    wall = pen.colour
    for x, top in ((-0.42, 0.66), (0.42, 0.66)):
        pen.box(x - 0.13, 0, x + 0.13, top, wall)
        pen.glaze(((x + 0.02, 0), (x + 0.13, 0), (x + 0.13, top), (x + 0.02, top)), INK, 40)
        pen.poly(((x - 0.17, top), (x, top + 0.27), (x + 0.17, top)), darker(wall, 0.5))
        pen.oval(x, top - 0.16, 0.035, 0.055, INK)
    pen.box(-0.3, 0, 0.3, 0.45, lighter(wall, 0.12))
    for x in (-0.24, -0.08, 0.08, 0.24):
        pen.box(x - 0.05, 0.45, x + 0.05, 0.52, lighter(wall, 0.12))
    pen.box(-0.11, 0.45, 0.11, 0.74, wall)
    pen.poly(((-0.15, 0.74), (0, 0.95), (0.15, 0.74)), darker(wall, 0.5))
    pen.line(((0, 0.95), (0, 1.04)), INK, 0.014)
    pen.poly(((0, 1.04), (0.13, 1.0), (0, 0.96)), LAMP)
    pen.oval(0, 0.61, 0.035, 0.055, LAMP)
    pen.panel(-0.11, -0.02, 0.11, 0.26, darker(WOOD, 0.35), 0.11)
    for x, y in ((-0.2, 0.32), (0.2, 0.36), (-0.45, 0.2), (0.45, 0.3), (0.22, 0.1), (-0.22, 0.12)):
        pen.line(((x - 0.04, y), (x + 0.03, y)), darker(wall, 0.22), 0.012)


def lighthouse(pen: Pen) -> None:
    pen.blob(
        ((-0.36, -0.02), (-0.28, 0.09), (-0.1, 0.12), (0.12, 0.1), (0.32, 0.06), (0.38, -0.03)),
        darker(STONE, 0.2),
    )
    pen.glow(0, 0.86, 0.2, LAMP, 30)
    pen.glaze(((0.06, 0.87), (0.75, 1.02), (0.75, 0.74)), LAMP, 90)
    bottom, top = 0.06, 0.76
    for stripe in range(5):
        y0 = bottom + (top - bottom) * stripe / 5
        y1 = bottom + (top - bottom) * (stripe + 1) / 5
        w0, w1 = 0.2 - 0.09 * stripe / 5, 0.2 - 0.09 * (stripe + 1) / 5
        other = PAPER if sum(pen.colour) < 640 else (120, 120, 130)
        pen.poly(((-w0, y0), (w0, y0), (w1, y1), (-w1, y1)), pen.colour if stripe % 2 == 0 else other)
    pen.glaze(((0.04, bottom), (0.2, bottom), (0.11, top), (0.03, top)), INK, 46)
    pen.box(-0.15, 0.76, 0.15, 0.79, INK)
    pen.box(-0.085, 0.79, 0.085, 0.91, LAMP)
    pen.line(((0, 0.79), (0, 0.91)), INK, 0.012)
    pen.poly(((-0.12, 0.91), (0, 1.0), (0.12, 0.91)), darker(pen.colour, 0.3))
    pen.panel(-0.05, 0.06, 0.05, 0.2, WOOD, 0.05)


def windmill(pen: Pen) -> None:
    pen.poly(((-0.24, 0), (0.24, 0), (0.15, 0.58), (-0.15, 0.58)), pen.colour)
    pen.glaze(((0.05, 0), (0.24, 0), (0.15, 0.58), (0.03, 0.58)), INK, 40)
    pen.poly(((-0.19, 0.58), (0, 0.76), (0.19, 0.58)), (120, 70, 56))
    pen.panel(-0.07, 0, 0.07, 0.19, WOOD, 0.06)
    pen.oval(0, 0.4, 0.05, 0.05, GLASS)
    turn = pen.rng.choice((0.0, 0.3, 0.6))
    hub_x, hub_y, reach = 0.0, 0.6, 0.4
    for quarter in range(4):
        cos, sin = math.cos(turn + quarter * math.pi / 2), math.sin(turn + quarter * math.pi / 2)
        tip = (hub_x + reach * cos, hub_y + reach * sin)
        side = (-sin * 0.12, cos * 0.12)
        start = (hub_x + 0.1 * cos, hub_y + 0.1 * sin)
        blade = (start, tip, (tip[0] + side[0], tip[1] + side[1]), (start[0] + side[0], start[1] + side[1]))
        pen.poly(blade, lighter((236, 222, 196), 0.3))
        pen.line(((hub_x, hub_y), tip), WOOD, 0.022)
    pen.oval(hub_x, hub_y, 0.035, 0.035, WOOD)


def tent(pen: Pen) -> None:
    pen.line(((-0.62, 0.0), (0.0, 0.98)), WOOD, 0.02)
    pen.poly(((-0.7, 0), (0, 0.93), (0.7, 0)), pen.colour)
    pen.poly(((0.12, 0), (0, 0.93), (0.7, 0)), darker(pen.colour, 0.2))
    pen.poly(((-0.3, 0), (-0.02, 0.66), (0.12, 0)), darker(pen.colour, 0.62))
    pen.poly(((-0.3, 0), (-0.02, 0.66), (-0.18, 0)), lighter(pen.colour, 0.35))
    pen.line(((0.0, 0.93), (0.0, 1.0)), WOOD, 0.03)
    for x in (-0.78, 0.78):
        pen.line(((0.0, 0.9), (x, -0.02)), lighter(WOOD, 0.4), 0.009)


def bridge(pen: Pen) -> None:
    pen.blob(
        ((-0.9, -0.1), (-0.4, 0.02), (0.4, 0.02), (0.9, -0.1), (0.5, -0.2), (-0.5, -0.2)),
        (96, 170, 214),
        edge=False,
    )
    deck = ((-1.2, 0.0), (-1.2, 0.36), (-0.6, 0.6), (0, 0.68), (0.6, 0.6), (1.2, 0.36), (1.2, 0.0))
    arch = ((0.78, 0.0), (0.66, 0.26), (0.36, 0.44), (0, 0.5), (-0.36, 0.44), (-0.66, 0.26), (-0.78, 0.0))
    pen.poly(deck + arch, pen.colour)
    for i, x in enumerate((-1.0, -0.72, -0.4, -0.05, 0.3, 0.62, 0.94)):
        y = 0.58 - 0.24 * x * x + (0.02 if i % 2 else -0.03)
        pen.line(((x - 0.09, y), (x + 0.07, y)), darker(pen.colour, 0.25), 0.016)
    rail = tuple((x, 0.92 - 0.26 * x * x) for x in (-1.15, -0.8, -0.4, 0.0, 0.4, 0.8, 1.15))
    for x, y in rail:
        pen.line(((x, y - 0.22), (x, y)), darker(pen.colour, 0.35), 0.035)
    pen.line(rail, darker(pen.colour, 0.3), 0.045)
