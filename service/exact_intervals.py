"""Exact (Clopper-Pearson) intervals for a share that was counted in a sample: they hold the truth at least as often
as they say, however few were counted. C. J. Clopper, E. S. Pearson, Biometrika 26 (1934)."""

import math

CONFIDENCE = 0.95
HALVINGS = 60  # of the interval from 0 to 1: below the resolution of a float
NEGLIGIBLE = 1e-17  # of a sum of falling terms


def clopper_pearson(hits: int, of: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The shares under which neither so many nor so few hits would be a surprise."""
    if not 0 <= hits <= of or of == 0:
        raise ValueError(f"{hits} hits of {of} is no count")
    surprise = (1 - confidence) / 2
    return _lowest(hits, of, surprise), 1 - _lowest(of - hits, of, surprise)


def needed(share: float, half_width: float) -> int:
    """How many must be counted until half the width of the interval around this share is that small."""
    enough = 1
    while _half_width(share, enough) > half_width:
        enough *= 2
    too_few = enough // 2
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        if _half_width(share, middle) > half_width:
            too_few = middle
        else:
            enough = middle
    return enough


def at_least(hits: int, of: int, share: float) -> float:
    """The probability of that many hits or more: the binomial tail, summed from its largest term outwards."""
    if hits <= 0:
        return 1.0
    if share in (0.0, 1.0):
        return share
    if hits > of * share:
        return _sum(hits, of, share)
    return 1 - _sum(of - hits + 1, of, 1 - share)  # fewer hits are more misses


def _sum(hits: int, of: int, share: float) -> float:
    """P(X >= hits) where `hits` lies above the mean, so that the terms fall."""
    log_choices = math.lgamma(of + 1) - math.lgamma(hits + 1) - math.lgamma(of - hits + 1)
    term = math.exp(log_choices + hits * math.log(share) + (of - hits) * math.log1p(-share))
    total, odds = term, share / (1 - share)
    for count in range(hits, of):
        term *= odds * (of - count) / (count + 1)
        total += term
        if term < NEGLIGIBLE * total:
            break
    return total


def _lowest(hits: int, of: int, surprise: float) -> float:
    """The share under which so many hits or more have the probability `surprise`; the tail rises with the share."""
    low, high = 0.0, hits / of
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if at_least(hits, of, middle) < surprise:
            low = middle
        else:
            high = middle
    return low if hits else 0.0


def _half_width(share: float, of: int) -> float:
    low, high = clopper_pearson(round(share * of), of)
    return (high - low) / 2
