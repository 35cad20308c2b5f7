"""What a demo scene is made of: a background, and elements whose kind, colour, count and place are known."""

from dataclasses import dataclass
from typing import Literal

SEVERAL = 5
COUNTS = (1, 2, 3, SEVERAL)
Place = Literal["left", "middle", "right", "far", "front", "sky"]


@dataclass(frozen=True)
class Element:
    """One kind of thing in a scene. Colour is None where the thing has only its natural one."""

    kind: str
    colour: str | None = None
    count: int = 1
    place: Place | None = None

    def __post_init__(self) -> None:
        if self.count not in COUNTS:
            raise ValueError(f"count must be one of {COUNTS}, not {self.count}")


@dataclass(frozen=True)
class Scene:
    """The first element is the main one, drawn large; `seed` fixes every stroke that words do not."""

    background: str
    elements: tuple[Element, ...]
    seed: str = "0"

    @property
    def main(self) -> Element:
        return self.elements[0]
