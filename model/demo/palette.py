"""Colours of the demo scenes: what they look like and which of them nobody would confuse."""

RGB = tuple[int, int, int]

INK: RGB = (38, 32, 58)  # outlines lean to indigo: softer than black on every background
PAPER: RGB = (255, 252, 244)
GLASS: RGB = (190, 228, 245)
LAMP: RGB = (255, 225, 130)
WOOD: RGB = (146, 96, 58)
LEAF: RGB = (74, 152, 72)
STONE: RGB = (158, 156, 160)
RUBBER: RGB = (52, 50, 58)

COLOURS: dict[str, RGB] = {
    "red": (216, 42, 46),
    "orange": (244, 130, 24),
    "yellow": (252, 208, 44),
    "green": (48, 158, 72),
    "turquoise": (34, 188, 184),
    "blue": (42, 98, 214),
    "purple": (132, 62, 184),
    "pink": (248, 128, 178),
    "brown": (138, 84, 46),
    "black": (46, 44, 54),
    "white": (248, 246, 240),
    "grey": (142, 146, 154),
}

# Neighbours on the colour wheel, or pairs a tinted scene brings close: never swapped for one another.
_NEIGHBOURS: dict[str, frozenset[str]] = {
    "red": frozenset({"orange", "pink", "brown"}),
    "orange": frozenset({"red", "yellow", "brown"}),
    "yellow": frozenset({"orange", "white"}),
    "green": frozenset({"turquoise"}),
    "turquoise": frozenset({"green", "blue"}),
    "blue": frozenset({"turquoise", "purple"}),
    "purple": frozenset({"blue", "pink"}),
    "pink": frozenset({"red", "purple", "white"}),
    "brown": frozenset({"red", "orange", "black", "grey"}),
    "black": frozenset({"brown", "grey"}),
    "white": frozenset({"yellow", "pink", "grey"}),
    "grey": frozenset({"brown", "black", "white"}),
}


def contrasting(colour: str) -> tuple[str, ...]:
    """The colours that are visibly different from this one."""
    return tuple(name for name in COLOURS if name != colour and name not in _NEIGHBOURS[colour])


def mix(first: RGB, second: RGB, share: float) -> RGB:
    """`share` of the second colour in the first."""
    keep = 1.0 - share
    return (
        int(first[0] * keep + second[0] * share),
        int(first[1] * keep + second[1] * share),
        int(first[2] * keep + second[2] * share),
    )


def darker(colour: RGB, share: float = 0.25) -> RGB:
    return mix(colour, INK, share)


def lighter(colour: RGB, share: float = 0.3) -> RGB:
    return mix(colour, PAPER, share)
