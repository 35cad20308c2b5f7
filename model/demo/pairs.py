"""The pairs of a demo collection: every one can be made on its own, from the seed and its row."""

import json
from dataclasses import asdict, dataclass
from random import Random
from typing import Literal

from model.demo.captions import describe
from model.demo.catalogue import KINDS
from model.demo.imagination import imagine
from model.demo.mismatches import Wrong, near_miss
from model.demo.scenes import Element, Scene

Truth = Literal["match", "random", "near_miss"]

_TRIES = 200  # a scene with nothing in common turns up within a handful


@dataclass(frozen=True)
class DemoPair:
    """One line of the collection. `row` is its line number, from 1; `scene` is what the image shows."""

    row: int
    image: str
    caption: str
    truth: Truth
    scene: Scene
    wrong: Wrong | None = None


class Plan:
    """Which pairs are mismatched, decided once for all; every pair can then be made on its own.

    With more than one caption a scene, row r and row r + scenes show the same image, as in the usual benchmarks."""

    def __init__(self, pairs: int, noise: float, near_miss_share: float, seed: int, captions: int = 1) -> None:
        if pairs < 1:
            raise ValueError(f"pairs must be at least 1, not {pairs}")
        for name, share in (("noise", noise), ("near_miss", near_miss_share)):
            if not 0.0 <= share <= 1.0:
                raise ValueError(f"{name} must be between 0 and 1, not {share}")
        if captions < 1:
            raise ValueError(f"captions must be at least 1, not {captions}")
        self.pairs, self.seed = pairs, seed
        self.scenes = -(-pairs // captions)
        mismatched = Random(f"{seed}/truth").sample(range(1, pairs + 1), round(noise * pairs))
        near = round(near_miss_share * len(mismatched))
        self.near_misses = frozenset(mismatched[:near])
        self.random_ones = frozenset(mismatched[near:])

    def scene(self, number: int) -> Scene:
        seed = f"{self.seed}/{number}"
        return imagine(Random(f"scene/{seed}"), seed)

    def pair(self, row: int) -> DemoPair:
        number = (row - 1) % self.scenes + 1
        scene, rng = self.scene(number), Random(f"caption/{self.seed}/{row}")
        image = f"scene-{number:06d}.jpg"
        if row in self.near_misses:
            told, wrong = near_miss(scene, rng)
            return DemoPair(row, image, describe(told, rng, wrong.focus), "near_miss", scene, wrong)
        if row in self.random_ones:
            return DemoPair(row, image, describe(self._unlike(scene, row, rng), rng), "random", scene)
        return DemoPair(row, image, describe(scene, rng), "match", scene)

    def _unlike(self, scene: Scene, row: int, rng: Random) -> Scene:
        """Another scene of the collection; where all are alike, one that could have been in it."""
        for attempt in range(_TRIES):
            reach = self.scenes if attempt < _TRIES // 2 else self.scenes + _TRIES * 10
            other = self.scene(rng.randint(1, reach))
            if _unrelated(scene, other):
                return other
        raise RuntimeError(f"no scene unlike that of row {row} was found")


def _unrelated(first: Scene, second: Scene) -> bool:
    """Neither main thing, nor one that looks like it, is anywhere in the other scene."""
    families = [{KINDS[element.kind].family for element in scene.elements} for scene in (first, second)]
    return KINDS[first.main.kind].family not in families[1] and KINDS[second.main.kind].family not in families[0]


def truth_line(pair: DemoPair) -> str:
    """The truth about a pair as one line of JSON."""
    record = {
        "row": pair.row,
        "image": pair.image,
        "truth": pair.truth,
        "background": pair.scene.background,
        "elements": [asdict(element) for element in pair.scene.elements],
        "wrong": asdict(pair.wrong) if pair.wrong else None,
        "caption": pair.caption,
        "seed": pair.scene.seed,
    }
    return json.dumps(record, ensure_ascii=False)


def pair_of(line: str) -> DemoPair:
    """The pair a line of truth tells of."""
    record = json.loads(line)
    elements = tuple(Element(**element) for element in record["elements"])
    wrong = Wrong(**record["wrong"]) if record["wrong"] else None
    scene = Scene(record["background"], elements, record["seed"])
    return DemoPair(record["row"], record["image"], record["caption"], record["truth"], scene, wrong)
