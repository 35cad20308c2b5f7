"""Cross attention between all images and all captions of a batch, in blocks under a memory limit.

Captions are compared in groups of equal length: no padded word is ever looked at, and no time is spent on any.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from model.backbones.base import Items

# (encoded images, (words (c, l, D), ...) of captions of one length) -> (images, c) scores. Draws nothing random.
Comparison = Callable[[Items, Items], Tensor]
_MEGABYTE = 1024 * 1024


@dataclass(frozen=True)
class Group:
    """Captions of one length that are compared together, and with how many images at once."""

    length: int
    captions: tuple[int, ...]
    images: int


def plan(lengths: list[int], images: int, floats_per_cell: Callable[[int], int], most_floats: int) -> list[Group]:
    """All captions in groups of equal length; no block of a group needs more floats than allowed, if it can be."""
    groups = []
    for length in sorted(set(lengths)):
        captions = [at for at, each in enumerate(lengths) if each == length]
        cells = max(1, most_floats // floats_per_cell(length))
        size = max(1, cells // images)
        parts = [captions[at : at + size] for at in range(0, len(captions), size)]
        groups += [Group(length, tuple(part), min(images, cells // len(part))) for part in parts]
    return groups


def in_blocks(
    comparison: Comparison,
    images: Items,
    captions: Items,
    floats_per_cell: Callable[[int], int],
    megabytes: int,
) -> Tensor:
    """(images, captions) scores; captions are (words (n, L, D), lengths (n,), ...).

    `floats_per_cell(l)` is what comparing one image with one caption of l words keeps for the backward pass.
    """
    lengths, most = captions[1].tolist(), megabytes * _MEGABYTE // 4
    groups = plan(lengths, len(images[0]), floats_per_cell, most)
    # What all blocks keep together fits or not; where not, each is worked out again when its gradient is due.
    is_kept = not torch.is_grad_enabled() or len(images[0]) * sum(map(floats_per_cell, lengths)) <= most
    order = torch.tensor([at for group in groups for at in group.captions], device=captions[0].device)
    # One split for all groups: its gradient is one concatenation, where slices would each fill a whole tensor.
    sizes = [len(group.captions) for group in groups]
    split = [torch.split(part.index_select(0, order), sizes) for part in (captions[0], *captions[2:])]
    columns = []
    for group, (words, *others) in zip(groups, zip(*split, strict=True), strict=True):
        rows = []
        for some in zip(*(torch.split(part, group.images) for part in images), strict=True):
            block = some, (words[:, : group.length], *others)
            if is_kept:
                rows.append(comparison(*block))
            else:
                rows.append(checkpoint(comparison, *block, use_reentrant=False, preserve_rng_state=False))
        columns.append(torch.cat(rows) if len(rows) > 1 else rows[0])
    return torch.cat(columns, dim=1).index_select(1, order.argsort())


def affinities(regions: Tensor, words: Tensor) -> Tensor:
    """(c, l, I, R) products of every word with every region."""
    products = words.flatten(end_dim=1) @ regions.flatten(end_dim=1).T
    return products.view(*words.shape[:2], *regions.shape[:2])


def attend_to_regions(affinity: Tensor, sharpness: float) -> Tensor:
    """(c, l, I, R) weights of the regions for each word, Eq. 4 (NCR supplement): affinities are cut as in SCAN
    and normalised over the words that compete for a region."""
    competing = unit(functional.leaky_relu(affinity, 0.1), dim=1)
    return (sharpness * competing).softmax(dim=3)


def attend_to_words(affinity: Tensor, sharpness: float) -> Tensor:
    """(c, l, I, R) weights of the words for each region, normalised over the regions that compete for a word."""
    competing = unit(functional.leaky_relu(affinity, 0.1), dim=3)
    return (sharpness * competing).softmax(dim=1)


def unit(values: Tensor, dim: int) -> Tensor:
    """Scaled to length 1 along a dimension; on a CPU several times faster than torch's own with its norm."""
    return values * (values.square().sum(dim=dim, keepdim=True) + 1e-16).rsqrt()


def by_image(values: Tensor) -> Tensor:
    """(c, l, I, R) as (I, c * l, R), without a copy."""
    return values.flatten(end_dim=1).transpose(0, 1)


def attended_region_norms(weights: Tensor, regions: Tensor) -> Tensor:
    """(c, l, I) lengths of the attended regions, from products of regions: R * R numbers per image where the
    attended vectors themselves would be D per word and image."""
    gram = regions @ regions.transpose(1, 2)  # (I, R, R)
    spread = torch.bmm(by_image(weights), gram)  # (I, c * l, R)
    squares = (spread * by_image(weights)).sum(dim=2).T.reshape(weights.shape[:3])
    return squares.clamp(min=1e-16).sqrt()


def attended_word_norms(weights: Tensor, words: Tensor) -> Tensor:
    """(c, I, R) lengths of the attended words, from products of words."""
    gram = words @ words.transpose(1, 2)  # (c, l, l)
    spread = torch.bmm(gram, weights.flatten(start_dim=2)).view_as(weights)
    return (spread * weights).sum(dim=1).clamp(min=1e-16).sqrt()
