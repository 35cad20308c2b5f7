"""Nearest vectors by cosine: exact for a few ten thousand, by the inverted lists of faiss beyond."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import faiss
import numpy as np
import numpy.typing as npt
import torch

from model.positions import spread

Vectors = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

# Up to this many vectors every one is compared.
EXACT_COUNT = 50_000
# Lists per square root of the count, and how many of them are looked through.
_LISTS, _PROBED = 4, 24
_TRAINING_VECTORS = 40  # for each list; of fewer than 39 faiss complains
_BLOCK = 8192
# Cosines that an exact search holds at a time: what stays in a processor's cache.
_COMPARED = 4_000_000

# Products of single numbers below which a second core costs more than it gives, and on a busy machine far more.
_LEAST_SHARED = 200_000_000

_threads = 1  # of a search


def use_cores(count: int) -> None:
    """Search with so many threads."""
    global _threads
    _threads = count


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
        blocks = (np.ascontiguousarray(vectors[at : at + _BLOCK]) for at in range(0, count, _BLOCK))
        self._search = Exact(count, width) if count <= exact_count else Lists(vectors)
        for block in blocks:
            self._search.add(block)

    def nearest(self, queries: Vectors, count: int) -> tuple[Ints, Vectors]:
        """The `count` nearest of each query, nearest first, with their cosines; not more than there are vectors."""
        return self._search.nearest(np.ascontiguousarray(queries), count)


class Exact:
    """Every vector compared, by torch: its products and its choice take half the time of faiss's flat index."""

    def __init__(self, count: int, width: int) -> None:
        self._vectors = torch.empty(count, width)
        self._filled = 0

    def add(self, vectors: Vectors) -> None:
        self._vectors[self._filled : self._filled + len(vectors)] = torch.from_numpy(vectors)
        self._filled += len(vectors)

    def nearest(self, queries: Vectors, count: int) -> tuple[Ints, Vectors]:
        size = max(1, _COMPARED // len(self._vectors))
        compared = torch.empty(min(size, len(queries)), len(self._vectors))  # once: new memory costs as much again
        with all_threads(len(queries) * self._vectors.numel()), torch.inference_mode():
            found = [
                torch.mm(part, self._vectors.T, out=compared[: len(part)]).topk(count)
                for part in torch.split(torch.from_numpy(queries), size)
            ]
            cosines, places = (torch.cat(part).numpy() for part in zip(*found, strict=True))
        return places, cosines


class Lists:
    """Only the vectors of the lists nearest to a query compared, in half precision."""

    def __init__(self, vectors: Any) -> None:
        count, width = vectors.shape
        lists = _LISTS * int(count**0.5)
        self._coarse = faiss.IndexFlatIP(width)  # faiss does not keep it alive itself
        self._index: Any = faiss.IndexIVFScalarQuantizer(
            self._coarse, width, lists, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT
        )
        with all_threads():
            self._index.train(np.ascontiguousarray(vectors[spread(count, _TRAINING_VECTORS * lists)]))
        self._index.nprobe = _PROBED

    def add(self, vectors: Vectors) -> None:
        with all_threads():
            self._index.add(vectors)

    def nearest(self, queries: Vectors, count: int) -> tuple[Ints, Vectors]:
        with all_threads():
            cosines, places = self._index.search(queries, count)
        # Lists may hold fewer than asked for: then the nearest again, at a distance where it counts nothing.
        missing = places < 0
        places[missing] = np.broadcast_to(np.maximum(places[:, :1], 0), places.shape)[missing]
        cosines[missing] = -1.0
        return places, cosines


def cosines_at(vectors: Vectors, places: Ints, queries: Vectors) -> Vectors:
    """(n, k) products of each of n queries with the k vectors at its places (n, k)."""
    with all_threads(places.size * vectors.shape[1]), torch.inference_mode():
        chosen = torch.from_numpy(vectors)[torch.from_numpy(places.astype(np.int64))]  # (n, k, D)
        return np.asarray(torch.bmm(chosen, torch.from_numpy(queries)[:, :, None])[:, :, 0].numpy())


@contextmanager
def all_threads(products: int = _LEAST_SHARED) -> Iterator[None]:
    """Torch on as many cores as searches take, and faiss with it, which shares its OpenMP; for so many products of
    single numbers. Afterwards the number is what it was, because products differ in their last digit with it."""
    before = torch.get_num_threads()
    torch.set_num_threads(_threads if products >= _LEAST_SHARED else 1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
