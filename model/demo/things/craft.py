"""Things that float or fly, each in a unit height."""

from model.demo.palette import GLASS, INK, LAMP, PAPER, STONE, WOOD, darker, lighter
from model.demo.pen import Pen


def rowboat(pen: Pen) -> None:
    hull = ((-1.0, 0.62), (-0.7, 0.08), (-0.3, 0.0), (0.3, 0.0), (0.72, 0.1), (1.0, 0.66))
    pen.blob(((-0.95, 0.58), (0.0, 0.42), (0.95, 0.6), (0.0, 0.72)), darker(WOOD, 0.3))
    for x in (-0.42, 0.3):
        pen.box(x - 0.08, 0.44, x + 0.08, 0.66, lighter(WOOD, 0.2))
    pen.poly((*hull, (0.5, 0.5), (0.0, 0.46), (-0.5, 0.5)), pen.colour)
    pen.glaze(((-0.78, 0.16), (0.8, 0.18), (0.6, 0.02), (-0.5, 0.02)), INK, 50)
    pen.line(((-1.0, 0.62), (-0.5, 0.5), (0.0, 0.46), (0.5, 0.5), (1.0, 0.66)), lighter(pen.colour, 0.45), 0.05)
    pen.line(((-0.82, 0.3), (-0.3, 0.22), (0.3, 0.22), (0.84, 0.32)), darker(pen.colour, 0.25), 0.025)
    pen.line(((0.1, 0.9), (-0.35, -0.06)), lighter(WOOD, 0.3), 0.05)
    pen.oval(-0.4, -0.04, 0.1, 0.14, lighter(WOOD, 0.3))


def sailboat(pen: Pen) -> None:
    pen.line(((0, 0.12), (0, 1.0)), WOOD, 0.028)
    pen.poly(((-0.04, 0.26), (-0.04, 0.97), (-0.44, 0.26)), darker(pen.colour, 0.08))
    pen.blob(((0.04, 0.24), (0.05, 0.6), (0.04, 0.96), (0.28, 0.62), (0.5, 0.24)), pen.colour)
    pen.glaze(((0.05, 0.25), (0.46, 0.26), (0.36, 0.46), (0.06, 0.46)), INK, 26)
    for y, reach in ((0.44, 0.36), (0.62, 0.24)):
        pen.line(((0.05, y), (reach, y)), darker(pen.colour, 0.2), 0.01)
    hull = lighter((128, 84, 56), 0.1) if sum(pen.colour) > 240 else PAPER
    pen.poly(((-0.52, 0.19), (0.56, 0.19), (0.42, 0.02), (-0.38, 0.02)), hull)
    pen.line(((-0.5, 0.16), (0.54, 0.16)), PAPER, 0.022)
    pen.poly(((0, 1.0), (0.14, 0.97), (0, 0.94)), (232, 70, 60))


def steamship(pen: Pen) -> None:
    for x in (-0.3, 0.1):
        pen.poly(((x - 0.09, 0.5), (x - 0.07, 0.86), (x + 0.09, 0.86), (x + 0.11, 0.5)), (214, 62, 56))
        pen.box(x - 0.08, 0.78, x + 0.1, 0.86, INK)
        pen.oval(x - 0.1, 0.94, 0.11, 0.08, (225, 225, 230), edge=False)
        pen.oval(x - 0.26, 0.99, 0.14, 0.09, (236, 236, 240), edge=False)
    pen.box(-0.62, 0.34, 0.52, 0.52, PAPER)
    pen.box(0.24, 0.5, 0.48, 0.66, PAPER)
    pen.box(0.36, 0.56, 0.48, 0.63, GLASS)
    for x in (-0.5, -0.32, -0.14, 0.04, 0.22):
        pen.oval(x, 0.43, 0.04, 0.04, GLASS)
    pen.poly(((-0.98, 0.38), (-0.84, 0.0), (0.78, 0.0), (1.04, 0.4)), pen.colour)
    pen.glaze(((-0.88, 0.1), (0.85, 0.1), (0.78, 0.0), (-0.84, 0.0)), INK, 70)
    pen.line(((-0.95, 0.33), (0.98, 0.34)), lighter(pen.colour, 0.5), 0.026)
    for x in (-0.6, -0.3, 0.0, 0.3, 0.6):
        pen.oval(x, 0.22, 0.035, 0.035, LAMP)


