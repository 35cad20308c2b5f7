"""The `vse_infinity` backbone: Chen et al. 2021, Learning the Best Pooling Strategy for Visual Semantic Embedding.

Both sides become one vector by a generalised pooling operator (GPO): per feature, values are sorted and summed
with learned weights of their ranks, so that mean and max pooling are special cases.
"""

import math
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from model.backbones.augment import drop_regions
from model.backbones.base import Items, Matcher
from model.backbones.dropout import Dropout
from model.backbones.text import WordEncoder, word_mask
from model.options.backbones import VSEInfinityConfig


class VSEInfinity(Matcher):
    """S(v, t) is the cosine of the pooled vectors."""

    gives_vectors: ClassVar[bool] = True

    def __init__(self, options: VSEInfinityConfig, region_size: int, vocabulary_size: int) -> None:
        super().__init__()
        self._region_dropout = options.region_dropout
        self.linear = nn.Linear(region_size, options.embed_size)
        # The release has a batch norm here. A layer norm does the same for an image whatever else is in its
        # batch, or in its share of the batch when several processes train together.
        self.mlp = nn.Sequential(
            nn.Linear(region_size, options.hidden_size),
            nn.LayerNorm(options.hidden_size),
            nn.ReLU(),
            Dropout(options.dropout),
            nn.Linear(options.hidden_size, options.embed_size),
        )
        self.words = WordEncoder(options, vocabulary_size, is_normalised=False)
        self.image_pooling = Pooling(options.position_size, options.pooling_temperature)
        self.caption_pooling = Pooling(options.position_size, options.pooling_temperature)

    def encode_images(self, images: Items) -> Items:
        (regions,) = images  # (n, R, D)
        if self.training:
            regions = drop_regions(regions, self._region_dropout)
        embedded = self.linear(regions) + self.mlp(regions)
        counts = torch.full((len(regions),), regions.shape[1], device=regions.device)
        return (functional.normalize(self.image_pooling(embedded, counts), dim=1),)

    def encode_captions(self, captions: Items) -> Items:
        return (functional.normalize(self.caption_pooling(self.words(captions), captions[1]), dim=1),)

    def compare(self, images: Items, captions: Items) -> Tensor:
        return images[0] @ captions[0].T


class Pooling(nn.Module):
    """GPO: what rank counts how much is told by a small GRU that reads codes of the ranks."""

    def __init__(self, size: int, temperature: float) -> None:
        super().__init__()
        self._size = size
        self._temperature = temperature
        self.recurrent = nn.GRU(size, size, batch_first=True, bidirectional=True)
        self.score = nn.Linear(size, 1, bias=False)

    def forward(self, features: Tensor, lengths: Tensor) -> Tensor:
        """(n, L, D) of which the first `lengths` count, to (n, D)."""
        weights = self.weights(lengths, features.shape[1])  # (n, L)
        is_padded = ~word_mask(lengths, features.shape[1])[:, :, None]
        lowest = torch.finfo(features.dtype).min
        # Sorting runs along the last dimension several times faster than along another one.
        columns = features.masked_fill(is_padded, lowest).transpose(1, 2).contiguous()  # (n, D, L)
        ranked = columns.sort(dim=2, descending=True).values.masked_fill(is_padded.transpose(1, 2), 0.0)
        return (ranked @ weights[:, :, None]).squeeze(2)

    def weights(self, lengths: Tensor, longest: int) -> Tensor:
        """(n, L) weights of the ranks, summing to 1; they depend on the length only, so each is worked out once."""
        distinct, place = torch.unique(lengths, return_inverse=True)
        codes = position_codes(longest, self._size).to(self.score.weight)
        packed = pack_padded_sequence(
            codes.expand(len(distinct), -1, -1), distinct.cpu(), batch_first=True, enforce_sorted=False
        )
        states, _ = pad_packed_sequence(self.recurrent(packed)[0], batch_first=True, total_length=longest)
        forwards, backwards = states.chunk(2, dim=2)
        scores = self.score((forwards + backwards) / 2).squeeze(2)  # (distinct lengths, L)
        scores = scores.masked_fill(~word_mask(distinct, longest), -math.inf)
        shares: Tensor = (scores / self._temperature).softmax(dim=1)
        return shares[place]


def position_codes(count: int, size: int) -> Tensor:
    """(count, size) sines and cosines of the positions at falling frequencies."""
    frequencies = torch.exp(torch.arange(0, size, 2) * (-math.log(10000.0) / size))
    angles = torch.arange(count)[:, None] * frequencies  # (count, size / 2)
    return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(start_dim=1)[:, :size]
