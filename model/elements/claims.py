"""Claims that captions make about images, true ones and false ones made of them: what an indicator is fitted to."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import sparse

from model.elements.concepts import NONE, Concepts, Kind, Parts
from model.elements.votes import Votes

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Other images that every claim of a head is made of falsely.
_DRAWS = 3
_BLOCK = 16_384
_FIELDS = ("rows", "columns", "weights", "scores")


@dataclass(frozen=True)
class Claims:
    """Claim i says that the image of row rows[i] depicts concept columns[i]; it counts weights[i]."""

    rows: Ints
    columns: Ints
    weights: Floats
    scores: Floats

    def of(self, chosen: npt.NDArray[np.bool_]) -> "Claims":
        """Those of the chosen columns."""
        kept = chosen[self.columns]
        return Claims(self.rows[kept], self.columns[kept], self.weights[kept], self.scores[kept])

    def scored(self, votes: Votes, vectors: npt.NDArray[np.float32], folds: Ints) -> "Claims":
        scores = np.empty(len(self.rows))
        for at in range(0, len(scores), _BLOCK):
            part = slice(at, at + _BLOCK)
            rows, columns = self.rows[part], self.columns[part]
            scores[part] = np.einsum("nd,nd->n", vectors[rows], votes.weights[folds[rows], columns])
        return replace(self, scores=scores)


@dataclass(frozen=True)
class Traits:
    """Every attribute and count of every element: its row, its head, its sort and its column on any head."""

    rows: Ints
    heads: Ints
    rivals: Ints
    columns: Ints

    @classmethod
    def of(cls, captions: Iterable[Sequence[Parts]]) -> "Traits":
        found = [
            (row, part.head, int(trait.rivals), trait.column)
            for row, parts in enumerate(captions)
            for part in parts
            for trait in part.traits
            if trait.column != NONE
        ]
        return cls(*np.array(found, np.int64).reshape(-1, 4).T)


def true_claims(said: sparse.csr_array, trust: npt.NDArray[np.float32]) -> Claims:
    """What is said (n, V), as far as the pairs are trusted."""
    found = said.tocoo()
    rows, columns = found.row.astype(np.int64), found.col.astype(np.int64)
    return Claims(rows, columns, (found.data * trust[rows]).astype(np.float64), np.zeros(len(rows)))


def said_of_others(claims: Claims, count: int, rng: np.random.Generator) -> Claims:
    """The same columns, each of a few of the `count` rows at random, unless it is truly said there."""
    rows = rng.integers(0, count, _DRAWS * len(claims.rows))
    return _unsaid(claims, rows, np.tile(claims.columns, _DRAWS), np.ones(len(rows)))


def false_claims(
    concepts: Concepts, said: sparse.csr_array, traits: Traits, trust: npt.NDArray[np.float32], seed: int
) -> Claims:
    """Heads said of other images, and attributes exchanged among elements of one head."""
    rng = np.random.default_rng(seed)
    true = true_claims(said, trust)
    heads = said_of_others(true.of(concepts.kinds == Kind.HEAD), len(trust), rng)
    rows, columns = _exchanged(concepts, traits, rng)
    exchanged = _unsaid(true, rows, columns, trust[rows].astype(np.float64))
    return Claims(*(np.concatenate([getattr(part, name) for part in (heads, exchanged)]) for name in _FIELDS))


def _unsaid(true: Claims, rows: Ints, columns: Ints, weights: Floats) -> Claims:
    """Without those that are true."""
    width = int(max(true.columns.max(initial=0), columns.max(initial=0))) + 1
    is_false = ~np.isin(rows * width + columns, true.rows * width + true.columns)
    return Claims(rows[is_false], columns[is_false], weights[is_false], np.zeros(int(is_false.sum())))


def _exchanged(concepts: Concepts, traits: Traits, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Each element with the attribute of the next of its head and sort, in a random order."""
    shuffled = rng.permutation(len(traits.rows))
    order = shuffled[np.lexsort((traits.heads[shuffled], traits.rivals[shuffled]))]
    following = np.roll(order, -1)
    is_same = (traits.heads[order] == traits.heads[following]) & (traits.rivals[order] == traits.rivals[following])
    order, following = order[is_same], following[is_same]
    rows, heads, claimed = traits.rows[order], traits.heads[order], traits.columns[following]
    phrases = np.array(
        [concepts.phrases.get(key, NONE) for key in zip(claimed.tolist(), heads.tolist(), strict=True)], np.int64
    )
    is_phrase = phrases != NONE
    return np.concatenate([rows, rows[is_phrase]]), np.concatenate([claimed, phrases[is_phrase]])