def submarine(pen: Pen) -> None:
    pen.line(((0.1, 0.7), (0.1, 1.0), (0.28, 1.0)), STONE, 0.06)
    pen.panel(-0.2, 0.6, 0.32, 0.86, darker(pen.colour, 0.1), 0.08)
    for dy in (0.16, -0.16):
        pen.poly(((-0.82, 0.38), (-1.12, 0.38 + dy * 1.7), (-1.0, 0.38)), darker(pen.colour, 0.3))
    pen.ball(0, 0.38, 0.92, 0.34, pen.colour)
    for x in (-0.42, 0.06, 0.54):
        pen.oval(x, 0.4, 0.14, 0.14, lighter(STONE, 0.4))
        pen.oval(x, 0.4, 0.095, 0.095, LAMP)
        pen.oval(x - 0.03, 0.43, 0.03, 0.03, PAPER, edge=False)
    pen.line(((-0.78, 0.22), (0.78, 0.22)), darker(pen.colour, 0.3), 0.025)


def rocket(pen: Pen) -> None:
    for reach, tone in ((0.2, (240, 120, 40)), (0.12, (255, 220, 110))):
        pen.poly(((-reach * 0.7, 0.18), (0, 0.18 - reach), (reach * 0.7, 0.18)), tone, edge=False)
    for side in (-1, 1):
        pen.poly(((side * 0.12, 0.42), (side * 0.3, 0.14), (side * 0.12, 0.2)), darker(pen.colour, 0.25))
    body = ((-0.13, 0.17), (-0.18, 0.45), (-0.12, 0.75), (0.0, 1.0), (0.12, 0.75), (0.18, 0.45), (0.13, 0.17))
    pen.blob(body, pen.colour)
    pen.glaze(((0.03, 0.17), (0.13, 0.17), (0.17, 0.45), (0.1, 0.75), (0.03, 0.8)), INK, 36)
    pen.blob(((-0.115, 0.76), (0.0, 1.01), (0.115, 0.76), (0.0, 0.74)), darker(pen.colour, 0.25))
    pen.box(-0.15, 0.2, 0.15, 0.26, PAPER)
    pen.oval(0, 0.56, 0.085, 0.085, PAPER)
    pen.oval(0, 0.56, 0.058, 0.058, GLASS)


def plane(pen: Pen) -> None:
    pen.poly(((-0.05, 0.5), (-0.5, 0.92), (-0.28, 0.92), (0.3, 0.54)), darker(pen.colour, 0.25))
    pen.poly(((-0.9, 0.5), (-1.14, 0.94), (-0.9, 0.94), (-0.6, 0.56)), darker(pen.colour, 0.12))
    shape = (
        (-1.1, 0.56),
        (-0.6, 0.36),
        (0.4, 0.26),
        (0.96, 0.36),
        (1.06, 0.48),
        (0.9, 0.6),
        (0.4, 0.68),
        (-0.5, 0.66),
    )
    pen.blob(shape, pen.colour)
    pen.glaze(((-0.9, 0.47), (1.0, 0.4), (0.5, 0.28), (-0.5, 0.36)), INK, 34)
    pen.line(((-0.9, 0.5), (0.98, 0.44)), PAPER, 0.05)
    for x in (-0.4, -0.2, 0.0, 0.2, 0.4):
        pen.oval(x, 0.57, 0.045, 0.05, (96, 150, 200))
    pen.poly(((0.7, 0.54), (0.74, 0.64), (0.88, 0.59), (0.94, 0.52)), GLASS)
    pen.poly(((0.28, 0.4), (-0.1, 0.4), (-0.66, 0.02), (-0.4, 0.0)), darker(pen.colour, 0.12))
    pen.oval(-0.06, 0.22, 0.12, 0.07, STONE)


def hot_air_balloon(pen: Pen) -> None:
    for x in (-0.1, 0.1):
        pen.line(((x, 0.14), (x * 2.2, 0.42)), WOOD, 0.012)
    pen.panel(-0.11, 0.0, 0.11, 0.15, (176, 122, 72), 0.03)
    pen.line(((-0.11, 0.12), (0.11, 0.12)), darker(WOOD, 0.2), 0.02)
    envelope = (
        (-0.12, 0.34),
        (-0.36, 0.58),
        (-0.34, 0.84),
        (0.0, 1.0),
        (0.34, 0.84),
        (0.36, 0.58),
        (0.12, 0.34),
    )
    pen.blob(envelope, pen.colour)
    stripe = lighter(pen.colour, 0.6) if sum(pen.colour) < 640 else (206, 214, 226)
    pen.blob(
        ((-0.06, 0.34), (-0.2, 0.62), (-0.17, 0.86), (-0.03, 0.99), (-0.07, 0.84), (-0.09, 0.6)),
        stripe,
        edge=False,
    )
    pen.blob(((0.06, 0.34), (0.2, 0.62), (0.17, 0.86), (0.03, 0.99), (0.07, 0.84), (0.09, 0.6)), stripe, edge=False)
    pen.glaze(((0.12, 0.34), (0.36, 0.58), (0.34, 0.82), (0.2, 0.93), (0.26, 0.7)), INK, 46)
    pen.oval(-0.22, 0.8, 0.05, 0.07, lighter(pen.colour, 0.6), edge=False)
