"""Evidence about pairs that no training saw: how trained networks see them, and what a sample of the training says.

A witness is a pair of that sample. Those that share the image or the caption of the pair in question are never asked:
new pairs have none, and pairs of the training are so judged as if they were new.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from model.agreement import NEIGHBOURS, Space
from model.backbones.base import Items
from model.dynamics import TEMPERATURE
from model.inputs import FeatureReader
from model.linear_maps import SAME
from model.neighbours import Index, cosines_at, unit
from model.pairs import Pairs
from model.positions import blocks, spread
from model.trained import Trained

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Arrays = dict[str, npt.NDArray[Any]]

# Pairs of the training that are kept as witnesses, and how many of them every pair is compared with as negatives.
MOST_WITNESSES, NEGATIVES = 20_000, 256
# Neighbours beyond those that are asked, as some share content.
_SPARE = 8
# As in model/agreement.py.
_DECAY = 0.1
_MOST_ODDS = 40.0  # what a cosine of 1 against none makes; more only where all negatives share content with the pair
# Networks compare every image of so many with every caption of them.
_COMPARED = 256


@dataclass(frozen=True)
class Look:
    """Evidence (n, F) of some pairs, and what else was seen on the way."""

    table: npt.NDArray[np.float64]
    similarity: Floats  # (n,) mean of the networks
    odds: Floats  # (n, networks) log odds of the matching probability
    agreement: Floats  # (n,) mean over all ways to ask
    nearest: Floats  # (n, 2) cosine of image and caption with the nearest other one among the witnesses
    joint: Floats | None  # (n,) the encoder's own similarity


class Witnesses:
    def __init__(
        self,
        trained: Trained,
        spaces: list[Space],
        trust: Floats,  # (R,) how far each witness is believed
        negatives: Ints,  # positions of some witnesses
        items: tuple[Items, Items],  # both sides of the negatives, as the networks read them
        is_joint: bool,
    ) -> None:
        self.trained, self._spaces, self._trust, self._negatives = trained, spaces, trust, negatives
        self._items, self._is_joint = items, is_joint
        self._encoded = [[trained.encode(k, side, items[side]) for side in (0, 1)] for k in range(len(trained))]

    @classmethod
    def choose(cls, trained: Trained, pairs: Pairs, trust: Floats) -> "Witnesses":
        """A sample, evenly spread, of the pairs that were trained on; without their probes."""
        rows = spread(len(pairs), MOST_WITNESSES)
        spaces = [
            Space.fit(name, side == 0, source, rows)
            for name, sources in _sources(trained, pairs)
            for side, source in enumerate(sources)
        ]
        negatives = spread(len(rows), NEGATIVES)
        both = [trained.read(side, source, rows[negatives]) for side, source in enumerate(trained.sources(pairs))]
        return cls(trained, spaces, trust[rows], negatives, (both[0], both[1]), pairs.is_joint)

    @property
    def names(self) -> list[str]:
        networks = [f"{what} {'ab'[k]}" for k in range(len(self.trained)) for what in ("similarity", "probability")]
        sides = ("caption", "image")
        ways = [f"{a.name} {sides[a.is_image]} > {b.name} {sides[b.is_image]}" for a, b in self._ways()]
        return [*networks, *(["joint"] if self._is_joint else []), *ways]

    def of_network(self, k: int) -> slice:
        """Its columns of the evidence."""
        return slice(2 * k, 2 * k + 2)

    def look(self, pairs: Pairs, rows: Ints) -> Look:
        looks = [self._block(pairs, some) for some in blocks(rows)]
        joined: dict[str, Any] = {
            name: None if first is None else np.concatenate([getattr(look, name) for look in looks])
            for name, first in vars(looks[0]).items()
        }
        return Look(**joined)

    def _block(self, pairs: Pairs, rows: Ints) -> Look:
        sources = [source for _, both in _sources(self.trained, pairs) for source in both]
        own = [replace(space, source=source).vectors(rows) for space, source in zip(self._spaces, sources, strict=True)]
        parts = [slice(at, at + _COMPARED) for at in range(0, len(rows), _COMPARED)]
        compared = [self._networks(pairs, rows[part], [vectors[part] for vectors in own]) for part in parts]
        similarity, odds = (np.concatenate(both) for both in zip(*compared, strict=True))
        agreement, nearest = self._neighbours(own)
        joint = self._joint(pairs, rows) if self._is_joint else None
        seen = np.stack([similarity, odds], axis=2).reshape(len(rows), -1)  # (n, 2 * networks), network by network
        table = np.column_stack([seen, *([] if joint is None else [joint]), agreement]).astype(np.float64)
        return Look(table, similarity.mean(axis=1), odds, agreement.mean(axis=1), nearest, joint)

    def _networks(self, pairs: Pairs, rows: Ints, own: list[Floats]) -> tuple[Floats, Floats]:
        """(n, networks) similarity, and log odds of the pair against the negatives, the mean of both directions."""
        is_same = np.zeros((len(rows), len(self._negatives)), dtype=bool)
        for side in (0, 1):  # the encoder's spaces come first
            is_same |= own[side] @ self._spaces[side].reference[self._negatives].T > SAME
        masked = torch.from_numpy(is_same)
        items = [self.trained.read(side, source, rows) for side, source in enumerate(self.trained.sources(pairs))]
        found: list[tuple[Tensor, Tensor]] = []
        for k, negatives in enumerate(self._encoded):
            images, captions = (self.trained.encode(k, side, items[side]) for side in (0, 1))
            given = self.trained.compare(k, images, captions).diagonal()
            others = (
                self.trained.compare(k, images, negatives[1]),
                self.trained.compare(k, negatives[0], captions).T,
            )
            against = [(part / TEMPERATURE).masked_fill(masked, -torch.inf).logsumexp(dim=1) for part in others]
            odds = given / TEMPERATURE - (against[0] + against[1]) / 2
            found.append((given, odds.clamp(-_MOST_ODDS, _MOST_ODDS)))
        similarity, log_odds = (torch.stack(part, dim=1).numpy() for part in zip(*found, strict=True))
        return similarity, log_odds

    def _neighbours(self, own: list[Floats]) -> tuple[Floats, Floats]:
        """(n, ways) agreement with the neighbours, and (n, 2) cosines of the nearest of other content."""
        said, nearest = [], []
        for near, space in enumerate(self._spaces):
            places, cosines = space.index.nearest(own[near], min(NEIGHBOURS + _SPARE, len(self._trust)))
            known = {side: self._cosines(own, side, places) for side in (0, 1)}
            is_other = (known[0] < SAME) & (known[1] < SAME)
            closest = np.where(is_other, cosines, -1).max(axis=1, keepdims=True)
            weight = np.exp(np.minimum(cosines - closest, 0) / _DECAY) * self._trust[places] * is_other
            total = np.maximum(weight.sum(axis=1), 1e-9)
            for other, asked in enumerate(self._spaces):
                if asked.is_image != space.is_image:
                    theirs = known[other] if other in known else self._cosines(own, other, places)
                    said.append((weight * theirs).sum(axis=1) / total)
            if near < 2:
                # Where all are the same as this one it is anything but far.
                is_far = cosines < SAME
                nearest.append(np.where(is_far.any(axis=1), np.where(is_far, cosines, -1).max(axis=1), 1))
        return np.stack(said, axis=1).astype(np.float32), np.stack(nearest, axis=1).astype(np.float32)

    def _cosines(self, own: list[Floats], number: int, places: Ints) -> Floats:
        """(n, k) cosines with the witnesses at these places, in one space."""
        return cosines_at(self._spaces[number].reference, places, own[number])

    def _joint(self, pairs: Pairs, rows: Ints) -> Floats:
        sides = zip((pairs.images, pairs.captions), self._spaces, strict=False)
        images, captions = (
            unit(np.asarray(side[rows], np.float32) - space.reader.mean.numpy()) for side, space in sides
        )
        return np.asarray((images * captions).sum(axis=1))

    def _ways(self) -> Iterator[tuple[Space, Space]]:
        return ((a, b) for a, b in product(self._spaces, self._spaces) if a.is_image != b.is_image)

    def arrays(self) -> Arrays:
        """To be saved; half precision is enough for all that is compared by its cosine."""
        found: Arrays = {"trust": self._trust, "negatives": self._negatives, "is_joint": np.array(self._is_joint)}
        for number, space in enumerate(self._spaces):
            found[f"space_{number}"] = space.reference.astype(np.float16)
            found[f"mean_{number}"], found[f"basis_{number}"] = space.reader.mean.numpy(), space.reader.basis.numpy()
        for side, number, part in _parts(self._items):
            found[f"item_{side}_{number}"] = part.half().numpy() if part.is_floating_point() else part.numpy()
        return found

    @classmethod
    def from_arrays(cls, trained: Trained, arrays: Arrays) -> "Witnesses":
        spaces = []
        for number, (name, side) in enumerate(product(_SPACES[: 1 + trained.gives_vectors], (0, 1))):
            mean, basis = (torch.from_numpy(arrays[f"{part}_{number}"]) for part in ("mean", "basis"))
            vectors = unit(arrays[f"space_{number}"].astype(np.float32))
            spaces.append(Space(name, side == 0, None, FeatureReader(mean, basis, True), Index(vectors), vectors))
        images, captions = (
            tuple(
                part.float() if part.is_floating_point() else part
                for part in (
                    torch.from_numpy(arrays[f"item_{side}_{n}"]) for n in range(2) if f"item_{side}_{n}" in arrays
                )
            )
            for side in (0, 1)
        )
        is_joint = bool(arrays["is_joint"])
        return cls(trained, spaces, arrays["trust"], arrays["negatives"], (images, captions), is_joint)


_SPACES = ("encoder", "learned")


def _sources(trained: Trained, pairs: Pairs) -> Iterator[tuple[str, tuple[Any, Any]]]:
    yield _SPACES[0], (pairs.images, pairs.captions)
    if trained.gives_vectors:
        images, captions = trained.sources(pairs)
        yield _SPACES[1], (trained.vectors(0, images), trained.vectors(1, captions))


def _parts(items: tuple[Items, Items]) -> Iterator[tuple[int, int, Tensor]]:
    for side, both in enumerate(items):
        for number, part in enumerate(both):
            yield side, number, part.cpu()
