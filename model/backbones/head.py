"""The `head` backbone: pooled features, two small projection networks, cosine similarity.

Features are first centred and turned onto their principal components, learned from the collection without any
gradient. The components keep their own scale: whitening them raises what is mere noise in the encoder.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from model.backbones.base import Matcher
from model.config import HeadConfig
from model.pairs import gather

# More rows than this do not change the components; evenly spaced, so the choice is the same every time.
_FIT_ROWS = 8192


class Standard(nn.Module):
    """Fixed centring and projection of one side's features; its tensors are saved with the networks."""

    mean: Tensor  # (D,)
    basis: Tensor  # (D, components)

    def __init__(self, mean: Tensor, basis: Tensor) -> None:
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("basis", basis)

    def forward(self, features: Tensor) -> Tensor:
        return (features - self.mean) @ self.basis


def fit_standard(features: Any, components: int) -> Standard:
    """Centre, principal components and one common scale, from (a fixed sample of) the collection."""
    count = len(features)
    rows = np.unique(np.linspace(0, count - 1, min(count, _FIT_ROWS)).astype(np.int64))
    sample = gather(features, rows).double()
    mean = sample.mean(dim=0)
    covariance = torch.cov(sample.T)
    values, vectors = torch.linalg.eigh(covariance)  # ascending
    kept = min(components, len(values), max(1, len(rows) - 1))
    basis = vectors.flip(1)[:, :kept]
    # eigh leaves the sign open; this makes it a function of the data alone.
    largest = basis.abs().argmax(dim=0)
    basis = basis * basis[largest, torch.arange(kept)].sign()
    spread = values.flip(0)[:kept].clamp(min=0).mean().sqrt()
    return Standard(mean.float(), (basis / spread.clamp(min=1e-6)).float())


class Head(Matcher):
    """One hidden layer per side; S(v, t) is the cosine in the common space."""

    def __init__(self, options: HeadConfig, image_size: int, caption_size: int) -> None:
        super().__init__()
        self.images = _projection(options, image_size)
        self.captions = _projection(options, caption_size)

    def encode(self, images: Tensor, captions: Tensor) -> tuple[Tensor, Tensor]:
        return functional.normalize(self.images(images), dim=1), functional.normalize(self.captions(captions), dim=1)

    def similarity(self, images: Tensor, captions: Tensor) -> Tensor:
        return images @ captions.T


def _projection(options: HeadConfig, size: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Dropout(options.dropout),
        nn.Linear(size, options.hidden_size),
        nn.ReLU(),
        nn.Dropout(options.dropout),
        nn.Linear(options.hidden_size, options.output_size),
    )
