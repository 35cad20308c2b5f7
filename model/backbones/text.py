"""The caption encoder of all backbones that read words: learned word vectors and a bidirectional GRU."""

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from model.backbones.augment import drop_words
from model.backbones.base import Items
from model.backbones.dropout import Dropout
from model.options.backbones import WordsConfig


class WordEncoder(nn.Module):
    """(tokens (n, L), lengths (n,)) to one vector per word in its context (n, L, D), exactly 0 where padded."""

    def __init__(self, options: WordsConfig, vocabulary_size: int, is_normalised: bool) -> None:
        super().__init__()
        self._word_dropout = options.word_dropout
        self._is_normalised = is_normalised
        self.embedding = nn.Embedding(vocabulary_size, options.word_size)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        self.dropout = Dropout(options.dropout)
        self.recurrent = nn.GRU(options.word_size, options.embed_size, batch_first=True, bidirectional=True)

    def forward(self, captions: Items) -> Tensor:
        tokens, lengths = captions
        if self.training:
            tokens = drop_words(tokens, self._word_dropout)
        packed = pack_padded_sequence(
            self.dropout(self.embedding(tokens)), lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        # The whole batch's length, also where this process has only a share of it.
        states, _ = pad_packed_sequence(self.recurrent(packed)[0], batch_first=True, total_length=tokens.shape[1])
        forwards, backwards = states.chunk(2, dim=2)
        words = (forwards + backwards) / 2  # (n, L, D)
        return functional.normalize(words, dim=2) if self._is_normalised else words


def word_mask(lengths: Tensor, longest: int) -> Tensor:
    """(n, L), True where there is a word."""
    return torch.arange(longest, device=lengths.device) < lengths[:, None]
