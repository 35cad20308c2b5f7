"""Captions of the collection for an image whose own is wrong, and images for a caption, each with P(match).

With s_j the cosines of a query with all N candidates and w_j = P(j is the partner) before anything is compared,

    P(j matches) = P(there is a partner | T) * w_j exp(a s_j) / exp(T),    T = log sum_i w_i exp(a s_i)

so that being the best of many is worth little where many are nearly as good. How high T is without a partner is seen on
decoys: trusted pairs with their own partner left out.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from model.neighbours import Index, Units, unit
from model.repair.candidates import Contents, Offered
from model.repair.evidence import TRUSTED, UNLEARNED, line
from model.witnesses import spread

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

COUNT = 5
# Up to this many different contents every one is compared.
EXACT_COUNT = 200_000
NONE = -1
# The networks learned that trusted pairs are similar. Of what they did not learn they are less sure: by so much on
# Flickr8k, seeds 10 and 11.
_SHARE = 0.85
# Searched for beyond those wanted, as partners that a content has already are no news; and contents that stand for
# all that are not found.
_SPARE, _REFERENCES = 32, 2000
_MOST_FITTED, _LEAST_FITTED = 2000, 50
_BLOCK = 1024
# A cosine counts for nothing beside this.
_FAR = 10.0


@dataclass(frozen=True)
class Found:
    """For each query at most five candidates, the likeliest first."""

    places: Ints  # (n, 5) positions of pairs that have this content, -1 where there is none
    similarity: npt.NDArray[np.float32]  # (n, 5) cosines
    confidence: npt.NDArray[np.float32]  # (n, 5) P(match), 0 where there is none


@dataclass(frozen=True)
class _Search:
    places: Ints  # (n, k) positions, NONE where a partner is known or nothing was found
    cosines: Floats  # (n, k)
    weights: Floats  # (n, k) w_j exp(a s_j)
    total: Floats  # (n,) T


class Finder:
    """Looks for partners of one side's contents among all contents of the other side."""

    def __init__(
        self,
        queries: Any,
        candidates: Any,
        query_ids: Ints,
        candidate_ids: Ints,
        confidence: npt.NDArray[np.floating],
        exact_count: int = EXACT_COUNT,
    ) -> None:
        self._queries = queries
        self._contents = Contents(query_ids, candidate_ids, confidence >= TRUSTED)
        self._candidates = Units(candidates, np.arange(len(query_ids)))
        chosen = self._contents.chosen
        self._index = Index(Offered(candidates, chosen, self._contents.is_free), exact_count)
        self._references = spread(len(chosen), _REFERENCES)
        self._vectors = self._candidates[chosen[self._references]]
        trusted = np.flatnonzero(confidence >= TRUSTED)
        trusted = trusted[spread(len(trusted), _MOST_FITTED)] if len(trusted) else trusted
        self._slope, self._present = 0.0, (0.0, 0.0)
        if len(trusted) >= _LEAST_FITTED:
            self._calibrate(trusted)

    @classmethod
    def of_captions(
        cls, vectors: tuple[Any, Any] | None, image_ids: Ints, caption_ids: Ints, confidence: npt.NDArray[np.floating]
    ) -> "Finder | None":
        """Of captions for images; `vectors` are both sides as the networks see them, None where they give none."""
        return None if vectors is None else cls(*vectors, image_ids, caption_ids, confidence)

    @classmethod
    def of_images(
        cls, vectors: tuple[Any, Any] | None, image_ids: Ints, caption_ids: Ints, confidence: npt.NDArray[np.floating]
    ) -> "Finder | None":
        """Of images for captions."""
        return None if vectors is None else cls(*vectors[::-1], caption_ids, image_ids, confidence)

    def best(self, places: Ints) -> Found:
        """For the contents of the pairs at these positions; partners they have in any pair are left out."""
        found = Found(
            np.full((len(places), COUNT), NONE, np.int64),
            np.zeros((len(places), COUNT), np.float32),
            np.zeros((len(places), COUNT), np.float32),
        )
        for at in range(0, len(places), _BLOCK):
            search = self._searched(places[at : at + _BLOCK], is_decoy=False)
            share = search.weights / np.exp(search.total)[:, None]
            missing = self._contents.missing(places[at : at + _BLOCK])
            chance = (1 - (1 - np.minimum(share, 1)) ** missing[:, None]) * expit(
                self._present[0] * search.total + self._present[1]
            )[:, None]
            order = np.argsort(-chance, axis=1, kind="stable")[:, :COUNT]
            block = slice(at, at + len(order)), slice(0, order.shape[1])
            found.places[block] = np.take_along_axis(search.places, order, axis=1)
            is_there = found.places[block] != NONE
            found.similarity[block] = np.where(is_there, np.take_along_axis(search.cosines, order, axis=1), 0)
            found.confidence[block] = np.where(is_there, np.take_along_axis(chance, order, axis=1), 0)
        return found

    def _searched(self, places: Ints, *, is_decoy: bool) -> _Search:
        """Decoys look only at contents that have a partner we trust: others might be what they have lost."""
        contents, vectors = self._contents, unit(self._queries[places])
        log_weights = contents.log_priors(is_decoy=is_decoy)  # of contents that have a trusted partner, of free ones
        lead = -_FAR if is_decoy else (log_weights[1] - log_weights[0]) / max(self._slope, 1e-9)
        lead = float(np.clip(lead, -_FAR, _FAR))
        count = min(COUNT + _SPARE, len(contents.chosen))
        where, values = self._index.nearest(Offered.query(vectors, lead), count)
        is_free = contents.is_free[where]
        cosines = values.astype(np.float64) - lead * is_free
        is_out = contents.is_known(places, contents.chosen[where]) | (values == -1.0)
        weights = np.where(is_out, 0.0, np.exp(self._slope * cosines + log_weights[is_free.astype(int)]))
        # All that were not found, by those of them that are references.
        is_free = contents.is_free[self._references]
        others = (vectors @ self._vectors.T).astype(np.float64)
        is_rest = others + lead * is_free < values[:, -1:]
        rest = np.where(is_rest, np.exp(self._slope * others + log_weights[is_free.astype(int)]), 0.0).sum(axis=1)
        rest *= len(contents.chosen) / len(self._references)
        total = np.log(np.maximum(weights.sum(axis=1) + rest, 1e-300))
        return _Search(np.where(is_out, NONE, contents.chosen[where]), cosines, weights, total)

    def _calibrate(self, trusted: Ints) -> None:
        """The slope a, and P(there is a partner | T) when that is as likely as not."""
        blocks = [trusted[at : at + _BLOCK] for at in range(0, len(trusted), _BLOCK)]
        queries = [unit(self._queries[some]) for some in blocks]
        own = np.concatenate([(a * self._candidates[b]).sum(axis=1) for a, b in zip(queries, blocks, strict=True)])
        others = np.concatenate([(some @ self._vectors[::10].T).ravel() for some in queries])
        self._slope = max(0.0, _SHARE * line(own, others)[0])
        without = np.concatenate([self._searched(some, is_decoy=True).total for some in blocks])
        log_prior = self._contents.log_priors(is_decoy=False).max()
        with_partner = np.logaddexp(without, self._slope * UNLEARNED * own + log_prior)
        slope, offset = line(with_partner, without)
        self._present = (slope, offset) if slope > 0 else (0.0, 0.0)
