"""Words of one meaning: seen in the same images, alike in text, and hardly ever in one caption together."""

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

# How alike two heads must be: correlation over the images, and a little for each deviation that their texts are more
# alike than others'. Chosen on the demo's scenes, seed 10, whose words are known.
_LEAST_ALIKE, _TEXT_WORTH = 1.0, 0.1
_MOST_TEXT = 4.0  # deviations that count
# Mentions in one caption, by how many chance would give, from which two words mean different things.
_MOST_TOGETHER = 0.7


def groups(scores: Floats, mentions: sparse.csr_array, vectors: Floats) -> Ints:
    """Group of every head, from its scores of some images (n, H), its mentions (m, H) and its vector (H, D)."""
    count = scores.shape[1]
    if count < 3:
        return np.arange(count)
    alike = _correlation(scores) + _TEXT_WORTH * np.clip(_deviations(vectors @ vectors.T), 0, _MOST_TEXT)
    together = np.asarray((mentions.T @ mentions).todense(), np.float32)
    own = np.maximum(together.diagonal(), 1)
    is_apart = together * mentions.shape[0] < _MOST_TOGETHER * np.outer(own, own)
    distance = np.where(is_apart, np.maximum(2 - alike, 0), 4).astype(np.float64)
    np.fill_diagonal(distance, 0)
    tree = linkage(squareform((distance + distance.T) / 2, checks=False), method="average")
    return np.asarray(fcluster(tree, 2 - _LEAST_ALIKE, criterion="distance"), dtype=np.int64) - 1


def _correlation(scores: Floats) -> Floats:
    centred = scores - scores.mean(axis=0)
    centred /= np.maximum(centred.std(axis=0), 1e-9)
    return np.asarray(centred.T @ centred / len(scores))


def _deviations(values: Floats) -> Floats:
    return np.asarray((values - values.mean()) / max(float(values.std()), 1e-9))
