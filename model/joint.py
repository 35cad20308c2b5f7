"""The similarity that a joint encoder itself gives a pair, each side centred: without that every pair looks alike."""

import numpy as np
import numpy.typing as npt

from model.neighbours import unit
from model.pairs import Pairs
from model.positions import blocks, spread

_SAMPLE = 8192


def joint_similarity(pairs: Pairs) -> npt.NDArray[np.float32]:
    """(N,) cosines of images and captions."""
    count = len(pairs)
    sample = spread(count, _SAMPLE)
    sides = (pairs.images, pairs.captions)
    means = [np.asarray(side[sample], dtype=np.float32).mean(axis=0) for side in sides]
    out = np.empty(count, np.float32)
    for rows in blocks(np.arange(count)):
        images, captions = (
            unit(np.asarray(side[rows], np.float32) - mean) for side, mean in zip(sides, means, strict=True)
        )
        out[rows] = (images * captions).sum(axis=1)
    return out
