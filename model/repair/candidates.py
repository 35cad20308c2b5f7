"""The different contents of a side that may be suggested, and how likely each is before anything is compared."""

from typing import Any

import numpy as np
import numpy.typing as npt

from model.neighbours import Vectors, unit
from model.positions import spread

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

# Beyond this many different contents so many, evenly spread, are candidates.
MOST_CANDIDATES = 1_000_000
# No content is impossible: the share that is held back for contents of the rarer kind.
_LEAST_SHARE = 0.02


class Contents:
    """Candidates by their content, those free that have no partner we trust.

    Where captions are written for one image each, what has a trusted partner is hardly another's; where an image has
    many captions it may well be. Which of it holds is seen on the trusted pairs.
    """

    def __init__(self, query_ids: Ints, candidate_ids: Ints, is_trusted: Bools) -> None:
        _, self._query = np.unique(query_ids, return_inverse=True)
        _, first, self._candidate = np.unique(candidate_ids, return_index=True, return_inverse=True)
        self._known = np.unique(self._codes(self._query, self._candidate))
        trusted = np.unique(self._codes(self._query[is_trusted], self._candidate[is_trusted]))
        partners = np.bincount(trusted % len(first), minlength=len(first))
        first = first[spread(len(first), MOST_CANDIDATES)]
        self.chosen: Ints = np.sort(first)  # positions of pairs, one for each content
        self.is_free: Bools = partners[self._candidate[self.chosen]] == 0
        self.draws = np.random.default_rng(0).random(len(self.chosen))  # to take a share of the contents by
        shared = partners[partners > 1].sum() / max(1, partners.sum())
        self._shared = float(np.clip(shared, _LEAST_SHARE, 1 - _LEAST_SHARE))

    def log_priors(self) -> npt.NDArray[np.float64]:
        """(2,) of each content with a trusted partner, and of each free one."""
        free = int(self.is_free.sum())
        counts = np.array([len(self.chosen) - free, free], dtype=np.float64)
        return np.asarray(np.log(np.array([self._shared, 1 - self._shared]) / np.maximum(counts, 1)))

    def is_known(self, queries: Ints, candidates: Ints) -> Bools:
        """(n, k) whether the query at a position has the content at another for a partner in any pair."""
        codes = self._codes(self._query[queries][:, None], self._candidate[candidates])
        at = np.minimum(np.searchsorted(self._known, codes), len(self._known) - 1)
        return np.asarray(self._known[at] == codes)

    def _codes(self, queries: Ints, candidates: Ints) -> Ints:
        width = np.int64(self._candidate.max(initial=0) + 1)
        return np.asarray(queries.astype(np.int64) * width + candidates)


class Offered:
    """Unit vectors of candidates with a last component that says whether they are free.

    A query that ends in x so finds them by cosine plus x where they are free.
    """

    def __init__(self, source: Any, places: Ints, is_free: Bools) -> None:
        self._source, self._places, self._is_free = source, places, is_free
        self.shape = (len(places), source.shape[1] + 1)

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, rows: Ints | slice) -> Vectors:
        return np.column_stack([unit(self._source[self._places[rows]]), self._is_free[rows].astype(np.float32)])

    @staticmethod
    def query(vectors: Vectors, lead: float) -> Vectors:
        return np.column_stack([vectors, np.full(len(vectors), lead, np.float32)])
