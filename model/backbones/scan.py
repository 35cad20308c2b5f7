"""The `scan` backbone: Lee et al. 2018, Stacked Cross Attention for Image-Text Matching.

Every word is compared with the regions it attends to, or every region with its words; the cosines are aggregated.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from model.backbones import attention
from model.backbones.augment import drop_regions
from model.backbones.base import Items, Matcher
from model.backbones.text import WordEncoder
from model.options.backbones import SCANConfig


class SCAN(Matcher):
    """S(v, t) is the aggregated cosine: in [-1, 1] for mean and max, beyond that for lse and sum."""

    def __init__(self, options: SCANConfig, region_size: int, vocabulary_size: int) -> None:
        super().__init__()
        self._options = options
        self.regions = nn.Linear(region_size, options.embed_size)
        nn.init.xavier_uniform_(self.regions.weight)
        nn.init.zeros_(self.regions.bias)
        self.words = WordEncoder(options, vocabulary_size, is_normalised=True)

    def encode_images(self, images: Items) -> Items:
        (regions,) = images
        if self.training:
            regions = drop_regions(regions, self._options.region_dropout)
        return (functional.normalize(self.regions(regions), dim=2),)

    def encode_captions(self, captions: Items) -> Items:
        return self.words(captions), captions[1]

    def compare(self, images: Items, captions: Items) -> Tensor:
        regions = images[0].shape[1]
        # Affinities, their normalised form, the weights, and two products of them.
        return attention.in_blocks(
            self._scores, images, captions, lambda length: 6 * regions * length, self._options.block_megabytes
        )

    def signed(self, raw: Tensor) -> Tensor:
        return raw if self._options.aggregation in ("mean", "max") else raw.tanh()

    def _scores(self, images: Items, captions: Items) -> Tensor:
        (regions,), (words,) = images, captions  # (I, R, D) and (c, l, D), unit vectors
        affinity = attention.affinities(regions, words)  # (c, l, I, R)
        # The product of a word with what it attends to is the weighted sum of its products with the regions.
        if self._options.direction == "text_to_image":
            weights = attention.attend_to_regions(affinity, self._options.lambda_softmax)
            cosines = (weights * affinity).sum(dim=3) / attention.attended_region_norms(weights, regions)  # (c, l, I)
            return self._aggregated(cosines, dim=1).T
        weights = attention.attend_to_words(affinity, self._options.lambda_softmax)
        cosines = (weights * affinity).sum(dim=1) / attention.attended_word_norms(weights, words)  # (c, I, R)
        return self._aggregated(cosines, dim=2).T

    def _aggregated(self, cosines: Tensor, dim: int) -> Tensor:
        kind, sharpness = self._options.aggregation, self._options.lambda_lse
        if kind == "lse":
            return torch.logsumexp(sharpness * cosines, dim=dim) / sharpness
        if kind == "max":
            return cosines.amax(dim=dim)
        return cosines.mean(dim=dim) if kind == "mean" else cosines.sum(dim=dim)
