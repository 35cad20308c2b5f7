"""Animals of the water, each in a unit height."""

from model.demo.palette import INK, PAPER, darker, lighter, mix
from model.demo.pen import Pen


def fish(pen: Pen) -> None:
    fin = darker(pen.colour, 0.22)
    pen.blob(((-0.6, 0.5), (-1.02, 0.94), (-0.9, 0.5), (-1.02, 0.06)), fin)
    pen.blob(((-0.3, 0.78), (0.0, 1.06), (0.3, 0.82), (0.0, 0.7)), fin)
    pen.blob(
        ((-0.72, 0.5), (-0.3, 0.14), (0.3, 0.1), (0.76, 0.44), (0.76, 0.56), (0.3, 0.9), (-0.3, 0.86)),
        pen.colour,
    )
    stripe = PAPER if sum(pen.colour) < 640 else (200, 208, 222)
    pen.blob(((0.16, 0.14), (0.28, 0.12), (0.34, 0.5), (0.28, 0.88), (0.14, 0.88), (0.22, 0.5)), stripe, edge=False)
    pen.blob(
        ((-0.32, 0.2), (-0.2, 0.16), (-0.14, 0.5), (-0.2, 0.85), (-0.34, 0.82), (-0.26, 0.5)),
        stripe,
        edge=False,
    )
    pen.glaze(((-0.6, 0.4), (0.7, 0.36), (0.3, 0.12), (-0.3, 0.16)), INK, 34)
    pen.blob(((0.02, 0.44), (-0.24, 0.34), (-0.2, 0.56)), fin)
    pen.oval(0.52, 0.6, 0.1, 0.11, PAPER)
    pen.eye(0.54, 0.6, 0.06)
    pen.arc(0.72, 0.42, 0.1, 0.08, 90, 180, darker(pen.colour, 0.5), 0.028)


def whale(pen: Pen) -> None:
    belly = mix(pen.colour, PAPER, 0.62)
    for x in (-0.1, 0.1):
        pen.arc(
            0.34 + x * 1.2,
            0.8,
            0.12,
            0.18,
            180 if x > 0 else 230,
            310 if x > 0 else 360,
            (180, 226, 250),
            0.05,
        )
    pen.blob(((-0.8, 0.4), (-1.16, 0.84), (-0.98, 0.86), (-0.86, 0.7), (-0.68, 0.88), (-0.66, 0.66)), pen.colour)
    body = (
        (-0.9, 0.5),
        (-0.5, 0.16),
        (0.2, 0.0),
        (0.84, 0.12),
        (1.0, 0.42),
        (0.8, 0.7),
        (0.3, 0.76),
        (-0.2, 0.6),
        (-0.6, 0.56),
    )
    pen.blob(body, pen.colour)
    pen.blob(((-0.4, 0.14), (0.2, 0.0), (0.84, 0.12), (0.97, 0.32), (0.5, 0.24), (0.0, 0.22)), belly, edge=False)
    for y in (0.08, 0.14):
        pen.line(((0.0, y), (0.5, y + 0.01), (0.8, y + 0.08)), darker(belly, 0.2), 0.014)
    pen.blob(((0.1, 0.24), (-0.1, -0.04), (0.12, -0.06), (0.34, 0.2)), darker(pen.colour, 0.2))
    pen.eye(0.7, 0.42, 0.04)
    pen.arc(0.74, 0.34, 0.18, 0.1, 20, 150, darker(pen.colour, 0.55), 0.022)


def turtle(pen: Pen) -> None:
    skin = (132, 178, 96) if pen.colour[1] < pen.colour[0] + 20 else (222, 196, 122)
    pen.blob(((-0.86, 0.16), (-0.6, 0.3), (-0.5, 0.14)), skin)
    for x in (-0.48, 0.36):
        pen.blob(((x - 0.14, 0.3), (x - 0.2, 0.0), (x + 0.14, 0.0), (x + 0.18, 0.3)), skin)
    pen.blob(((0.5, 0.24), (0.6, 0.56), (0.84, 0.74), (1.04, 0.6), (0.98, 0.42), (0.74, 0.24)), skin)
    shell = ((-0.74, 0.22), (-0.6, 0.62), (-0.26, 0.92), (0.1, 0.96), (0.46, 0.74), (0.66, 0.24), (0.0, 0.16))
    pen.blob(shell, pen.colour)
    dark = darker(pen.colour, 0.34)
    for x, y in ((-0.4, 0.5), (-0.05, 0.66), (0.3, 0.5)):
        hexagon = tuple(
            (x + dx * 0.15, y + dy * 0.15)
            for dx, dy in ((1, 0), (0.5, 0.9), (-0.5, 0.9), (-1, 0), (-0.5, -0.9), (0.5, -0.9))
        )
        pen.poly(hexagon, lighter(pen.colour, 0.2))
    pen.line(((-0.72, 0.26), (0.0, 0.2), (0.64, 0.28)), dark, 0.05)
    pen.eye(0.88, 0.62, 0.045)
    pen.arc(0.92, 0.52, 0.09, 0.06, 20, 150, darker(skin, 0.5), 0.02)


