"""The similarity that a joint encoder itself gives a pair, each side centred: without that every pair looks alike."""

import numpy as np
import numpy.typing as npt

from model.neighbours import unit
from model.pairs import Pairs

_SAMPLE = 8192
_BLOCK = 4096


def joint_similarity(pairs: Pairs) -> npt.NDArray[np.float64]:
    """(N,) cosines of images and captions."""
    count = len(pairs)
    sample = np.unique(np.linspace(0, count - 1, min(count, _SAMPLE)).astype(np.int64))
    sides = (pairs.images, pairs.captions)
    means = [np.asarray(side[sample], dtype=np.float32).mean(axis=0) for side in sides]
    out = np.empty(count)
    for at in range(0, count, _BLOCK):
        rows = np.arange(at, min(at + _BLOCK, count))
        images, captions = (
            unit(np.asarray(side[rows], np.float32) - mean) for side, mean in zip(sides, means, strict=True)
        )
        out[rows] = (images * captions).sum(axis=1)
    return out
