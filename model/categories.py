"""The category of every pair: as the collection's labels give it, or made from the captions by k-means."""

import numpy as np
import numpy.typing as npt

from model.errors import TrainingError
from model.pairs import Pairs, gather
from model.positions import spread

Labels = npt.NDArray[np.int64]

# More rows than this do not move the clusters; evenly spaced, so the choice is the same every time.
_FIT_ROWS = 16_384
_CHUNK_ROWS = 8_192
_STARTS = 3


def given_categories(pairs: Pairs) -> Labels:
    """The labels, refused where they cannot teach anything; a negative one means that the pair has none."""
    if pairs.labels is None:
        raise TrainingError(
            "the collection has no label column, which this method learns from; give it one (named label, category or "
            "class), or set method_options.clusters=K to make K pseudo-categories from the captions"
        )
    labels = np.asarray(pairs.labels, dtype=np.int64)
    own = labels[: pairs.own]  # probes have the labels of these
    if missing := int((own < 0).sum()):
        raise TrainingError(
            f"{missing:,} of {len(own):,} pairs have no label; give every pair one, or set "
            "method_options.clusters=K to make K pseudo-categories from the captions"
        )
    if own.min() == own.max():
        raise TrainingError("all pairs have the same label; at least two categories are needed to tell a wrong one")
    if own.max() >= len(own):
        raise TrainingError(f"categories must be numbered from 0 without gaps, but one is {own.max():,}")
    return labels


def cluster_captions(pairs: Pairs, clusters: int, seed: int) -> Labels:
    """(N,) clusters of the caption features, fitted on a bounded sample; the same seed gives the same ones."""
    from sklearn.cluster import MiniBatchKMeans  # takes a second to load, which only this needs

    most = pairs.own // 2
    if not 2 <= clusters <= most:
        raise TrainingError(f"method_options.clusters must be between 2 and {most:,} for {pairs.own:,} pairs")
    count = len(pairs)
    rows = spread(count, max(_FIT_ROWS, 4 * clusters))
    sample = gather(pairs.captions, rows).numpy()
    # scikit-learn warns where there are fewer different captions than clusters; fewer clusters then do.
    clusters = min(clusters, len(np.unique(sample, axis=0)))
    fitted = MiniBatchKMeans(clusters, random_state=seed, n_init=_STARTS).fit(sample)
    chunks = [np.arange(at, min(at + _CHUNK_ROWS, count), dtype=np.int64) for at in range(0, count, _CHUNK_ROWS)]
    found = np.concatenate([fitted.predict(gather(pairs.captions, chunk).numpy()) for chunk in chunks])
    return found.astype(np.int64)
