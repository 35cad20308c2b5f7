"""What SGR and SAF share (Diao et al. 2021, Similarity Reasoning and Filtration for Image-Text Matching):
a similarity vector for every word with the regions it attends to, and one for the whole image with the whole caption.

Equation numbers are those of the NCR supplement, section 2.
"""

import math
from abc import abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional

from model.backbones import attention
from model.backbones.augment import drop_regions
from model.backbones.base import Items, Matcher
from model.backbones.dropout import Dropout
from model.backbones.text import WordEncoder, word_mask
from model.options.backbones import SAFConfig


class SimilarityMatcher(Matcher):
    """Everything but how the similarity vectors of a pair become one: that is `infer`."""

    def __init__(self, options: SAFConfig, region_size: int, vocabulary_size: int) -> None:
        super().__init__()
        self._options = options
        size = options.embed_size
        self.regions = _linear(region_size, size)
        self.words = WordEncoder(options, vocabulary_size, is_normalised=True)
        self.whole_image = SelfAttention(size, options.dropout)
        self.whole_caption = SelfAttention(size, options.dropout)
        self.local = _linear(size, options.similarity_size)
        self.overall = _linear(size, options.similarity_size)
        self.logit = _linear(options.similarity_size, 1)

    @abstractmethod
    def infer(self, nodes: Tensor) -> Tensor:
        """(n, l + 1, S) similarity vectors of n pairs, the overall one first, to one vector (n, S) each."""

    @abstractmethod
    def floats(self, length: int) -> int:
        """How many floats `infer` keeps per pair for the backward pass."""

    def encode_images(self, images: Items) -> Items:
        (regions,) = images
        if self.training:
            regions = drop_regions(regions, self._options.region_dropout)
        embedded = functional.normalize(self.regions(regions), dim=2)  # (n, R, D)
        everywhere = embedded.new_ones(embedded.shape[:2], dtype=torch.bool)
        return embedded, self.whole_image(embedded, everywhere)

    def encode_captions(self, captions: Items) -> Items:
        words, lengths = self.words(captions), captions[1]
        return words, lengths, self.whole_caption(words, word_mask(lengths, words.shape[1]))

    def compare(self, images: Items, captions: Items) -> Tensor:
        options, regions = self._options, images[0].shape[1]

        def floats_per_cell(length: int) -> int:
            # Affinities to scaled weights; differences and their squares; vectors before and after normalising.
            local = length * (6 * regions + 2 * options.embed_size + 2 * options.similarity_size)
            return local + 2 * options.embed_size + self.floats(length)

        return attention.in_blocks(self._logits, images, captions, floats_per_cell, options.block_megabytes)

    def similarity(self, raw: Tensor) -> Tensor:
        return raw.sigmoid()

    def signed(self, raw: Tensor) -> Tensor:
        return raw.tanh()

    def _logits(self, images: Items, captions: Items) -> Tensor:
        nodes = torch.cat([self._overall(images[1], captions[1]), self._local(images[0], captions[0])], dim=2)
        logits: Tensor = self.logit(self.infer(nodes.flatten(end_dim=1)))
        return logits.view(nodes.shape[:2])

    def _local(self, regions: Tensor, words: Tensor) -> Tensor:
        """(I, c, l, S), Eq. 3."""
        affinity = attention.affinities(regions, words)  # (c, l, I, R)
        weights = attention.attend_to_regions(affinity, self._options.lambda_softmax)
        weights = weights / attention.attended_region_norms(weights, regions)[..., None]
        flat = words.flatten(end_dim=1)  # (c * l, D)
        differences = torch.baddbmm(flat[None], attention.by_image(weights), regions, beta=-1)  # (I, c * l, D)
        return self._vectors(self.local, differences).view(len(regions), *words.shape[:2], -1)

    def _overall(self, images: Tensor, captions: Tensor) -> Tensor:
        """(I, c, 1, S), Eq. 2."""
        return self._vectors(self.overall, images[:, None, None] - captions[None, :, None])

    def _vectors(self, weight: nn.Module, differences: Tensor) -> Tensor:
        """Eq. 1, with the denominator of the SGRAF paper and of all releases: the length of the numerator.
        What the supplement prints there would divide a vector by a vector."""
        return attention.unit(weight(differences.square()), dim=-1)


class SelfAttention(nn.Module):
    """One unit vector from many (n, L, D): a weighted sum, the weights asked for by the plain mean."""

    def __init__(self, size: int, dropout: float) -> None:
        super().__init__()
        # The release has a batch norm over the region axis, which fixes the number of regions to 36, and over the
        # batch. A layer norm over the features takes any number, and no item's vector depends on its batch.
        self.each = _gate(size, dropout)
        self.mean = _gate(size, dropout)
        self.score = _linear(size, 1)

    def forward(self, vectors: Tensor, is_there: Tensor) -> Tensor:
        mean = vectors.sum(dim=1) / is_there.sum(dim=1, keepdim=True)  # (n, D); what is not there is 0
        scores = self.score(self.each(vectors) * self.mean(mean)[:, None]).squeeze(2)  # (n, L)
        weights = scores.masked_fill(~is_there, -math.inf).softmax(dim=1)
        return functional.normalize((weights[:, None] @ vectors).squeeze(1), dim=1)


def _gate(size: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(_linear(size, size), nn.LayerNorm(size), nn.Tanh(), Dropout(dropout))


def _linear(inputs: int, outputs: int) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    nn.init.xavier_uniform_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer
