"""What a similarity says of whether a caption belongs to the image some rows away, learned on the collection itself."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from model.neighbours import unit
from model.positions import spread

Floats = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

TRUSTED = 0.5
# Trusted pairs to learn from, and below how many nothing can be learned.
_MOST_FITTED, _LEAST_FITTED = 20_000, 50
# The networks made the pairs they learned from similar. Others that match are less so: on Flickr8k, seeds 10 to 12,
# by 0.55 to 0.77.
UNLEARNED = 0.65
# No single row is surer than this log likelihood ratio, however similar its sides.
_MOST_SURE = 3.0
# Rows between two of the same content that are taken to be meant for it too.
_WIDEST = 4
# What the share of mismatches is taken to be within: one mismatch must never end a block, nor a match be a wonder.
_NOISE = (0.1, 0.7)


class Evidence:
    """Similarity of the caption of every row with the image of its own row and of those up to some rows away."""

    def __init__(
        self, images: Any, captions: Any, rows: Ints, image_ids: Ints, caption_ids: Ints, most_offset: int
    ) -> None:
        self._images, self._captions = images, captions
        # Among rows that share an image a single other one is a mismatch, and no sign of where the file stands.
        self._image_places, self._caption_places = nominal(image_ids), nominal(caption_ids)
        self._image_ids, self._caption_ids = image_ids[self._image_places], caption_ids[self._caption_places]
        self.rows = rows
        away = range(1, most_offset + 1)
        self.offsets = [0, *away, *(-offset for offset in away)]

    def similarities(self, places: Ints) -> tuple[Floats, Bools]:
        """(n, offsets) cosines of the rows at these ascending places, and where an offset tells anything.

        It does not where the row so far away is missing, nor where both have the same image or the same caption:
        there the similarity of the row itself stands.
        """
        others, is_telling = self._others(places)
        seen, where = np.unique(self._image_places[others], return_inverse=True)
        images, captions = unit(self._images[seen]), unit(self._captions[self._caption_places[places]])
        where = where.reshape(others.shape)
        found = np.stack([(images[where[:, one]] * captions).sum(axis=1) for one in range(others.shape[1])], axis=1)
        return np.where(is_telling, found, found[:, :1]), is_telling

    def _others(self, places: Ints) -> tuple[Ints, Bools]:
        """(n, offsets) places of the rows so far away, the own place where there is nothing to be told."""
        others = np.repeat(places[:, None], len(self.offsets), axis=1)
        is_telling = np.zeros(others.shape, dtype=bool)
        for column, offset in enumerate(self.offsets[1:], start=1):
            wanted = self.rows[places] + offset
            found = np.minimum(np.searchsorted(self.rows, wanted), len(self.rows) - 1)
            is_other = (self._image_ids[found] != self._image_ids[places]) & (
                self._caption_ids[found] != self._caption_ids[places]
            )
            is_telling[:, column] = (self.rows[found] == wanted) & is_other
            others[is_telling[:, column], column] = found[is_telling[:, column]]
        return others, is_telling


def nominal(ids: Ints) -> Ints:
    """For each row the place of the content that stands there: that of a row before it, where one soon after it has
    the same, otherwise its own."""
    places = np.arange(len(ids))
    for width in range(min(_WIDEST, len(ids) - 1), 1, -1):  # the narrowest has the last word
        inside = np.flatnonzero(ids[width:] == ids[: len(ids) - width])
        for before in range(1, width):
            places[inside + before] = inside
    return places


def line(of_matches: npt.NDArray[np.floating], of_others: npt.NDArray[np.floating]) -> tuple[float, float]:
    """Slope and offset of the log likelihood ratio of a value, by logistic regression with even odds."""
    values = np.concatenate([of_matches, of_others]).astype(np.float64)
    is_match = np.repeat([1, 0], [len(of_matches), len(of_others)])
    mean, scale = float(values.mean()), max(float(values.std()), 1e-9)
    found = LogisticRegression(class_weight="balanced").fit(((values - mean) / scale)[:, None], is_match)
    slope = float(found.coef_[0, 0]) / scale
    return slope, float(found.intercept_[0]) - slope * mean


@dataclass(frozen=True)
class Likelihood:
    """How much more likely a similarity is where caption and image belong together than where they do not."""

    slope: float
    offset: float
    noise: float  # share of mismatches, inside a shifted block as anywhere

    @classmethod
    def fit(cls, evidence: Evidence, confidence: npt.NDArray[np.floating]) -> "Likelihood | None":
        """From trusted pairs against the same captions with the images next to their own.

        The neighbours and not any other image: where a file is sorted, so that neighbours resemble each other, they
        have to be told apart from those.
        """
        trusted = np.flatnonzero(confidence >= TRUSTED)
        if len(trusted) < _LEAST_FITTED:
            return None
        places = trusted[spread(len(trusted), _MOST_FITTED)]
        values, is_telling = evidence.similarities(places)
        wrong = values[is_telling]
        if len(wrong) < _LEAST_FITTED:
            return None
        slope, offset = line(UNLEARNED * values[:, 0], wrong)
        noise = float(np.clip(1 - confidence.mean(dtype=np.float64), *_NOISE))
        return cls(slope, offset, noise) if slope > 0 else None

    def ratio(self, similarity: Floats) -> Floats:
        """Log likelihood ratio of a row in a block where most, but not all, belong together like this."""
        certain = np.exp(np.minimum(self.slope * similarity + self.offset, _MOST_SURE))
        return np.asarray(np.log(self.noise + (1 - self.noise) * certain), dtype=np.float32)

    def match(self, similarity: Floats) -> Floats:
        """P(match) of a similarity."""
        before = np.log((1 - self.noise) / self.noise)
        return np.asarray(expit(self.slope * similarity + self.offset + before), dtype=np.float32)
