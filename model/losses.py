"""The papers' equations as pure functions of the (B, B) similarity matrix: one value per pair, no reduction.

Row = image, column = caption, the given pairs on the diagonal. `forbidden` is True where pairs i and j share an
image or a caption, the diagonal included: never a negative. CRCL = Qin et al. 2023;
LNC = Learning with Noisy Correspondence, whose Eq. 1-3 and 8-11 are NCR's.
"""

import math
from typing import Literal

import torch
from torch import Tensor

Negatives = Literal["sum", "mean", "active", "hardest"]

# Share of a batch that anchors a correspondence of 1 (the text below LNC Eq. 9).
_ANCHOR_SHARE = 0.1


def triplet(similarity: Tensor, forbidden: Tensor, margin: Tensor, negatives: Negatives) -> Tensor:
    """LNC Eq. 2 (sum, or its mean) and Eq. 10 (hardest), both directions, with one margin per pair (B,).

    `active` is the mean over the negatives that violate the margin: that of all at first, of hard ones later.
    """
    given = similarity.diagonal()
    # The margin belongs to the query: row i when an image asks, column j when a caption asks.
    rows = (margin[:, None] + similarity - given[:, None]).clamp(min=0).masked_fill(forbidden, 0.0)  # (B, B)
    columns = (margin[None, :] + similarity - given[None, :]).clamp(min=0).masked_fill(forbidden, 0.0)
    if negatives == "hardest":
        return rows.amax(dim=1) + columns.amax(dim=0)
    if negatives == "active":
        violated = (rows > 0).sum(dim=1), (columns > 0).sum(dim=0)  # (B,) each
        return rows.sum(dim=1) / violated[0].clamp(min=1) + columns.sum(dim=0) / violated[1].clamp(min=1)
    if negatives == "mean":
        usable = (~forbidden).sum(dim=1).clamp(min=1)  # the mask is symmetric: the same for both directions
        return (rows.sum(dim=1) + columns.sum(dim=0)) / usable
    return rows.sum(dim=1) + columns.sum(dim=0)


def soft_margin(label: Tensor, margin: float, kind: str, base: float = 10.0, centre: float = 0.5) -> Tensor:
    """LNC Eq. 11, Psi_1 to Psi_4: a soft label (B,) as a margin (B,). `base` is m of Fig. 7, `centre` is div."""
    if kind == "linear":
        return label * margin
    if kind == "exponential":
        return (base**label - 1.0) / (base - 1.0) * margin
    if kind == "sin":
        return (torch.sin(math.pi * label - math.pi / 2) / 2 + 0.5) * margin
    if kind == "sigmoid":
        # Below div = 0.4 the paper's slope is negative: the worst pairs would get the largest margins. Below 0.5
        # it is therefore held at its value there, 10.
        slope = max(10.0, 10.0 + 100.0 * (centre - 0.5))
        return torch.sigmoid(slope * (label - centre)) * margin
    raise ValueError(f"unknown soft margin {kind!r}")


def predict(similarity: Tensor, forbidden: Tensor, margin: float) -> Tensor:
    """LNC Eq. 9: P(v, t) in [0, 1], the lead of a pair over its mean negatives, the best tenth being 1."""
    allowed = (~forbidden).to(similarity.dtype)
    usable = allowed.sum(dim=1).clamp(min=1)
    negatives = ((similarity * allowed).sum(dim=1) + (similarity * allowed).sum(dim=0)) / usable / 2  # (B,)
    clamped = (similarity.diagonal() - negatives).clamp(0, margin)
    # tau over the clamped values: over the raw ones no pair could reach 1 once the best exceed the margin.
    anchors = max(1, round(len(clamped) * _ANCHOR_SHARE))
    tau = clamped.detach().topk(anchors).values.mean()
    return (clamped / tau.clamp(min=1e-8)).clamp(max=1.0)


def momentum_regularisation(prediction: Tensor, target: Tensor) -> Tensor:
    """LNC Eq. 4 before its mean: how far P (B,) went from gamma (B,), the past predictions of Eq. 5."""
    return (prediction - target).square()


def matching_log_probabilities(similarity: Tensor, forbidden: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """CRCL Eq. 3 in logarithms, (B, B) each: captions given an image, images given a caption."""
    diagonal = torch.eye(len(similarity), dtype=torch.bool, device=similarity.device)
    # Finite instead of -inf: the gradient of a masked entry must be 0, not NaN.
    logits = (similarity / temperature).masked_fill(forbidden & ~diagonal, torch.finfo(similarity.dtype).min / 2)
    return logits.log_softmax(dim=1), logits.log_softmax(dim=0)


def matching_probability(similarity: Tensor, forbidden: Tensor, temperature: float) -> Tensor:
    """CRCL, below Eq. 10: the average of both directions' probabilities of the given pair."""
    captions, images = matching_log_probabilities(similarity, forbidden, temperature)
    return (captions.diagonal().exp() + images.diagonal().exp()) / 2


def active(log_probabilities: tuple[Tensor, Tensor]) -> Tensor:
    """CRCL, L_d above Eq. 8, without its label: -(log p_ii + log p_ii) of both directions."""
    captions, images = log_probabilities
    return -(captions.diagonal() + images.diagonal())


def complementary(log_probabilities: tuple[Tensor, Tensor], q: Tensor) -> Tensor:
    """CRCL Eq. 6: what the negatives take, tamed by the power q in [0, 1] per pair (B,)."""
    captions, images = log_probabilities
    return _complementary(captions, q) + _complementary(images.T, q)


def _complementary(log_probabilities: Tensor, q: Tensor) -> Tensor:
    tangents = log_probabilities.exp().tan()  # (B, B); a row sums to at least 1, so the power is safe
    total = tangents.sum(dim=1)
    return (total - tangents.diagonal()) / total**q
