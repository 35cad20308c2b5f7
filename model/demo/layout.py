"""Where each single thing of a scene goes and how large it is, in shares of the canvas."""

from dataclasses import dataclass
from random import Random

from model.demo.backgrounds import BACKGROUNDS, Background
from model.demo.catalogue import KINDS, Kind
from model.demo.scenes import Element, Scene

_CENTRE = {"left": 0.3, "middle": 0.5, "right": 0.7}
_LARGEST = {1: (0.6, 0.66), 2: (0.46, 0.44), 3: (0.38, 0.31), 5: (0.3, 0.27)}  # count: height, width


@dataclass(frozen=True)
class Spot:
    """One thing to draw: the middle of its foot, its height, and how far away it is (0 near, 1 far)."""

    element: Element
    x: float
    y: float
    height: float
    distance: float


def arrange(scene: Scene, rng: Random) -> list[Spot]:
    """All the things of a scene from the farthest to the nearest."""
    background = BACKGROUNDS[scene.background]
    spots: list[Spot] = []
    for index, element in enumerate(scene.elements):
        kind = KINDS[element.kind]
        if index == 0:
            spots += _main(element, kind, background, rng)
        elif element.place == "sky":
            spots += _sky(element, kind, scene.main, rng)
        elif element.place == "far":
            spots += _far(element, kind, scene.main, background, rng)
        elif element.place == "front":
            spots += _front(element, kind, scene.main, rng)
        else:
            spots += _side(element, kind, background, rng)
    return sorted(spots, key=lambda spot: (-spot.distance, spot.y))


def _fit(kind: Kind, height: float, width: float, rng: Random) -> float:
    return min(height, width / kind.aspect) * rng.uniform(0.92, 1.06)


def _foot(kind: Kind, background: Background, height: float) -> float:
    if kind.level == "air":
        return 0.46 + height * 0.5
    if kind.level == "water" and background.water is not None:
        return max(background.water, 0.16 + height)
    return background.ground


def _main(element: Element, kind: Kind, background: Background, rng: Random) -> list[Spot]:
    tall, wide = _LARGEST[element.count]
    height = _fit(kind, tall, wide, rng)
    foot = _foot(kind, background, height)
    width = height * kind.aspect
    if element.count == 1:
        x = min(
            max(_CENTRE.get(element.place or "", 0.5) + rng.uniform(-0.03, 0.03), width * 0.5 + 0.01),
            0.99 - width * 0.5,
        )
        return [Spot(element, x, foot + rng.uniform(-0.015, 0.015), height, 0.2)]
    spots = []
    rows = (3, 2) if element.count > 3 else (element.count,)
    for row, many in enumerate(rows):
        shrink = 1.0 if row == len(rows) - 1 else 0.86
        lift = (len(rows) - 1 - row) * (height * 0.95 if kind.level == "air" else height * 0.72)
        for i in range(many):
            x = (i + 0.5) / many + rng.uniform(-0.02, 0.02)
            y = (
                foot
                - lift
                + rng.uniform(-0.025, 0.02)
                + (height * 0.4 if kind.level == "air" and len(rows) > 1 else 0.0)
            )
            spots.append(
                Spot(
                    element,
                    x,
                    y,
                    height * shrink * rng.uniform(0.92, 1.05),
                    0.2 + 0.05 * (len(rows) - 1 - row),
                )
            )
    return spots


def _sky(element: Element, kind: Kind, main: Element, rng: Random) -> list[Spot]:
    height = _fit(kind, 0.2, 0.24, rng) * (1.0 if element.count == 1 else 0.7)
    if element.kind == "rainbow":
        return [Spot(element, rng.uniform(0.4, 0.6), 0.6, 0.44, 0.95)]
    side = {"left": 0.8, "right": 0.2}.get(main.place or "", rng.choice((0.16, 0.84)))
    step = max(0.17, height * kind.aspect * 1.1)
    reach = step * (element.count - 1) / 2 + height * kind.aspect / 2 + 0.02
    first = min(max(side, reach), 1 - reach) - step * (element.count - 1) / 2
    spots = []
    for i in range(element.count):
        x = first + step * i
        y = 0.07 + height + rng.uniform(0.0, 0.05) + (0.05 if i % 2 else 0.0)
        spots.append(Spot(element, x + rng.uniform(-0.01, 0.01), y, height, 0.5 if element.kind != "cloud" else 0.7))
    return spots


def _far(element: Element, kind: Kind, main: Element, background: Background, rng: Random) -> list[Spot]:
    height = _fit(kind, 0.2, 0.26, rng)
    x = {"left": 0.82, "right": 0.18}.get(main.place or "", rng.choice((0.15, 0.85)))
    floats = kind.level == "water" and background.water is not None
    foot = background.horizon + (0.0 if floats else 0.03)
    return [Spot(element, x + rng.uniform(-0.04, 0.04), foot, height, 0.8)]


def _side(element: Element, kind: Kind, background: Background, rng: Random) -> list[Spot]:
    many = element.count
    height = _fit(kind, 0.34, 0.3, rng) * (1.0 if many == 1 else 0.72)
    foot = _foot(kind, background, height) - 0.02
    centre = 0.84 if element.place == "right" else 0.16
    step = min(0.12, height * kind.aspect * 0.8)
    return [
        Spot(element, centre + (i - (many - 1) / 2) * step, foot + 0.03 * (i % 2), height, 0.15) for i in range(many)
    ]


def _front(element: Element, kind: Kind, main: Element, rng: Random) -> list[Spot]:
    many = element.count
    height = _fit(kind, 0.21, 0.24, rng) * (1.0 if many == 1 else 0.85)
    start = {"left": 0.72, "right": 0.28}.get(main.place or "", rng.choice((0.25, 0.75)))
    return [
        Spot(element, start + (i - (many - 1) / 2) * 0.15, 0.965 - 0.012 * (i % 2), height, 0.0) for i in range(many)
    ]
