"""What the neighbours say: do the captions of the nearest images resemble a pair's caption, and the other way round?

The idea of LEMoN (Zhang et al. 2024), with neighbours counted by how much they resemble and how far they are trusted,
and in two spaces of each side: the encoder's, and that of the trained networks.
"""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from model.inputs import FeatureReader
from model.neighbours import Index, cosines_at, unit
from model.pairs import Pairs
from model.positions import blocks, spread

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

# Neighbours asked, and how fast they count less with their distance; chosen on Flickr8k, seed 10.
NEIGHBOURS, _DECAY = 40, 0.1
# Pairs that may be neighbours: so many, evenly spread, know a larger collection well enough.
MOST_REFERENCES = 200_000
# Components that a space is compared in: a tenth of what 1,280 features would cost.
_COMPONENTS = 128


@dataclass(frozen=True)
class Space:
    """Unit vectors of one side of the pairs, in one way to see them."""

    name: str
    is_image: bool
    source: Any  # indexed by positions, gives (n, D)
    reader: FeatureReader
    index: Index
    reference: Floats  # (R, components)

    @classmethod
    def fit(cls, name: str, is_image: bool, source: Any, references: Ints) -> "Space":
        reader = FeatureReader.fit(source, is_pooled=True, components=_COMPONENTS)
        vectors = np.concatenate([_read(reader, source, rows) for rows in blocks(references)])
        return cls(name, is_image, source, reader, Index(vectors), vectors)

    def vectors(self, rows: Ints) -> Floats:
        return _read(self.reader, self.source, rows)


class Agreement:
    """Neighbours of every pair in every space, found once; asked again whenever it is known better whom to trust."""

    def __init__(
        self,
        pairs: Pairs,
        count: int,  # pairs that are no probes: they come first, and only they are neighbours
        sources: tuple[Ints, Ints],  # of every pair the two that it is made of, and must not ask
        learned: tuple[Any, Any] | None = None,
        on_progress: Callable[[float], None] = lambda fraction: None,
        folder: Path | None = None,  # where there is room; a temporary folder may lie in memory
    ) -> None:
        self._size, self._count = len(pairs), count
        self._ids = {True: pairs.image_ids, False: pairs.caption_ids}
        # Of pairs that are listed several times one is enough: a mismatch would find itself among its neighbours.
        self._contents = pairs.contents()
        _, first = np.unique(self._contents[:count], return_index=True)
        distinct = np.sort(first)
        self.references = distinct[spread(len(distinct), MOST_REFERENCES)]
        given = [("encoder", pairs.images, pairs.captions)] + ([("learned", *learned)] if learned else [])
        self._spaces = [
            Space.fit(name, side == 0, sources[side], self.references) for name, *sources in given for side in (0, 1)
        ]
        neighbours = max(1, min(NEIGHBOURS, len(self.references) - 3))
        layout = [("place", np.int32, neighbours), ("cosine", np.float32, neighbours)]
        shape = (len(self._spaces), self._size)
        # On disk: a million pairs have more than a gigabyte of neighbours. The map keeps the nameless file.
        with tempfile.TemporaryFile(dir=folder) as file:
            self._found = np.memmap(file, dtype=np.dtype(layout), mode="w+", shape=shape)
        for number, space in enumerate(self._spaces):
            for some in blocks(np.arange(self._size)):
                self._search(number, space, some, sources[0][some], sources[1][some])
                on_progress((number + (int(some[-1]) + 1) / self._size) / len(self._spaces))

    @property
    def names(self) -> list[str]:
        return [f"{near.name} {_side(near)} > {other.name} {_side(other)}" for near, other in self._combinations()]

    def asked(self, trust: Floats) -> Floats:
        """(N, ways) agreement of each pair with its neighbours, each counted by its `trust`, one per reference."""
        out = np.empty((self._size, len(self.names)), np.float32)
        numbers = {id(space): number for number, space in enumerate(self._spaces)}
        for some in blocks(np.arange(self._size)):
            own = {id(space): self._vectors(space, some) for space in self._spaces}
            for column, (near, other) in enumerate(self._combinations()):
                found = self._found[numbers[id(near)], some]
                places = found["place"]
                weight = np.exp((found["cosine"] - found["cosine"][:, :1]) / _DECAY) * trust[places]
                cosines = cosines_at(other.reference, places, own[id(other)])
                out[some, column] = (weight * cosines).sum(axis=1) / np.maximum(weight.sum(axis=1), 1e-9)
        return out

    def _combinations(self) -> Iterator[tuple[Space, Space]]:
        for near in self._spaces:
            for other in self._spaces:
                if near.is_image != other.is_image:
                    yield near, other

    def _vectors(self, space: Space, rows: Ints) -> Floats:
        """Known already where every pair is a reference; only probes are read then."""
        is_known = len(self.references) == self._count and rows[-1] < self._count
        return space.reference[rows] if is_known else space.vectors(rows)

    def _search(self, number: int, space: Space, rows: Ints, first: Ints, second: Ints) -> None:
        kept = self._found.dtype["place"].shape[0]
        # Pairs of one content have the same neighbours.
        _, first_of, content = np.unique(self._ids[space.is_image][rows], return_index=True, return_inverse=True)
        near = space.index.nearest(self._vectors(space, rows)[first_of], min(kept + 3, len(self.references)))
        places, cosines = (part[content] for part in near)
        found = self.references[places]
        is_own = np.zeros(found.shape, bool)
        for own in (rows, first, second):
            is_own |= self._contents[found] == self._contents[own][:, None]
        order = np.argsort(is_own, axis=1, kind="stable")[:, :kept]
        self._found["place"][number, rows] = np.take_along_axis(places, order, axis=1)
        self._found["cosine"][number, rows] = np.take_along_axis(cosines, order, axis=1)


def _read(reader: FeatureReader, source: Any, rows: Ints) -> Floats:
    return unit(reader(source, rows)[0].numpy())


def _side(space: Space) -> str:
    return "image" if space.is_image else "caption"
