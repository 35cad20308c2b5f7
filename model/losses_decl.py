"""DECL's equations as pure functions of the (B, B) matrix of signed scores: one value per pair, no reduction.

Row = image, column = caption, the given pairs on the diagonal; a query is a row (an image) or a column (a caption).
Equation numbers are those of the supplement of Qin et al. 2022, Deep Evidential Learning with Noisy Correspondence.
A class with shared content (`forbidden` off the diagonal) is absent: it has no evidence and does not count in K.
"""

import torch
from torch import Tensor


def evidence(signed: Tensor, forbidden: Tensor, temperature: float) -> Tensor:
    """E = exp(t / tau) of every image with every caption, 0 where the class is absent: (B, B)."""
    return (signed / temperature).exp() * _present(forbidden)


def dirichlet(signed: Tensor, forbidden: Tensor, temperature: float) -> Tensor:
    """alpha = E + 1 of image queries, one per row (B, B); its transpose is that of caption queries. Absent: 0."""
    return evidence(signed, forbidden, temperature) + _present(forbidden)


def expected_error(alpha: Tensor, label: Tensor) -> Tensor:
    """L_m of Eq. 1: E||y - p||^2 under Dir(alpha) for every row, y being the label (B,) on the diagonal, else 0."""
    total = alpha.sum(dim=1, keepdim=True)  # (B, 1) L_i
    mean = alpha / total
    # The last line of Eq. 1: the one before squares L_i, which overflows at small temperatures.
    return ((torch.diag(label) - mean).square() + mean * (1 - mean) / (total + 1)).sum(dim=1)


def divergence(alpha: Tensor, label: Tensor) -> Tensor:
    """L_kl of Eq. 5: KL[Dir(y + (1 - y) alpha) || Dir(1)] for every row, over the classes that are present."""
    # Terms as large as 1e7 cancel down to a few units: float32 would leave no digit of them.
    precise = alpha.double()
    is_present = precise > 0
    y = torch.diag(label).double()
    kept = torch.where(is_present, y + (1 - y) * precise, 1.0)  # (B, B) alpha-tilde; a 1 adds nothing below
    total = torch.where(is_present, kept, 0.0).sum(dim=1, keepdim=True)
    count = is_present.sum(dim=1).double()  # (B,) K
    spread = total.squeeze(1).lgamma() - count.lgamma() - kept.lgamma().sum(dim=1)
    return (spread + ((kept - 1) * (kept.digamma() - total.digamma())).sum(dim=1)).to(alpha.dtype)


def evidential(
    signed: Tensor, forbidden: Tensor, label: Tensor, temperature: float, divergence_weight: float
) -> Tensor:
    """L_e = L_m + lambda2 L_kl of both directions, with the alignment label l (B,) of each pair."""
    alpha = dirichlet(signed, forbidden, temperature)
    errors = expected_error(alpha, label) + expected_error(alpha.T, label)
    return errors + divergence_weight * (divergence(alpha, label) + divergence(alpha.T, label))


def hinge_negatives(batch_size: int, step: int, annealing: float, least: int) -> int:
    """n of the robust dynamic hinge: from the whole batch down to mu, by eta with every step."""
    return max(int(batch_size - annealing * step), least)


def dynamic_hinge(signed: Tensor, forbidden: Tensor, margin: float, negatives: int) -> Tensor:
    """L_h, robust dynamic hinge: the mean cost of the n hardest negatives, both directions added."""
    given = signed.diagonal()
    rows = (margin + signed - given[:, None]).clamp(min=0).masked_fill(forbidden, 0.0)  # (B, B)
    columns = (margin + signed - given[None, :]).clamp(min=0).masked_fill(forbidden, 0.0)
    taken = min(negatives, len(signed))
    # A query with fewer negatives than n is averaged over those it has; the mask is symmetric.
    usable = (~forbidden).sum(dim=1).clamp(min=1, max=taken)
    return (rows.topk(taken, dim=1).values.sum(dim=1) + columns.topk(taken, dim=0).values.sum(dim=0)) / usable


def alignment(signed: Tensor, forbidden: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """l_i = [argmax_j G_ij = i] and G_ii, with G = (E + E^T) / its row sums: (B,) each. A tie is the pair's."""
    both = evidence(signed, forbidden, temperature)
    both = both + both.T
    shares = both / both.sum(dim=1, keepdim=True)
    given = shares.diagonal()
    return (given >= shares.amax(dim=1)).to(signed.dtype), given


def uncertainty(signed: Tensor, forbidden: Tensor, temperature: float) -> Tensor:
    """u = K / L_i, the mean of both directions (the paper adds them): (B,) in (0, 1], 1 without any evidence."""
    alpha = dirichlet(signed, forbidden, temperature)
    count = (alpha > 0).sum(dim=1)
    return count * (1 / alpha.sum(dim=1) + 1 / alpha.sum(dim=0)) / 2


def _present(forbidden: Tensor) -> Tensor:
    return ~forbidden | torch.eye(len(forbidden), dtype=torch.bool, device=forbidden.device)
