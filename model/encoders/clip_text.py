"""Captions through a text tower of open_clip, computed only to the longest caption of a batch where that is exact.

In a tower with a causal mask that reads its result at the end-of-text token, what follows that token changes nothing.
"""

from collections.abc import Sequence
from typing import Any

import torch

CHARACTERS_PER_TOKEN = 16  # of a caption are read; the tokenizer's time grows with the square of a word's length
MAX_CACHED_WORDS = 200_000  # the tokenizer keeps every word it has seen


class CappedTokenizer:
    """In bounded time and memory, whatever the captions are."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._characters = CHARACTERS_PER_TOKEN * tokenizer.context_length
        self._first_words = dict(tokenizer.cache) if hasattr(tokenizer, "cache") else None

    def __call__(self, captions: Sequence[str]) -> torch.Tensor:  # (n, context length)
        if not captions:
            return torch.empty(0, self._tokenizer.context_length, dtype=torch.long)
        if self._first_words is not None and len(self._tokenizer.cache) > MAX_CACHED_WORDS:
            self._tokenizer.cache = dict(self._first_words)
        tokens: torch.Tensor = self._tokenizer([" ".join(caption.split())[: self._characters] for caption in captions])
        return tokens


class TextTower:
    def __init__(self, network: Any) -> None:
        from open_clip.model import CLIP
        from open_clip.transformer import TextTransformer

        self._network = network
        self._tower: Any = None
        self._pooling, self._end_token = "", -1
        if isinstance(network, CLIP):  # keeps the parts of its text tower itself
            self._set(network, network.text_pool_type, network.text_eos_id)
        elif isinstance(network.text, TextTransformer) and network.text.cls_emb is None:
            self._set(network.text, network.text.pool_type, network.text.eos_id)

    def _set(self, tower: Any, pooling: str, end_token: int) -> None:
        if tower.attn_mask is not None and pooling in ("argmax", "eos"):
            self._tower, self._pooling, self._end_token = tower, pooling, end_token

    @property
    def is_short(self) -> bool:
        """Captions are computed only to their end."""
        return self._tower is not None

    def lengths(self, tokens: torch.Tensor) -> torch.Tensor:  # (n, context) -> (n,)
        """How many tokens of each caption matter."""
        if not self.is_short:
            return torch.full((len(tokens),), tokens.shape[1])
        return self._ends(tokens) + 1

    def encode(self, tokens: torch.Tensor) -> torch.Tensor:  # (B, context) -> (B, D) of length 1
        if not self.is_short:
            vectors: torch.Tensor = self._network.encode_text(tokens, normalize=True)
            return vectors
        tower, ends = self._tower, self._ends(tokens)
        length = int(ends.max()) + 1
        states = tower.token_embedding(tokens[:, :length]) + tower.positional_embedding[:length]  # (B, L, W)
        states = tower.transformer(states, attn_mask=tower.attn_mask[:length, :length])
        pooled = tower.ln_final(states[torch.arange(len(states), device=states.device), ends])  # (B, W)
        return torch.nn.functional.normalize(_project(tower.text_projection, pooled), dim=-1)

    def _ends(self, tokens: torch.Tensor) -> torch.Tensor:
        """Where the tower reads its result, by its own rule."""
        return (tokens if self._pooling == "argmax" else (tokens == self._end_token).int()).argmax(dim=-1)


def _project(projection: Any, pooled: torch.Tensor) -> torch.Tensor:
    if projection is None:
        return pooled
    projected: torch.Tensor = projection(pooled) if isinstance(projection, torch.nn.Linear) else pooled @ projection
    return projected
