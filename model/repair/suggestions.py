"""Captions of the collection for an image whose own is wrong, and images for a caption, each with P(match).

The best of many thousand is similar even where none matches. What a candidate's lead before the runners-up is worth is
therefore read off a simulation: trusted pairs are searched with their own partner left out, then with it put back.
How many flagged pairs have a partner at all, and how similar it is, are chosen to fit what is found for them. An image
with several flagged captions has lost as many.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from model.neighbours import Index, unit
from model.positions import spread
from model.repair.candidates import Contents, Offered
from model.repair.evidence import TRUSTED, line

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

COUNT = 5
# Up to this many different contents every one is compared.
EXACT_COUNT = 200_000
NONE = -1
# Searched for beyond those wanted: partners that a content has already are no news, the others are the runners-up.
_SPARE = 32
# Queries of each kind to calibrate with. Where fewer are flagged the least trusted join them.
_MOST_FITTED, _LEAST_FITTED = 2000, 200
# The networks made the pairs they learned from similar; lost partners were not learned and may be less so, by this
# factor. And the share of flagged pairs that have one in the collection.
_FACTORS, _SHARES = np.linspace(0.5, 1.0, 11), np.linspace(0.02, 0.98, 25)
_MOST_PARTNERS = COUNT
_BINS = 30
_THINNED = (0.1, 1.0)
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
    places: Ints  # (n, 5) positions, NONE where there are fewer
    cosines: Floats  # (n, 5)
    leads: Floats  # (n, 5) before the mean of the runners-up
    runners_up: Floats  # (n,)


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
        self._candidates = candidates
        self._contents = Contents(query_ids, candidate_ids, confidence >= TRUSTED)
        chosen = self._contents.chosen
        self._index = Index(Offered(candidates, chosen, self._contents.is_free), exact_count)
        order = np.argsort(confidence, kind="stable")
        least = min(_LEAST_FITTED, len(order) // 2)
        flagged = np.sort(order[: max(int((confidence < TRUSTED).sum()), least)])
        trusted = np.flatnonzero(confidence >= TRUSTED)
        self._bonus, self._line = 0.0, (0.0, -np.inf)
        if len(trusted) >= _LEAST_FITTED:
            _, contents = np.unique(query_ids[flagged], return_inverse=True)
            lost = np.bincount(contents)[contents].mean()  # partners of a flagged pair's content, itself included
            trusted, flagged = (some[spread(len(some), _MOST_FITTED)] for some in (trusted, flagged))
            self._calibrate(trusted, flagged, int(np.clip(round(lost), 1, _MOST_PARTNERS)))

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
        search = self._searched(places, self._bonus)
        chance = np.where(search.places == NONE, 0.0, expit(self._line[0] * search.leads + self._line[1]))
        return Found(search.places, search.cosines.astype(np.float32), chance.astype(np.float32))

    def _searched(self, places: Ints, bonus: float, share: float = 1.0) -> _Search:
        """The best by cosine plus `bonus` for contents without a partner we trust; among this share of all contents."""
        parts = [self._block(places[at : at + _BLOCK], bonus, share) for at in range(0, max(1, len(places)), _BLOCK)]
        return _Search(*(np.concatenate(some) for some in zip(*parts, strict=True)))

    def _block(self, places: Ints, bonus: float, share: float) -> tuple[Ints, Floats, Floats, Floats]:
        contents = self._contents
        count = min(round((COUNT + _SPARE) / share), len(contents.chosen))
        where, values = self._index.nearest(Offered.query(unit(self._queries[places]), bonus), count)
        found = contents.chosen[where]
        is_out = contents.is_known(places, found) | (values == -1.0) | (contents.draws[where] > share)
        order = np.argsort(is_out, axis=1, kind="stable")
        found, values, is_free, is_out = (
            np.take_along_axis(part, order, axis=1) for part in (found, values, contents.is_free[where], is_out)
        )
        runner_up = np.where(is_out, np.nan, values.astype(np.float64))[:, COUNT : COUNT + _SPARE]
        is_alone = np.isnan(runner_up).all(axis=1)
        runner_up[is_alone] = np.inf  # too few to tell how much being the best is worth
        base = np.nanmean(runner_up, axis=1) if runner_up.shape[1] else np.full(len(places), np.inf)
        missing = ((0, 0), (0, max(0, COUNT - count)))
        kept = np.pad(np.where(is_out, NONE, found)[:, :COUNT], missing, constant_values=NONE)
        cosines = np.where(is_out, 0.0, values - bonus * is_free)[:, :COUNT]
        leads = np.where(is_out, -_FAR, np.maximum(values - base[:, None], -_FAR))[:, :COUNT]
        return kept, np.pad(cosines, missing), np.pad(leads, missing, constant_values=-_FAR), base

    def _calibrate(self, trusted: Ints, flagged: Ints, lost: int) -> None:
        """The bonus of free contents, and the log odds of a lead."""
        own = self._own(trusted, trusted)
        slope = line(own, self._own(trusted, np.roll(trusted, 1)))[0]
        priors = self._contents.log_priors()
        self._bonus = float(np.clip((priors[1] - priors[0]) / max(slope, 1e-9), -_FAR, _FAR)) if slope > 0 else 0.0
        # Decoys look only at contents with a partner we trust: others might be what they have lost.
        # Among as many as flagged pairs have to choose from: the best of more leads by less.
        free = self._contents.is_free.sum()
        choice = free if self._bonus > 0 else len(self._contents.is_free)
        decoys = self._searched(
            trusted, -_FAR, float(np.clip(choice / max(1, (~self._contents.is_free).sum()), *_THINNED))
        )
        is_usable = np.isfinite(decoys.runners_up)
        if is_usable.sum() >= _LEAST_FITTED:
            leads, base = decoys.leads[is_usable], decoys.runners_up[is_usable]
            best = self._searched(flagged, self._bonus).leads[:, 0]
            self._line = _simulated(leads, own[is_usable], base, best[best > -_FAR], lost)

    def _own(self, queries: Ints, candidates: Ints) -> Floats:
        """Cosines of contents at some positions with those at others."""
        return np.concatenate(
            [
                (unit(self._queries[queries[at : at + _BLOCK]]) * unit(self._candidates[candidates[at : at + _BLOCK]]))
                .sum(axis=1)
                .astype(np.float64)
                for at in range(0, len(queries), _BLOCK)
            ]
        )


def _simulated(leads: Floats, own: Floats, base: Floats, flagged: Floats, lost: int) -> tuple[float, float]:
    """Slope and offset of the log odds that a candidate matches, by its lead.

    `leads` (n, 5) of decoys, whose own partners have the cosines `own` and whose runners-up the mean `base`; `flagged`
    the best lead of every flagged pair, which has so many partners to be found, if any.
    """
    edges = np.unique(np.quantile(np.concatenate([flagged, leads[:, 0]]), np.linspace(0, 1, _BINS + 1)))[1:-1]

    def density(values: Floats) -> Floats:
        counts = np.bincount(np.searchsorted(edges, values), minlength=len(edges) + 1) + 0.5
        return np.asarray(counts / counts.sum())

    rng = np.random.default_rng(0)
    partners = np.column_stack([own, *(rng.permutation(own) for _ in range(lost - 1))])  # (n, lost)
    seen, shares = density(flagged), _SHARES[:, None]
    without = density(leads[:, 0])
    fits = [
        (float(likelihoods.max()), float(_SHARES[likelihoods.argmax()]), float(factor))
        for factor in _FACTORS
        for present in [density(np.maximum(leads[:, 0], factor * partners.max(axis=1) - base))]
        for likelihoods in [np.log(shares * present + (1 - shares) * without) @ seen]
    ]
    _, share, factor = max(fits)
    every = np.column_stack([factor * partners - base[:, None], leads])  # (n, lost + 5), partners first
    best = np.argsort(-every, axis=1, kind="stable")[:, :COUNT]
    values = np.concatenate([np.take_along_axis(every, best, axis=1).ravel(), leads.ravel()])
    is_right = np.concatenate([(best < lost).ravel(), np.zeros(leads.size, bool)])
    weights = np.repeat([share, 1 - share], [best.size, leads.size])
    if not is_right.any():
        return 0.0, -np.inf
    found = LogisticRegression(C=100.0).fit(values[:, None], is_right, weights)
    slope, offset = float(found.coef_[0, 0]), float(found.intercept_[0])
    # Where a lead says nothing, no candidate is likelier than another.
    return (slope, offset) if slope > 0 else (0.0, float(logit(weights[is_right].sum() / weights.sum())))