def octopus(pen: Pen) -> None:
    deep = darker(pen.colour, 0.14)
    for side in (-1, 1):
        for path in (
            ((0.1, 0.36), (0.2, 0.14), (0.14, 0.02), (0.26, 0.0)),
            ((0.2, 0.4), (0.36, 0.2), (0.34, 0.06), (0.48, 0.06)),
            ((0.26, 0.44), (0.5, 0.34), (0.54, 0.18), (0.68, 0.26)),
        ):
            points = tuple((side * x, y) for x, y in path)
            pen.tube(points, deep, 0.09)
            for x, y in points[1:]:
                pen.oval(x, y, 0.035, 0.035, lighter(pen.colour, 0.45), edge=False)
    pen.blob(
        (
            (-0.34, 0.36),
            (-0.4, 0.7),
            (-0.22, 0.96),
            (0.0, 1.0),
            (0.22, 0.96),
            (0.4, 0.7),
            (0.34, 0.36),
            (0, 0.3),
        ),
        pen.colour,
    )
    pen.oval(-0.16, 0.82, 0.1, 0.08, lighter(pen.colour, 0.35), edge=False)
    for x in (-0.14, 0.14):
        pen.oval(x, 0.56, 0.1, 0.11, PAPER)
        pen.eye(x, 0.55, 0.06)
    pen.arc(0, 0.42, 0.09, 0.05, 10, 170, INK, 0.022)


def crab(pen: Pen) -> None:
    for side in (-1, 1):
        for x, y in ((0.66, 0.1), (0.8, 0.2), (0.84, 0.34)):
            pen.line(
                ((side * 0.4, 0.34), (side * x * 0.84, y + 0.16), (side * x, y - 0.1)),
                darker(pen.colour, 0.25),
                0.055,
            )
        pen.line(((side * 0.46, 0.46), (side * 0.74, 0.6), (side * 0.66, 0.74)), pen.colour, 0.1)
        pen.blob(
            (
                (side * 0.58, 0.7),
                (side * 0.5, 0.94),
                (side * 0.68, 0.86),
                (side * 0.9, 1.0),
                (side * 0.88, 0.74),
            ),
            pen.colour,
        )
        pen.line(((side * 0.16, 0.54), (side * 0.18, 0.76)), pen.colour, 0.05)
    pen.ball(0, 0.36, 0.54, 0.27, pen.colour)
    for x in (-0.18, 0.18):
        pen.oval(x, 0.8, 0.1, 0.1, PAPER)
        pen.eye(x, 0.8, 0.055)
    pen.arc(0, 0.34, 0.18, 0.1, 15, 165, darker(pen.colour, 0.6), 0.03)


def duck(pen: Pen) -> None:
    bill = (246, 140, 40)
    body = ((-0.74, 0.62), (-0.6, 0.22), (-0.2, 0.02), (0.3, 0.04), (0.52, 0.3), (0.3, 0.52), (-0.2, 0.5))
    pen.blob(body, pen.colour)
    pen.ball(0.38, 0.74, 0.25, 0.25, pen.colour)
    pen.blob(((0.12, 0.38), (0.2, 0.6), (0.5, 0.56), (0.5, 0.32)), pen.colour, edge=False)
    pen.blob(((-0.46, 0.44), (-0.3, 0.16), (0.1, 0.16), (0.2, 0.36), (-0.14, 0.44)), darker(pen.colour, 0.14))
    pen.blob(((0.58, 0.78), (0.86, 0.72), (0.86, 0.62), (0.58, 0.62)), bill)
    pen.line(((0.6, 0.69), (0.84, 0.67)), darker(bill, 0.3), 0.02)
    pen.eye(0.46, 0.82, 0.045)
