"""Linear maps of images and captions into one space: canonical correlation, fitted to trusted pairs in closed form
(Hotelling 1936, with a ridge), so that they memorise little."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import normalize

from model.inputs import FeatureReader
from model.pairs import Pairs

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Both = tuple[Tensor, Tensor]  # images and captions

NAMES = ("correlation", "correlation among look-alikes")
# Of the negatives the share that look most like the image of the pair, and the temperature of the odds against those
# alone.
_LOOK_ALIKE, _LOOK_ALIKE_TEMPERATURE = 0.03, 0.08
# Chosen on Flickr8k, seed 10, 6,000 pairs: components kept, the ridge as a share of the mean variance, and the
# temperature of the odds. Half or twice as much costs .003 of AUROC at most.
_KEPT, _RIDGE, _TEMPERATURE = 128, 1.0, 0.05
# From this cosine of the encoder's vectors on, two images or captions are the same.
SAME = 0.9999


@dataclass(frozen=True)
class Maps:
    """Both sides into one space, where what belongs together points the same way."""

    means: Both  # (D,)
    bases: Both  # (D, kept)

    @classmethod
    def fit(cls, moments: Tensor, width: int) -> "Maps":
        """`moments` are sums of products of (1, image, caption) with itself; `width` is that of an image."""
        moments = moments / moments[0, 0].clamp(min=1e-9)
        mean = moments[0, 1:]
        covariance = moments[1:, 1:] - torch.outer(mean, mean)
        images, captions = slice(None, width), slice(width, None)
        roots = [_inverse_root(covariance[side, side]) for side in (images, captions)]
        left, strength, right = torch.linalg.svd(roots[0] @ covariance[images, captions] @ roots[1])
        kept = slice(None, min(_KEPT, len(strength)))
        # Directions count by how strongly they correlate.
        bases = [
            (root @ vectors[:, kept] * strength[kept]).float()
            for root, vectors in zip(roots, (left, right.T), strict=True)
        ]
        return cls((mean[images].float(), mean[captions].float()), (bases[0], bases[1]))

    def __call__(self, side: int, vectors: Tensor) -> Tensor:
        """(n, kept) unit vectors."""
        return normalize((vectors - self.means[side]) @ self.bases[side], dim=1)

    def odds(self, read: Both, others: Both, is_same: Tensor) -> Floats:
        """(n, 2) log odds of pairs, read as vectors, against all negatives and against those that look alike.
        `is_same` (n, negatives) is True for one that shows or says the same: it is no negative."""
        own, other = ([self(side, vectors) for side, vectors in enumerate(both)] for both in (read, others))
        cosines = [
            (own[side] @ other[1 - side].T).masked_fill(is_same, -torch.inf) for side in (0, 1)
        ]  # (n, negatives)
        alike = (normalize(read[0], dim=1) @ normalize(others[0], dim=1).T).masked_fill(is_same, -torch.inf)
        nearest = alike.topk(max(1, round(_LOOK_ALIKE * len(others[0]))), dim=1, sorted=False).indices
        cosine = (own[0] * own[1]).sum(dim=1)
        found = [
            _log_odds(cosine, cosines, _TEMPERATURE),
            _log_odds(cosine, [side.gather(1, nearest) for side in cosines], _LOOK_ALIKE_TEMPERATURE),
        ]
        return np.asarray(torch.stack(found, dim=1).masked_fill(is_same.all(dim=1)[:, None], 0.0).numpy())


@dataclass(frozen=True)
class LastingMaps:
    """Maps that outlast the collection they were fitted to, with all they need to judge pairs from elsewhere."""

    maps: Maps
    readers: tuple[FeatureReader, FeatureReader]
    negatives: Both  # as they were read

    def odds(self, pairs: Pairs, rows: Ints) -> Floats:
        """(n, 2), see NAMES."""
        with torch.inference_mode():
            images, captions = (
                reader(side, rows)[0] for reader, side in zip(self.readers, (pairs.images, pairs.captions), strict=True)
            )
            is_same = _are_same(images, self.negatives[0]) | _are_same(captions, self.negatives[1])
            return self.maps.odds((images, captions), self.negatives, is_same)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """To be saved."""
        return {f"maps_{name}_{side}": part.numpy() for side in (0, 1) for name, part in self._parts(side).items()}

    @classmethod
    def from_arrays(cls, arrays: dict[str, npt.NDArray[Any]]) -> "LastingMaps":
        def both(name: str) -> Both:
            return torch.from_numpy(arrays[f"maps_{name}_0"]), torch.from_numpy(arrays[f"maps_{name}_1"])

        images, captions = (
            FeatureReader(mean, basis, is_pooled=True)
            for mean, basis in zip(both("read_mean"), both("read_basis"), strict=True)
        )
        return cls(Maps(both("mean"), both("basis")), (images, captions), both("negatives"))

    def _parts(self, side: int) -> dict[str, Tensor]:
        reader, maps = self.readers[side], self.maps
        return {
            "mean": maps.means[side],
            "basis": maps.bases[side],
            "read_mean": reader.mean,
            "read_basis": reader.basis,
            "negatives": self.negatives[side],
        }


def _are_same(some: Tensor, others: Tensor) -> Tensor:
    return normalize(some, dim=1) @ normalize(others, dim=1).T > SAME


def _inverse_root(covariance: Tensor) -> Tensor:
    values, vectors = torch.linalg.eigh(covariance)
    ridge = _RIDGE * values.clamp(min=0).mean() + 1e-12
    root: Tensor = (vectors / (values.clamp(min=0) + ridge).sqrt()) @ vectors.T
    return root


def _log_odds(cosine: Tensor, others: Sequence[Tensor], temperature: float) -> Tensor:
    """Of (n,) cosines against those of the same images with other captions, and of the captions with other images."""
    against = [(side / temperature).logsumexp(dim=1) for side in others]
    return cosine / temperature - (against[0] + against[1]) / 2
