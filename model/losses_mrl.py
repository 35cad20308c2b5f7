"""MRL's two losses as pure functions: Hu et al. 2021, Learning Cross-Modal Retrieval with Noisy Labels.

One value per pair, no reduction. The equations are its robust clustering loss L_r and its multimodal
contrastive loss L_c (Eq. 6); all vectors have unit length.
"""

import torch
from torch import Tensor


def category_log_probabilities(vectors: Tensor, centres: Tensor, temperature: float) -> Tensor:
    """(B, K) log of p = softmax(z C / tau_1), for vectors (B, D) and centres (D, K)."""
    return (vectors @ centres / temperature).log_softmax(dim=1)


def robust_clustering(log_probabilities: Tensor, labels: Tensor) -> Tensor:
    """L_r of one modality, (B,): log(1 - p_y). Its gradient by the logit of y is -p_y, so a label that the
    network finds unlikely teaches next to nothing; cross entropy would insist on it."""
    given = torch.zeros_like(log_probabilities, dtype=torch.bool).scatter_(1, labels[:, None], True)
    # The sum over the other categories instead of 1 - p_y: exact where p_y rounds to 1.
    return log_probabilities.masked_fill(given, -torch.inf).logsumexp(dim=1)


def multimodal_contrastive(images: Tensor, captions: Tensor, forbidden: Tensor, temperature: float) -> Tensor:
    """L_c, Eq. 6, (B,): both views of every pair ask for the other one among all views of the batch.

    Without the view itself in the sum, as the released code has it (with itself the loss could not reach 0).
    """
    count = len(images)
    views = torch.cat([images, captions])  # (2B, D)
    logits = views @ views.T / temperature  # (2B, 2B)
    other = torch.eye(count, dtype=torch.bool, device=views.device)
    # Shared content is no negative, also not inside one modality; only the view's own partner remains.
    masked = torch.cat([torch.cat([forbidden, forbidden & ~other], 1), torch.cat([forbidden & ~other, forbidden], 1)])
    taken = logits.masked_fill(masked, torch.finfo(logits.dtype).min / 2).log_softmax(dim=1)
    return -(taken[:count, count:].diagonal() + taken[count:, :count].diagonal())
