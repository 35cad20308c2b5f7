"""Random changes of a batch while training. What comes in is never written to: it may be the collection itself."""

import torch
from torch import Tensor

from model.randomness import current
from model.words import END, UNKNOWN


def drop_regions(regions: Tensor, share: float) -> Tensor:
    """A random choice of each image's regions (n, R, D), on average without this share of them.

    How many are kept is drawn once per batch, up to all: a pooling over positions that never met the last ones
    while training would not know what to do with them afterwards.
    """
    count = regions.shape[1]
    dropped = min(count - 1, int(torch.rand((), generator=current()) * 2 * share * (count + 1)))
    if dropped <= 0:
        return regions
    chosen = _uniform(regions.shape[:2], regions.device).argsort(dim=1)[:, dropped:]
    return regions[torch.arange(len(regions), device=regions.device)[:, None], chosen]


def drop_words(tokens: Tensor, share: float) -> Tensor:
    """Tokens (n, L) with this share of the words unknown; padding, start and end stay."""
    if share == 0:
        return tokens
    is_dropped = (_uniform(tokens.shape, tokens.device) < share) & (tokens > END)
    return tokens.masked_fill(is_dropped, UNKNOWN)


def _uniform(shape: torch.Size, device: torch.device) -> Tensor:
    """Drawn on the CPU, where the generator is."""
    return torch.rand(shape, generator=current()).to(device)
