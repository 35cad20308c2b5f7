"""Networks of a finished training, without the collection they learned from: they only look."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from model import checkpoint
from model.backbones.base import Items
from model.backbones.registry import BACKBONES
from model.config import RunConfig, config_hash
from model.errors import TrainingError
from model.inputs import FeatureReader, load_reader
from model.pairs import Pairs

Ints = npt.NDArray[np.int64]


class Trained:
    """Both sides of pairs from anywhere, as the networks see them."""

    def __init__(self, config: RunConfig, saved: dict[str, Any], device: str = "cpu") -> None:
        self.config = config
        self._device = torch.device(device)
        self._readers = [load_reader(state) for state in saved["readers"]]
        widths = [reader.width for reader in self._readers]
        self._networks = []
        with torch.random.fork_rng(devices=[]):  # the weights drawn here are replaced at once
            for state in saved["networks"]:
                network = BACKBONES[config.backbone](config.backbone_options, *widths)
                network.load_state_dict(state)
                self._networks.append(network.to(self._device).eval())

    @classmethod
    def load(cls, folder: Path, config: RunConfig, count: int, device: str = "cpu") -> "Trained":
        """From the checkpoints of a training on `count` pairs, probes included."""
        saved = checkpoint.load_newest(folder, config_hash(config), count)
        if saved is None:
            raise TrainingError(f"{folder} holds no usable checkpoint")
        return cls(config, saved, device)

    def __len__(self) -> int:
        return len(self._networks)

    @property
    def gives_vectors(self) -> bool:
        return self._networks[0].gives_vectors

    def sources(self, pairs: Pairs) -> tuple[Any, Any]:
        """What the networks read of each side."""
        captions = pairs.texts if self.config.backbone_options.reads_words else pairs.captions
        if captions is None:
            raise TrainingError(f"the backbone {self.config.backbone} reads words: the captions themselves are needed")
        reader = self._readers[0]
        if isinstance(reader, FeatureReader) and pairs.images.shape[-1] != len(reader.mean):
            raise TrainingError(
                f"the images have {pairs.images.shape[-1]} features, the networks learned from {len(reader.mean)}"
            )
        return pairs.images, captions

    def read(self, side: int, source: Any, rows: Ints) -> Items:
        """Items of the images (side 0) or captions (1), as all networks take them."""
        return self._readers[side](source, rows)

    def encode(self, network: int, side: int, items: Items) -> Items:
        name = ("encode_images", "encode_captions")[side]
        with torch.inference_mode():
            found: Items = getattr(self._networks[network], name)(tuple(part.to(self._device) for part in items))
            return found

    def compare(self, network: int, images: Items, captions: Items) -> Tensor:
        """(images, captions) score in [-1, 1] of encoded items."""
        with torch.inference_mode():
            chosen = self._networks[network]
            return chosen.signed(chosen.compare(images, captions)).float().cpu()

    def vectors(self, side: int, source: Any) -> "Vectors":
        return Vectors(self, side, source)


class Vectors:
    """One side as the networks see it, side by side: an array to index, computed when asked for."""

    def __init__(self, trained: Trained, side: int, source: Any) -> None:
        self._trained, self._side, self._source = trained, side, source
        self.shape = (len(source), self[np.zeros(1, np.int64)].shape[1])

    def __len__(self) -> int:
        return len(self._source)

    def __getitem__(self, rows: Ints) -> npt.NDArray[np.float32]:
        items = self._trained.read(self._side, self._source, rows)
        encoded = [self._trained.encode(k, self._side, items)[0] for k in range(len(self._trained))]
        return torch.cat(encoded, dim=1).float().cpu().numpy()
