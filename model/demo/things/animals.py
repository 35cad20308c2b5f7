"""Furry and thick-skinned animals, each in a unit height."""

from model.demo.palette import INK, PAPER, darker, lighter
from model.demo.pen import Pen

_NOSE = (236, 120, 132)


def cat(pen: Pen) -> None:
    fur, pale = pen.colour, lighter(pen.colour, 0.35)
    pen.tube(((0.2, 0.1), (0.4, 0.12), (0.46, 0.34), (0.36, 0.5)), fur, 0.076)
    pen.blob(((-0.26, 0.0), (-0.24, 0.32), (-0.1, 0.56), (0.12, 0.54), (0.28, 0.3), (0.3, 0.0), (0.0, -0.02)), fur)
    pen.oval(-0.02, 0.28, 0.12, 0.17, pale, edge=False)
    for x in (-0.12, 0.1):
        pen.oval(x, 0.05, 0.1, 0.06, lighter(fur, 0.12))
    for side in (-1, 1):
        pen.poly(((side * 0.06, 0.86), (side * 0.26, 1.0), (side * 0.28, 0.72)), fur)
        pen.poly(((side * 0.12, 0.86), (side * 0.23, 0.94), (side * 0.24, 0.8)), _NOSE, edge=False)
    pen.ball(0, 0.7, 0.3, 0.24, fur)
    for x in (-0.12, 0.12):
        pen.oval(x, 0.73, 0.06, 0.07, (190, 226, 110))
        pen.oval(x, 0.73, 0.022, 0.055, INK, edge=False)
    pen.oval(0, 0.61, 0.09, 0.06, pale, edge=False)
    pen.poly(((-0.035, 0.655), (0.035, 0.655), (0, 0.615)), _NOSE)
    for side in (-1, 1):
        for y in (0.58, 0.63):
            pen.line(((side * 0.1, 0.62), (side * 0.38, y + 0.02)), darker(PAPER, 0.25), 0.009)


def dog(pen: Pen) -> None:
    fur, pale = pen.colour, lighter(pen.colour, 0.4)
    pen.tube(((-0.5, 0.5), (-0.68, 0.62), (-0.7, 0.82)), fur, 0.07)
    for x in (-0.36, 0.2):
        pen.panel(x - 0.09, 0.0, x + 0.06, 0.34, darker(fur, 0.22), 0.05)
    pen.blob(((-0.56, 0.5), (-0.5, 0.28), (-0.1, 0.24), (0.34, 0.28), (0.46, 0.5), (0.3, 0.64), (-0.3, 0.62)), fur)
    for x in (-0.44, 0.3):
        pen.panel(x - 0.09, 0.0, x + 0.07, 0.36, fur, 0.05)
    pen.line(((0.2, 0.6), (0.5, 0.52)), (222, 56, 60), 0.06)
    pen.ball(0.44, 0.76, 0.25, 0.22, fur)
    pen.blob(((0.5, 0.7), (0.64, 0.76), (0.82, 0.7), (0.8, 0.6), (0.6, 0.58)), pale)
    pen.oval(0.79, 0.71, 0.055, 0.045, INK)
    pen.blob(((0.28, 0.94), (0.2, 0.76), (0.16, 0.56), (0.3, 0.56), (0.38, 0.78)), darker(fur, 0.35))
    pen.eye(0.54, 0.82, 0.035)
    pen.poly(((0.6, 0.58), (0.68, 0.5), (0.7, 0.6)), _NOSE)


