"""Birds and small creatures, each in a unit height."""

from model.demo.palette import INK, PAPER, darker, lighter
from model.demo.pen import Pen

_BEAK = (248, 164, 40)


def bird(pen: Pen) -> None:
    pen.poly(((-0.5, 0.5), (-1.02, 0.58), (-0.94, 0.34), (-0.46, 0.34)), darker(pen.colour, 0.3))
    pen.blob(((-0.6, 0.44), (-0.2, 0.18), (0.3, 0.22), (0.6, 0.5), (0.4, 0.68), (-0.1, 0.6)), pen.colour)
    pen.oval(0.14, 0.32, 0.3, 0.12, lighter(pen.colour, 0.45), edge=False)
    pen.ball(0.52, 0.62, 0.21, 0.2, pen.colour)
    pen.poly(((0.69, 0.68), (0.98, 0.58), (0.69, 0.53)), _BEAK)
    pen.blob(((0.2, 0.46), (-0.06, 0.9), (-0.5, 1.0), (-0.46, 0.74), (-0.3, 0.44)), darker(pen.colour, 0.18))
    for y in (0.62, 0.76):
        pen.line(((-0.36, y + 0.1), (0.0, y - 0.08)), darker(pen.colour, 0.42), 0.018)
    pen.eye(0.58, 0.66, 0.045)


def owl(pen: Pen) -> None:
    pen.blob(
        (
            (-0.3, 0.1),
            (-0.38, 0.5),
            (-0.28, 0.86),
            (0.0, 0.94),
            (0.28, 0.86),
            (0.38, 0.5),
            (0.3, 0.1),
            (0, 0.02),
        ),
        pen.colour,
    )
    for side in (-1, 1):
        pen.poly(((side * 0.1, 0.9), (side * 0.32, 1.02), (side * 0.3, 0.76)), pen.colour)
        pen.blob(
            ((side * 0.34, 0.6), (side * 0.44, 0.34), (side * 0.28, 0.1), (side * 0.22, 0.4)),
            darker(pen.colour, 0.35),
        )
    pen.oval(0, 0.34, 0.2, 0.25, lighter(pen.colour, 0.45), edge=False)
    for x, y in ((-0.1, 0.46), (0.1, 0.46), (0, 0.36), (-0.1, 0.26), (0.1, 0.26), (0, 0.16)):
        pen.arc(x, y, 0.055, 0.05, 0, 180, darker(pen.colour, 0.25), 0.02)
    for x in (-0.14, 0.14):
        pen.oval(x, 0.72, 0.145, 0.145, PAPER)
        pen.oval(x, 0.72, 0.085, 0.085, _BEAK)
        pen.eye(x, 0.72, 0.052)
        pen.blob(((x - 0.08, 0.04), (x, 0.08), (x + 0.08, 0.04), (x, -0.03)), _BEAK)
    pen.poly(((-0.05, 0.66), (0.05, 0.66), (0, 0.55)), _BEAK)


def penguin(pen: Pen) -> None:
    for x in (-0.12, 0.12):
        pen.oval(x, 0.03, 0.13, 0.05, _BEAK)
    for side in (-1, 1):
        pen.blob(
            ((side * 0.24, 0.62), (side * 0.42, 0.4), (side * 0.4, 0.24), (side * 0.24, 0.34)),
            darker(pen.colour, 0.15),
        )
    pen.blob(
        (
            (-0.28, 0.1),
            (-0.32, 0.4),
            (-0.2, 0.8),
            (0.0, 1.0),
            (0.2, 0.8),
            (0.32, 0.4),
            (0.28, 0.1),
            (0, 0.03),
        ),
        pen.colour,
    )
    pen.oval(0, 0.34, 0.22, 0.29, PAPER, edge=False)
    for x in (-0.08, 0.08):
        pen.oval(x, 0.76, 0.1, 0.12, PAPER, edge=False)
        pen.eye(x, 0.79, 0.034)
    pen.poly(((-0.07, 0.7), (0.07, 0.7), (0, 0.61)), _BEAK)
    pen.line(((-0.2, 0.6), (0.2, 0.6)), (222, 60, 64), 0.07)
    pen.box(0.08, 0.42, 0.17, 0.6, (222, 60, 64))


def butterfly(pen: Pen) -> None:
    deep = darker(pen.colour, 0.25)
    spot = PAPER if sum(pen.colour) < 640 else (120, 120, 140)
    for side in (-1, 1):
        pen.blob(
            (
                (side * 0.02, 0.44),
                (side * 0.3, 0.4),
                (side * 0.46, 0.18),
                (side * 0.28, 0.02),
                (side * 0.06, 0.26),
            ),
            deep,
        )
        pen.blob(
            (
                (side * 0.02, 0.5),
                (side * 0.2, 0.9),
                (side * 0.54, 1.0),
                (side * 0.62, 0.7),
                (side * 0.36, 0.42),
            ),
            pen.colour,
        )
        pen.oval(side * 0.4, 0.76, 0.11, 0.11, spot)
        pen.oval(side * 0.4, 0.76, 0.05, 0.05, INK, edge=False)
        pen.oval(side * 0.27, 0.22, 0.07, 0.07, lighter(pen.colour, 0.5), edge=False)
        pen.line(((0, 0.74), (side * 0.1, 0.92), (side * 0.17, 0.96)), INK, 0.02)
    pen.oval(0, 0.46, 0.055, 0.3, (66, 50, 60))
    pen.oval(0, 0.76, 0.07, 0.07, (66, 50, 60))


def snail(pen: Pen) -> None:
    body = (226, 190, 140)
    pen.blob(
        (
            (-0.8, 0.02),
            (-0.5, 0.16),
            (0.2, 0.14),
            (0.44, 0.46),
            (0.64, 0.5),
            (0.74, 0.34),
            (0.6, 0.04),
            (0.0, 0.0),
        ),
        body,
    )
    for x in (0.5, 0.66):
        pen.line(((x, 0.46), (x + 0.06, 0.78)), darker(body, 0.2), 0.035)
        pen.oval(x + 0.06, 0.8, 0.05, 0.05, INK)
    pen.ball(-0.14, 0.54, 0.44, 0.44, pen.colour)
    for r, start in ((0.32, 20), (0.2, 160), (0.1, 300)):
        pen.arc(-0.14, 0.52, r, r, start, start + 290, darker(pen.colour, 0.45), 0.05)
    pen.arc(0.62, 0.3, 0.08, 0.07, 20, 150, darker(body, 0.5), 0.025)
