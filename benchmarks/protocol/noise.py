"""Mismatches put into matching pairs on purpose, the same for the same seed: which image each caption is given.

`own` numbers the image each caption belongs to; equal numbers are the same picture, so none is a mismatch of another.
"""

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

# A hard mismatch comes from this many pictures most like the right one.
NEAREST = 50
_BLOCK = 512


def shuffled(own: Ints, rate: float, seed: int) -> Ints:
    """The images with round(rate * N) of them permuted among themselves so that none is where it belongs."""
    rng = np.random.default_rng(seed)
    chosen = _chosen(rng, len(own), rate)
    given = own.copy()
    given[chosen] = _derangement(own[chosen], rng)
    return given


def near_misses(own: Ints, features: npt.NDArray[np.floating], rate: float, seed: int) -> Ints:
    """The images with round(rate * N) of them replaced by one of the 50 nearest by `features`, a row per number.

    Nearest in Euclidean distance. A picture may then appear more often than before, which a permutation does not
    allow, but no permutation keeps within such narrow choices.
    """
    rng = np.random.default_rng(seed)
    chosen = _chosen(rng, len(own), rate)
    pictures = np.unique(own)
    if len(chosen) and len(pictures) <= NEAREST:
        raise ValueError(f"hard noise needs more than {NEAREST} different images; there are {len(pictures)}")
    given = own.copy()
    wanted, positions = np.unique(own[chosen], return_inverse=True)
    nearest = _nearest(features, wanted, pictures)  # (wanted, 50)
    given[chosen] = nearest[positions, rng.integers(0, NEAREST, size=len(chosen))]
    return given


def _chosen(rng: np.random.Generator, count: int, rate: float) -> Ints:
    if not 0 <= rate <= 1:
        raise ValueError("the noise rate must be between 0 and 1")
    return rng.choice(count, size=round(rate * count), replace=False)


def _derangement(own: Ints, rng: np.random.Generator) -> Ints:
    """A permutation that gives no place what belongs there; what falls right is exchanged with another place."""
    given = rng.permutation(own)
    for place in np.flatnonzero(given == own):
        if given[place] != own[place]:  # mended by an exchange before
            continue
        fits = np.flatnonzero((own != own[place]) & (given != own[place]))
        if len(fits) == 0:
            raise ValueError("too few different images among the chosen pairs to mismatch them all")
        other = rng.choice(fits)
        given[place], given[other] = given[other], given[place]
    return given


def _nearest(features: npt.NDArray[np.floating], wanted: Ints, pictures: Ints) -> Ints:
    """For each wanted picture its 50 nearest others."""
    candidates = features[pictures].astype(np.float32)
    lengths = np.square(candidates).sum(axis=1)
    nearest = np.empty((len(wanted), NEAREST), dtype=np.int64)
    for at in range(0, len(wanted), _BLOCK):
        some = wanted[at : at + _BLOCK]
        # |a - b|^2 without |a|^2, which is the same for all candidates.
        distances = lengths - 2 * features[some].astype(np.float32) @ candidates.T
        distances[some[:, None] == pictures] = np.inf
        nearest[at : at + len(some)] = pictures[np.argpartition(distances, NEAREST, axis=1)[:, :NEAREST]]
    # In order of number: which of them is drawn must not hang on how the partition arranged them.
    return np.sort(nearest, axis=1)
