"""The kinds of things a scene can show: how to draw them, where they belong, which colours they come in."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from model.demo.backgrounds import BACKGROUNDS
from model.demo.palette import COLOURS
from model.demo.pen import Pen
from model.demo.things import animals, birds, buildings, craft, objects, plants, road, sky, water_life

_DAY = " ".join(name for name, background in BACKGROUNDS.items() if background.is_day)
_HOMES = {
    "LAND": "beach meadow desert snow mountains city forest autumn lavender sunset night rain",
    "FIELDS": "meadow autumn lavender rain sunset mountains night",
    "WATER": "sea beach mountains sunset",
    "AIR": "sea beach meadow desert snow mountains city autumn lavender sunset night rain",
    "DAY": _DAY,
}
_COLOURS = {
    "ANY": " ".join(COLOURS),
    "BRIGHT": "red orange yellow green turquoise blue purple pink white",
    "FUR": "orange brown black white grey",
}


@dataclass(frozen=True)
class Kind:
    """What is the same about all things of one kind."""

    draw: Callable[[Pen], None]
    family: str  # kinds of one family look alike: never swapped in a near-miss
    level: str  # ground, water or air: where it stands, floats or flies
    homes: frozenset[str]
    colours: tuple[str, ...]
    aspect: float  # width for a height of one
    roles: frozenset[str]  # main, side, far, front, sky: the parts of a scene it can play


def _kind(
    draw: Callable[[Pen], None], family: str, level: str, homes: str, colours: str, aspect: float, roles: str
) -> Kind:
    """Homes read like "LAND -city space": groups and names, less those with a minus."""
    words = [word for name in homes.split() for word in _HOMES.get(name, name).split()]
    refused = {word[1:] for word in words if word.startswith("-")}
    settled = frozenset(word for word in words if not word.startswith("-")) - refused
    palette = tuple(_COLOURS.get(colours, colours).split())
    return Kind(draw, family, level, settled, palette, aspect, frozenset(roles.split()))


_FAR, _FRONT, _SIDE, _SKY = "main side far", "main side front", "main side", "main sky"

KINDS: dict[str, Kind] = {
    "house": _kind(buildings.house, "building", "ground", "LAND -city", "ANY", 1.16, _FAR),
    "castle": _kind(buildings.castle, "building", "ground", "LAND -city -rain", "ANY", 1.1, _FAR),
    "lighthouse": _kind(
        buildings.lighthouse, "tower", "ground", "WATER night rain snow", "BRIGHT", 0.76, _FAR
    ),
    "windmill": _kind(buildings.windmill, "tower", "ground", "FIELDS desert snow", "ANY", 0.85, _FAR),
    "tent": _kind(buildings.tent, "tent", "ground", "LAND -city", "BRIGHT", 1.5, _FAR),
    "bridge": _kind(buildings.bridge, "bridge", "ground", "FIELDS forest snow", "ANY", 2.4, "main"),
    "car": _kind(road.car, "wheels", "ground", "LAND", "ANY", 2.0, _SIDE),
    "bus": _kind(road.bus, "wheels", "ground", "LAND -forest", "ANY", 2.0, _SIDE),
    "truck": _kind(road.truck, "wheels", "ground", "LAND -forest", "ANY", 2.1, _SIDE),
    "train": _kind(road.train, "train", "ground", "LAND -city -beach", "ANY", 2.7, "main"),
    "bicycle": _kind(road.bicycle, "bicycle", "ground", "LAND -snow", "BRIGHT", 1.8, _SIDE),
    "tractor": _kind(road.tractor, "wheels", "ground", "FIELDS desert snow", "BRIGHT", 1.7, _SIDE),
    "rowboat": _kind(craft.rowboat, "boat", "water", "WATER", "ANY", 2.0, _FAR),
    "sailboat": _kind(craft.sailboat, "boat", "water", "WATER", "ANY", 1.1, _FAR),
    "steamship": _kind(craft.steamship, "boat", "water", "WATER -beach", "ANY", 2.05, _FAR),
    "submarine": _kind(craft.submarine, "submarine", "water", "underwater sea", "ANY", 2.1, _SIDE),
    "rocket": _kind(
        craft.rocket, "rocket", "air", "space night desert mountains sunset snow", "ANY", 0.6, "main"
    ),
    "plane": _kind(craft.plane, "plane", "air", "AIR", "BRIGHT", 2.2, _SKY),
    "hot_air_balloon": _kind(craft.hot_air_balloon, "balloon", "air", "AIR", "BRIGHT", 0.74, _SKY),
    "tree": _kind(
        plants.tree, "tree", "ground", "LAND -desert -forest -autumn -snow",
        "green red orange pink yellow", 0.8, _FAR
    ),
    "pine": _kind(
        plants.pine, "tree", "ground", "LAND -desert -forest -beach -city", "green blue turquoise", 0.64, _FAR
    ),
    "palm": _kind(plants.palm, "palm", "ground", "beach desert sunset city", "", 1.0, _FAR),
    "flower": _kind(plants.flower, "flower", "ground", "LAND -desert -snow", "BRIGHT", 0.62, _FRONT),
    "mushroom": _kind(plants.mushroom, "mushroom", "ground", "FIELDS forest snow", "ANY", 1.0, _FRONT),
    "cactus": _kind(plants.cactus, "cactus", "ground", "desert sunset night beach", "", 0.74, _FAR),
    "pumpkin": _kind(
        plants.pumpkin, "pumpkin", "ground", "FIELDS forest city", "orange yellow green white", 1.25, _FRONT
    ),
    "cat": _kind(animals.cat, "pet", "ground", "LAND space", "FUR", 0.8, _FRONT),
    "dog": _kind(animals.dog, "pet", "ground", "LAND space", "FUR", 1.7, _FRONT),
    "rabbit": _kind(animals.rabbit, "pet", "ground", "LAND -city -desert", "FUR", 0.64, _FRONT),
    "sheep": _kind(
        animals.sheep, "herd", "ground", "FIELDS snow desert", "white black brown pink", 1.55, _SIDE
    ),
    "elephant": _kind(animals.elephant, "herd", "ground", "LAND -city", "grey pink blue brown", 1.95, _SIDE),
    "bird": _kind(birds.bird, "bird", "air", "AIR forest", "ANY", 2.0, _SKY),
    "owl": _kind(
        birds.owl, "bird", "ground", "LAND -beach -desert", "brown white grey blue purple", 0.86, _SIDE
    ),
    "penguin": _kind(
        birds.penguin, "bird", "ground", "snow beach mountains night rain", "black blue grey purple", 0.82,
        _SIDE
    ),
    "butterfly": _kind(birds.butterfly, "insect", "air", "LAND -snow -rain -desert", "ANY", 1.24, _SKY),
    "snail": _kind(birds.snail, "insect", "ground", "LAND -snow -city", "ANY", 1.6, _FRONT),
    "fish": _kind(water_life.fish, "swimmer", "water", "underwater", "ANY", 2.0, _SIDE),
    "whale": _kind(
        water_life.whale, "swimmer", "water", "underwater space sea sunset",
        "blue grey black white purple pink", 2.35,
        _SIDE,
    ),
    "turtle": _kind(
        water_life.turtle, "reptile", "ground", "underwater beach meadow desert rain sunset",
        "green brown orange red yellow purple", 2.1, _FRONT,
    ),
    "octopus": _kind(water_life.octopus, "octopus", "water", "underwater sea", "BRIGHT", 1.4, _SIDE),
    "crab": _kind(
        water_life.crab, "crab", "ground", "underwater beach sunset", "red orange blue purple yellow", 1.8,
        _FRONT
    ),
    "duck": _kind(water_life.duck, "bird", "water", "WATER", "yellow white brown pink black", 1.75, _SIDE),
    "balloon": _kind(objects.balloon, "balloon", "air", "AIR space", "BRIGHT", 0.5, _SKY),
    "kite": _kind(objects.kite, "kite", "air", "AIR", "BRIGHT", 0.62, _SKY),
    "umbrella": _kind(objects.umbrella, "umbrella", "ground", "LAND", "ANY", 1.0, _SIDE),
    "snowman": _kind(
        objects.snowman, "snowman", "ground", "snow mountains night city forest", "BRIGHT", 0.86, _FAR
    ),
    "campfire": _kind(objects.campfire, "campfire", "ground", "LAND -city -rain", "", 1.2, _FRONT),
    "bench": _kind(objects.bench, "bench", "ground", "LAND", "ANY", 1.95, _SIDE),
    "lamp_post": _kind(
        objects.lamp_post, "lamp", "ground", "LAND", "black red green blue white", 0.36, _SIDE
    ),
    "robot": _kind(objects.robot, "robot", "ground", "LAND space", "ANY", 0.94, _SIDE),
    "sun": _kind(sky.sun, "disc", "air", "DAY -forest", "", 1.05, "sky"),
    "moon": _kind(sky.moon, "disc", "air", "space night", "", 1.0, "sky"),
    "cloud": _kind(sky.cloud, "cloud", "air", "DAY -forest", "white pink grey", 1.9, "sky"),
    "rainbow": _kind(sky.rainbow, "rainbow", "air", "DAY rain -forest -snow", "", 2.0, "sky"),
    "planet": _kind(sky.planet, "disc", "air", "space", "BRIGHT", 1.5, _SKY),
}  # fmt: skip


@cache
def at_home(background: str, role: str) -> tuple[str, ...]:
    """The kinds that can play this role on this background."""
    return tuple(name for name, kind in KINDS.items() if role in kind.roles and background in kind.homes)


@cache
def colours_for(kind: str, background: str) -> tuple[str, ...]:
    """The kind's colours that stand out from the background; all of them where none does."""
    colours = KINDS[kind].colours
    return tuple(name for name in colours if name not in BACKGROUNDS[background].avoid) or colours
