"""Things that roll, each in a unit height."""

from model.demo.palette import GLASS, INK, LAMP, PAPER, RGB, RUBBER, STONE, darker, lighter
from model.demo.pen import Pen


def _wheel(pen: Pen, x: float, radius: float) -> None:
    pen.oval(x, radius, radius, radius, RUBBER)
    pen.oval(x, radius, radius * 0.55, radius * 0.55, (204, 206, 212))
    pen.oval(x, radius, radius * 0.18, radius * 0.18, STONE, edge=False)


def car(pen: Pen) -> None:
    pen.blob(((-0.5, 0.5), (-0.34, 0.92), (0.0, 1.0), (0.34, 0.9), (0.56, 0.5)), lighter(pen.colour, 0.08))
    pen.poly(((-0.4, 0.56), (-0.29, 0.86), (-0.02, 0.9), (-0.02, 0.56)), GLASS)
    pen.poly(((0.06, 0.56), (0.06, 0.9), (0.28, 0.83), (0.45, 0.56)), GLASS)
    pen.glaze(((-0.4, 0.56), (-0.3, 0.84), (-0.2, 0.84), (-0.3, 0.56)), PAPER, 120)
    pen.panel(-0.98, 0.16, 0.98, 0.58, pen.colour, 0.16)
    pen.glaze(((-0.94, 0.2), (0.94, 0.2), (0.94, 0.32), (-0.94, 0.32)), INK, 44)
    pen.line(((-0.86, 0.52), (0.8, 0.52)), lighter(pen.colour, 0.4), 0.025)
    pen.line(((0.02, 0.26), (0.02, 0.54)), darker(pen.colour, 0.3), 0.014)
    pen.oval(0.89, 0.42, 0.07, 0.08, LAMP)
    pen.oval(-0.92, 0.42, 0.045, 0.07, (230, 70, 60))
    for x in (-0.58, 0.58):
        _wheel(pen, x, 0.21)


def bus(pen: Pen) -> None:
    pen.panel(-0.98, 0.14, 0.98, 1.0, pen.colour, 0.1)
    pen.box(-0.97, 0.34, 0.97, 0.42, PAPER if sum(pen.colour) < 620 else STONE)
    pen.glaze(((-0.95, 0.16), (0.95, 0.16), (0.95, 0.3), (-0.95, 0.3)), INK, 44)
    pen.line(((-0.88, 0.94), (0.88, 0.94)), lighter(pen.colour, 0.45), 0.025)
    for x in (-0.74, -0.42, -0.1, 0.22):
        pen.panel(x - 0.13, 0.5, x + 0.13, 0.84, GLASS, 0.04)
        pen.glaze(((x - 0.1, 0.54), (x - 0.02, 0.8), (x + 0.04, 0.8), (x - 0.04, 0.54)), PAPER, 130)
    pen.panel(0.44, 0.18, 0.64, 0.84, lighter(GLASS, 0.2), 0.03)
    pen.line(((0.54, 0.18), (0.54, 0.84)), INK, 0.014)
    pen.panel(0.74, 0.48, 0.95, 0.84, GLASS, 0.04)
    pen.oval(0.92, 0.26, 0.05, 0.05, LAMP)
    for x in (-0.56, 0.28):
        _wheel(pen, x, 0.18)


def truck(pen: Pen) -> None:
    pen.box(-1.0, 0.2, 0.36, 0.98, lighter((216, 206, 190), 0.3))
    for x in (-0.78, -0.54, -0.3, -0.06, 0.18):
        pen.line(((x, 0.24), (x, 0.94)), (186, 174, 158), 0.018)
    pen.box(-1.0, 0.42, 0.36, 0.56, pen.colour, edge=False)
    pen.poly(((0.4, 0.2), (0.4, 0.8), (0.74, 0.8), (0.86, 0.5), (1.02, 0.46), (1.04, 0.2)), pen.colour)
    pen.poly(((0.5, 0.5), (0.5, 0.72), (0.7, 0.72), (0.79, 0.5)), GLASS)
    pen.glaze(((0.4, 0.2), (1.04, 0.2), (1.04, 0.32), (0.4, 0.32)), INK, 44)
    pen.oval(1.0, 0.37, 0.035, 0.05, LAMP)
    pen.box(-1.02, 0.14, 1.06, 0.22, RUBBER)
    for x in (-0.72, -0.36, 0.74):
        _wheel(pen, x, 0.17)


