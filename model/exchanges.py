"""Known mismatches that nobody learns: images and captions exchanged between pairs of a collection.

There are thousands of them, of both kinds that probes are of (model/probes.py), so they tell better than a few hundred
probes what a mismatch looks like to somebody who never saw it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from model.neighbours import Index, unit
from model.pairs import Pairs
from model.probes import LEAST_NEAR, NEAR, NEAR_SHARE, RANDOM

Ints = npt.NDArray[np.int64]
Vectors = npt.NDArray[np.float32]

# Of each kind.
_MOST = 10_000
_SEED = 86_028_121


@dataclass(frozen=True)
class Exchanges:
    """M mismatches, as positions in the collection they were made of."""

    shown: Ints  # (M,) whose image each has
    said: Ints  # (M,) whose caption
    kinds: npt.NDArray[np.int8]  # (M,) RANDOM or NEAR
    # (N,) of pairs and probes: who has the same number may be judged only by somebody who saw none of them.
    parties: Ints


def exchange(pairs: Pairs, count: int, sources: tuple[Ints, Ints], vectors: Callable[[Ints], Vectors]) -> Exchanges:
    """The first `count` pairs are exchanged; behind them are probes, made of the images and captions at `sources`.
    `vectors` gives those of images, which tell who resembles whom."""
    groups = _groups(pairs, sources)
    of_pairs, first = np.unique(groups[:count], return_index=True)
    rng = np.random.default_rng(_SEED)
    order = rng.permutation(len(first))[:_MOST]
    some = first[order]
    near = _couples(pairs, some, unit(vectors(some)), rng)  # (C, 2) positions in `some`
    alone = rng.permutation(np.setdiff1d(np.arange(len(some)), near))
    couples = np.concatenate([near, alone[: len(alone) // 2 * 2].reshape(-1, 2)])
    # Couples exchange by twos, and these four are a party.
    mixed = rng.permutation(len(couples))
    left, right = (couples[mixed[start : len(mixed) // 2 * 2 : 2]].ravel() for start in (0, 1))
    shown = some[np.concatenate([left, right, near.ravel()])]
    said = some[np.concatenate([right, left, near[:, ::-1].ravel()])]
    kinds = np.repeat(np.array([RANDOM, NEAR], np.int8), [2 * len(left), near.size])
    is_wrong = _differ(pairs, shown, said)
    party = np.arange(int(groups.max()) + 1) + len(couples)
    party[of_pairs[order[couples[mixed].ravel()]]] = np.arange(couples.size) // 4
    _, parties = np.unique(party[groups], return_inverse=True)
    return Exchanges(shown[is_wrong], said[is_wrong], kinds[is_wrong], np.asarray(parties, np.int64))


def _couples(pairs: Pairs, some: Ints, vectors: Vectors, rng: np.random.Generator) -> Ints:
    """(C, 2) two of `some` whose images resemble each other and differ; nobody is in two couples."""
    among = min(max(LEAST_NEAR, round(NEAR_SHARE * len(some))) + 1, len(some))
    nearest, _ = Index(vectors).nearest(vectors, among)
    fits = _differ(pairs, some[:, None], some[nearest])
    is_free, found = np.ones(len(some), bool), []
    for one in rng.permutation(len(some)):
        others = nearest[one][fits[one] & is_free[nearest[one]]]
        if is_free[one] and len(others):
            other = rng.choice(others)
            is_free[[one, other]] = False
            found.append((one, other))
    return np.array(found, np.int64).reshape(-1, 2)


def _differ(pairs: Pairs, some: Ints, others: Ints) -> npt.NDArray[np.bool_]:
    """Whether pairs have neither the image nor the caption in common."""
    images, captions = pairs.image_ids, pairs.caption_ids
    return np.asarray((images[some] != images[others]) & (captions[some] != captions[others]))


def _groups(pairs: Pairs, sources: tuple[Ints, Ints]) -> Ints:
    """(N,) a number for all that must be judged by the same maps: copies of a pair, and a probe with its sources."""
    rows, copies = np.arange(len(pairs)), pairs.contents()
    links = [(rows, len(pairs) + copies), *((rows[part != rows], part[part != rows]) for part in sources)]
    ends = [np.concatenate(end) for end in zip(*links, strict=True)]
    size = len(pairs) + int(copies.max()) + 1
    graph = coo_matrix((np.ones(len(ends[0]), np.int8), ends), shape=(size, size))
    _, groups = connected_components(graph, directed=False)
    _, numbered = np.unique(groups[: len(pairs)], return_inverse=True)
    return np.asarray(numbered, np.int64)