def rabbit(pen: Pen) -> None:
    fur, pale = pen.colour, lighter(pen.colour, 0.4)
    for x in (-0.1, 0.1):
        pen.oval(x, 0.83, 0.075, 0.19, fur)
        pen.oval(x, 0.82, 0.038, 0.13, _NOSE, edge=False)
    pen.oval(0.3, 0.12, 0.1, 0.1, PAPER)
    pen.ball(0, 0.24, 0.3, 0.26, fur)
    pen.oval(0, 0.22, 0.15, 0.18, pale, edge=False)
    for x in (-0.16, 0.16):
        pen.oval(x, 0.03, 0.13, 0.06, lighter(fur, 0.12))
        pen.oval(x * 0.6, 0.36, 0.06, 0.1, lighter(fur, 0.08))
    pen.ball(0, 0.57, 0.23, 0.19, fur)
    for x in (-0.1, 0.1):
        pen.eye(x, 0.6, 0.032)
        pen.oval(x * 0.45, 0.51, 0.055, 0.045, pale, edge=False)
    pen.oval(0, 0.54, 0.03, 0.022, _NOSE)


def sheep(pen: Pen) -> None:
    face = (70, 60, 66) if sum(pen.colour) > 300 else (226, 214, 200)
    for x in (-0.36, -0.18, 0.16, 0.34):
        pen.box(x - 0.045, 0.0, x + 0.045, 0.3, face)
    shade = darker(pen.colour, 0.14)
    for x, y in ((-0.44, 0.46), (-0.3, 0.34), (0.0, 0.3), (0.3, 0.34), (0.42, 0.48)):
        pen.oval(x, y, 0.19, 0.18, shade)
    for x, y in (
        (-0.34, 0.66),
        (-0.1, 0.76),
        (0.16, 0.74),
        (0.36, 0.62),
        (0.0, 0.54),
        (-0.24, 0.5),
        (0.22, 0.5),
    ):
        pen.oval(x, y, 0.22, 0.2, pen.colour, edge=False)
    for x, y in ((-0.3, 0.7), (-0.04, 0.8), (0.1, 0.62), (-0.2, 0.5)):
        pen.arc(x, y, 0.09, 0.08, 180, 350, shade, 0.018)
    pen.blob(((0.42, 0.78), (0.62, 0.8), (0.76, 0.6), (0.68, 0.46), (0.5, 0.54)), face)
    pen.blob(((0.42, 0.76), (0.3, 0.7), (0.26, 0.62), (0.42, 0.66)), face)
    pen.eye(0.59, 0.69, 0.032)
    for x, y in ((0.4, 0.86), (0.52, 0.88)):
        pen.oval(x, y, 0.1, 0.09, lighter(pen.colour, 0.2), edge=False)


def elephant(pen: Pen) -> None:
    skin = pen.colour
    for x in (-0.4, 0.06):
        pen.panel(x - 0.09, 0.0, x + 0.1, 0.4, darker(skin, 0.22), 0.05)
    pen.blob(((-0.66, 0.5), (-0.5, 0.26), (0.0, 0.24), (0.34, 0.4), (0.36, 0.72), (0.0, 0.88), (-0.46, 0.82)), skin)
    for x in (-0.52, 0.2):
        pen.panel(x - 0.1, 0.0, x + 0.1, 0.42, skin, 0.05)
        for dx in (-0.05, 0.0, 0.05):
            pen.oval(x + dx, 0.03, 0.02, 0.025, PAPER, edge=False)
    pen.line(((-0.64, 0.6), (-0.74, 0.36)), darker(skin, 0.3), 0.03)
    pen.ball(0.44, 0.74, 0.26, 0.24, skin)
    pen.tube(((0.58, 0.72), (0.72, 0.52), (0.72, 0.24), (0.84, 0.14), (0.95, 0.26)), skin, 0.13)
    pen.blob(((0.58, 0.56), (0.66, 0.44), (0.84, 0.46), (0.7, 0.52)), PAPER)
    pen.blob(((0.36, 0.94), (0.12, 0.98), (0.04, 0.7), (0.2, 0.5), (0.38, 0.62)), darker(skin, 0.14))
    pen.oval(0.22, 0.74, 0.09, 0.14, _pinkish(skin), edge=False)
    pen.eye(0.54, 0.8, 0.028)


def _pinkish(skin: tuple[int, int, int]) -> tuple[int, int, int]:
    return (skin[0] + 245) // 2, (skin[1] + 150) // 2, (skin[2] + 165) // 2