def train(pen: Pen) -> None:
    pen.box(-1.35, -0.03, 1.35, 0.02, (120, 92, 72))
    for x in (-1.2, -0.9, -0.6, -0.3, 0.0, 0.3, 0.6, 0.9, 1.2):
        pen.line(((x, -0.07), (x, 0.0)), (92, 70, 56), 0.06)
    pen.panel(-1.3, 0.18, -0.5, 0.72, lighter(pen.colour, 0.2), 0.04)
    for x in (-1.1, -0.9, -0.7):
        pen.panel(x - 0.075, 0.42, x + 0.075, 0.64, LAMP, 0.02)
    pen.box(-0.52, 0.2, -0.4, 0.26, RUBBER)
    pen.panel(-0.4, 0.16, 0.08, 0.86, pen.colour, 0.03)
    pen.box(-0.46, 0.84, 0.14, 0.92, darker(pen.colour, 0.4))
    pen.panel(-0.3, 0.52, -0.02, 0.76, GLASS, 0.03)
    pen.panel(0.04, 0.2, 1.02, 0.6, pen.colour, 0.12)
    pen.glaze(((0.1, 0.22), (0.98, 0.22), (0.98, 0.34), (0.1, 0.34)), INK, 50)
    for x in (0.36, 0.66):
        pen.line(((x, 0.22), (x, 0.59)), LAMP, 0.03)
    pen.poly(((0.72, 0.6), (0.66, 0.86), (0.94, 0.86), (0.88, 0.6)), RUBBER)
    pen.oval(0.42, 0.63, 0.1, 0.08, LAMP)
    pen.poly(((1.0, 0.24), (1.24, 0.02), (0.9, 0.02)), RUBBER)
    for x, y, r in ((0.78, 0.98, 0.09), (0.62, 1.06, 0.12), (0.4, 1.12, 0.15)):
        pen.oval(x, y, r, r * 0.85, (236, 236, 240), edge=False)
    for x, r in ((-1.12, 0.12), (-0.68, 0.12), (-0.16, 0.17), (0.3, 0.13), (0.66, 0.13)):
        pen.oval(x, r, r, r, RUBBER)
        pen.oval(x, r, r * 0.6, r * 0.6, (214, 60, 56))


def bicycle(pen: Pen) -> None:
    for x in (-0.52, 0.52):
        pen.arc(x, 0.36, 0.36, 0.36, 0, 360, RUBBER, 0.05)
        for dx, dy in ((0.33, 0.0), (0.23, 0.23), (0.0, 0.33), (-0.23, 0.23)):
            pen.line(((x - dx, 0.36 - dy), (x + dx, 0.36 + dy)), (190, 194, 202), 0.01)
        pen.oval(x, 0.36, 0.05, 0.05, STONE)
    frame: RGB = pen.colour
    crank, seat, head = (-0.06, 0.34), (-0.2, 0.78), (0.36, 0.76)
    for start, end in (
        ((-0.52, 0.36), crank),
        (crank, seat),
        (seat, head),
        (crank, head),
        ((-0.52, 0.36), (-0.18, 0.72)),
    ):
        pen.line((start, end), frame, 0.06)
    pen.line((head, (0.52, 0.36)), frame, 0.055)
    pen.line((head, (0.32, 0.94), (0.5, 0.98)), RUBBER, 0.045)
    pen.blob(((-0.36, 0.82), (-0.2, 0.88), (-0.02, 0.82), (-0.2, 0.78)), RUBBER)
    pen.oval(crank[0], crank[1], 0.09, 0.09, STONE)
    pen.line(((-0.12, 0.18), (0.0, 0.5)), RUBBER, 0.03)
    pen.panel(0.44, 0.66, 0.78, 0.88, (206, 158, 98), 0.04)


def tractor(pen: Pen) -> None:
    pen.box(-0.42, 0.46, 0.1, 0.92, lighter(pen.colour, 0.05))
    pen.box(-0.32, 0.56, 0.02, 0.86, GLASS)
    pen.box(-0.5, 0.9, 0.18, 0.99, darker(pen.colour, 0.35))
    pen.panel(0.02, 0.26, 0.78, 0.6, pen.colour, 0.08)
    pen.glaze(((0.06, 0.28), (0.74, 0.28), (0.74, 0.38), (0.06, 0.38)), INK, 50)
    for x in (0.5, 0.58, 0.66):
        pen.line(((x, 0.42), (x, 0.55)), darker(pen.colour, 0.45), 0.02)
    pen.line(((0.36, 0.58), (0.36, 0.88)), RUBBER, 0.06)
    pen.oval(0.78, 0.5, 0.05, 0.06, LAMP)
    for x, r in ((-0.32, 0.34), (0.6, 0.2)):
        pen.oval(x, r, r, r, RUBBER)
        pen.oval(x, r, r * 0.76, r * 0.76, (80, 78, 86), edge=False)
        pen.oval(x, r, r * 0.5, r * 0.5, LAMP)
        pen.oval(x, r, r * 0.14, r * 0.14, STONE, edge=False)
