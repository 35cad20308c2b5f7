"""The networks that are trained together, with their inputs, optimisers and random state."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from model.backbones.head import Head, Standard, fit_standard
from model.config import RunConfig
from model.pairs import Identity, Pairs, Side, gather
from model.training import Batch, Judge


class Networks:
    """Gives the similarity of any rows of the collection, learns by steps, saves and loads itself."""

    def __init__(self, pairs: Pairs, config: RunConfig, device: torch.device, saved: dict[str, Any] | None) -> None:
        self._config = config
        self._device = device
        self._count = len(pairs)
        self._identity = Identity(pairs, device)
        features = (pairs.images, pairs.captions)
        size = config.backbone_options.input_size
        if saved is None:
            standards = [fit_standard(side, size) for side in features]
        else:
            standards = [Standard(**tensors) for tensors in saved["standards"]]
        self._standards = [standard.to(device) for standard in standards]
        self._sides = [
            Side(side, standard, standard.basis.shape[1], device)
            for side, standard in zip(features, self._standards, strict=True)
        ]
        self.renew()
        if saved is not None:
            self._load(saved)

    def renew(self) -> None:
        """Newly drawn weights, new optimisers."""
        sizes = [standard.basis.shape[1] for standard in self._standards]
        options = self._config.backbone_options
        self._networks = [Head(options, *sizes).to(self._device) for _ in range(self._config.networks)]
        self._optimisers = [
            torch.optim.AdamW(
                network.parameters(),
                lr=self._config.method_options.learning_rate,
                weight_decay=self._config.weight_decay,
                fused=True,
            )
            for network in self._networks
        ]

    def batch(self, k: int, rows: Tensor) -> Batch:
        """These rows as network k sees them, ready for learning."""
        return self._batch(self._networks[k].train(), rows)

    def step(self, k: int, loss: Tensor) -> None:
        network, optimiser = self._networks[k], self._optimisers[k]
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(network.parameters(), self._config.gradient_clip)
        optimiser.step()

    def look(self, k: int, judge: Judge, size: int, generator: torch.Generator, poll: Callable[[], None]) -> Tensor:
        """Map `judge` over the collection in random batches, network k in evaluation mode: (N, ...)."""
        order = torch.randperm(self._count, generator=generator)
        # The last batch is filled from the start: every pair meets the same number of negatives.
        order = torch.cat([order, order[: -self._count % size]])
        network = self._networks[k].eval()
        found = []
        with torch.inference_mode():
            for rows in torch.split(order, size):
                poll()
                batch = self._batch(network, rows)
                found.append(judge(batch.similarity, batch.forbidden).cpu())
        values = torch.cat(found)[: self._count]
        out = torch.empty(values.shape)
        out[order[: self._count]] = values
        return out

    def similarities(self, images: Any, captions: Any) -> npt.NDArray[np.float32]:
        """(images, captions) matrix of the mean similarity, for features from anywhere."""
        sides = [
            standard(gather(features, np.arange(len(features))).to(self._device))
            for standard, features in zip(self._standards, (images, captions), strict=True)
        ]
        with torch.inference_mode():
            total = torch.stack([network.eval()(*sides) for network in self._networks]).mean(dim=0)
        return total.cpu().numpy()

    def state(self) -> dict[str, Any]:
        return {
            "networks": [network.state_dict() for network in self._networks],
            "optimisers": [optimiser.state_dict() for optimiser in self._optimisers],
            "standards": [standard.state_dict() for standard in self._standards],
            "torch_rng": torch.get_rng_state(),
            "cuda_rng": torch.cuda.get_rng_state(self._device) if self._device.type == "cuda" else None,
        }

    def _load(self, state: dict[str, Any]) -> None:
        for network, saved in zip(self._networks, state["networks"], strict=True):
            network.load_state_dict(saved)
        for optimiser, saved in zip(self._optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(saved)
        torch.set_rng_state(state["torch_rng"])
        if state["cuda_rng"] is not None and self._device.type == "cuda":
            torch.cuda.set_rng_state(state["cuda_rng"], self._device)

    def _batch(self, network: Head, rows: Tensor) -> Batch:
        similarity = network(self._sides[0][rows], self._sides[1][rows])
        return Batch(rows, similarity, self._identity.forbidden(rows))
