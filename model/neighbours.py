"""Nearest vectors by cosine, with faiss: exact for a few ten thousand, by inverted lists beyond."""

from typing import Any

import faiss
import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

# Up to this many vectors every one is compared.
EXACT_COUNT = 50_000
# Lists per square root of the count, and how many of them are looked through.
_LISTS, _PROBED = 4, 24
_TRAINING_VECTORS = 50_000
_BLOCK = 8192


def use_cores(count: int) -> None:
    """Search with so many threads."""
    faiss.omp_set_num_threads(count)


def unit(vectors: npt.NDArray[np.floating]) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-9), dtype=np.float32)


class Units:
    """Some rows of an array brought to length one: read when asked for, so that it may be larger than the memory."""

    def __init__(self, source: Any, places: Ints) -> None:
        self._source = source
        self._places = places
        self.shape = (len(places), source.shape[1])

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, rows: Ints | slice) -> Vectors:
        return unit(self._source[self._places[rows]])


class Index:
    """Unit vectors to search in: an array, or what is read in its blocks like one."""

    def __init__(self, vectors: Any, exact_count: int = EXACT_COUNT) -> None:
        count, width = vectors.shape
        self._index: Any = faiss.IndexFlatIP(width)
        if count > exact_count:
            lists = _LISTS * int(count**0.5)
            self._coarse = self._index  # faiss does not keep it alive itself
            self._index = faiss.IndexIVFScalarQuantizer(
                self._coarse, width, lists, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT
            )
            self._index.train(np.ascontiguousarray(vectors[:: max(1, count // _TRAINING_VECTORS)]))
            self._index.nprobe = _PROBED
        for at in range(0, count, _BLOCK):
            self._index.add(np.ascontiguousarray(vectors[at : at + _BLOCK]))

    def nearest(self, queries: Vectors, count: int) -> tuple[Ints, Vectors]:
        """The `count` nearest of each query, nearest first, with their cosines."""
        cosines, places = self._index.search(np.ascontiguousarray(queries), count)
        # Inverted lists may hold fewer than asked for: then the nearest again, at a distance where it counts nothing.
        missing = places < 0
        places[missing] = np.broadcast_to(np.maximum(places[:, :1], 0), places.shape)[missing]
        cosines[missing] = -1.0
        return places, cosines
