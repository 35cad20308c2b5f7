"""The only training loop: networks, optimisers, batches, seeds, checkpoints, cancellation.

It knows no method by name; what is learned from which pairs is asked of the Method (model/training.py).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from model import checkpoint
from model.backbones.head import Head, Standard, fit_standard
from model.config import MIN_PAIRS, RunConfig, config_hash
from model.methods import METHODS
from model.pairs import Identity, Pairs, Side, gather
from model.training import Batch, Method, Phase, Scores, Step, TrainingError

__all__ = [
    "Batch",
    "Engine",
    "Method",
    "Pairs",
    "Phase",
    "Progress",
    "Scores",
    "Step",
    "Stopped",
    "TrainingError",
]

# Steps between two looks at should_stop and two reports of progress.
_POLL_STEPS = 8
# Keeps the draws of the closing survey apart from those of training.
_SCORING_SEED = 7919


class Stopped(Exception):
    """should_stop() asked for an end; what was checkpointed is kept and fit() goes on from there."""


@dataclass(frozen=True)
class Progress:
    phase: str
    epoch: int  # of the whole training, from 1
    epochs: int
    fraction: float  # of the whole training, 0 to 1


class Engine:
    """Trains `config.method` on the pairs; with a folder it checkpoints every epoch and resumes by itself."""

    def __init__(
        self,
        pairs: Pairs,
        config: RunConfig,
        folder: Path | None = None,
        device: str = "cpu",
        on_progress: Callable[[Progress], None] | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> None:
        if len(pairs) < MIN_PAIRS:
            raise TrainingError(f"{len(pairs)} pairs are too few to learn from; at least {MIN_PAIRS} are needed")
        self.config = config
        self._pairs = pairs
        self._folder = folder
        self._device = torch.device(device)
        self._on_progress = on_progress or (lambda progress: None)
        self._should_stop = should_stop or (lambda: False)
        self._identity = Identity(pairs, self._device)
        self._batch_size = min(config.batch_size, len(pairs))
        self._is_finished = False

    def fit(self) -> None:
        """Train to the end, from the newest good checkpoint if there is one; nothing to do when finished."""
        if self._is_finished:
            return
        cuda = [self._device] if self._device.type == "cuda" else []
        # Dropout and initial weights draw from torch's global generator: forked, so the caller's is untouched.
        with torch.random.fork_rng(devices=cuda):
            self._start()
            while self._done < len(self._plan):
                self._epoch(*self._plan[self._done])
                self._done += 1
                if self._done == len(self._plan):
                    self._close()
                self._save()
        self._is_finished = True

    def scores(self) -> Scores:
        """What the finished training says of every pair."""
        self._need_finished()
        return self._method.scores()

    def similarities(self, images: Any, captions: Any) -> npt.NDArray[np.float32]:
        """(images, captions) matrix of the networks' mean similarity, for features of any pairs."""
        self._need_finished()
        sides = [
            standard(gather(features, np.arange(len(features))).to(self._device))
            for standard, features in zip(self._standards, (images, captions), strict=True)
        ]
        with torch.inference_mode():
            total = torch.stack([network.eval()(*sides) for network in self._networks]).mean(dim=0)
        return total.cpu().numpy()

    # -- start, save, resume

    def _start(self) -> None:
        torch.manual_seed(self.config.seed)
        self._order = torch.Generator().manual_seed(self.config.seed)
        self._method = METHODS[self.config.method](self.config, len(self._pairs))
        self._plan = [(phase, epoch) for phase in self._method.phases() for epoch in range(phase.epochs)]
        self._done = 0
        digest = config_hash(self.config)
        state = checkpoint.load_newest(self._folder, digest, len(self._pairs)) if self._folder else None
        self._standardise(state)
        self._renew_networks()
        if state is not None:
            self._load(state)

    def _standardise(self, state: dict[str, Any] | None) -> None:
        size = self.config.backbone_options.input_size
        if state is None:
            self._standards = [
                fit_standard(self._pairs.images, size),
                fit_standard(self._pairs.captions, size),
            ]
        else:
            self._standards = [Standard(**saved) for saved in state["standards"]]
        self._standards = [standard.to(self._device) for standard in self._standards]
        self._sides = [
            Side(features, standard, standard.basis.shape[1], self._device)
            for features, standard in zip((self._pairs.images, self._pairs.captions), self._standards, strict=True)
        ]

    def _renew_networks(self) -> None:
        sizes = [standard.basis.shape[1] for standard in self._standards]
        self._networks = [
            Head(self.config.backbone_options, *sizes).to(self._device) for _ in range(self.config.networks)
        ]
        self._optimisers = [
            torch.optim.AdamW(
                network.parameters(),
                lr=self.config.method_options.learning_rate,
                weight_decay=self.config.weight_decay,
                fused=True,
            )
            for network in self._networks
        ]

    def _save(self) -> None:
        if self._folder is None:
            return
        state = {
            "config_hash": config_hash(self.config),
            "pairs": len(self._pairs),
            "done": self._done,
            "networks": [network.state_dict() for network in self._networks],
            "optimisers": [optimiser.state_dict() for optimiser in self._optimisers],
            "standards": [standard.state_dict() for standard in self._standards],
            "method": self._method.state(),
            "order": self._order.get_state(),
            "torch_rng": torch.get_rng_state(),
            "cuda_rng": torch.cuda.get_rng_state(self._device) if self._device.type == "cuda" else None,
        }
        checkpoint.save(self._folder, self._done, state)

    def _load(self, state: dict[str, Any]) -> None:
        self._done = state["done"]
        for part, saved in zip(self._networks, state["networks"], strict=True):
            part.load_state_dict(saved)
        for optimiser, saved in zip(self._optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(saved)
        self._method.load_state(state["method"])
        self._order.set_state(state["order"])
        torch.set_rng_state(state["torch_rng"])
        if state["cuda_rng"] is not None and self._device.type == "cuda":
            torch.cuda.set_rng_state(state["cuda_rng"], self._device)

    def _need_finished(self) -> None:
        if not self._is_finished:
            raise TrainingError("the training is not finished; call fit() first")

    # -- one epoch

    def _epoch(self, phase: Phase, epoch: int) -> None:
        if epoch == 0 and phase.fresh_networks and self._done > 0:
            self._renew_networks()
        self._report(phase, 0.0)
        if phase.is_surveyed:
            self._method.survey(phase, self._look_once)
        streams = []
        for k in range(self.config.networks):
            subsets = {name: rows for name, rows in self._method.subsets(phase, k).items() if len(rows) > 0}
            first = next(iter(subsets.values()))
            steps = max(1, len(first) // self._batch_size)
            streams.append((steps, {name: self._stream(rows) for name, rows in subsets.items()}))
        longest = max(steps for steps, _ in streams)
        for step in range(longest):
            if step % _POLL_STEPS == 0:
                self._report(phase, step / longest)
            for k, (steps, batches) in enumerate(streams):
                if step < steps:
                    self._step(phase, k, {name: next(rows) for name, rows in batches.items()})

    def _step(self, phase: Phase, k: int, rows: dict[str, Tensor]) -> None:
        network, optimiser = self._networks[k].train(), self._optimisers[k]
        batches = {name: self._batch(network, some) for name, some in rows.items()}
        loss = self._method.loss(Step(phase, k, batches))
        if not torch.isfinite(loss):
            raise TrainingError(
                f"the loss became {float(loss.detach())} in epoch {self._done + 1} ({phase.name}), network "
                f"{'AB'[k]}; try a smaller learning_rate, and check the features for extreme values"
            )
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(network.parameters(), self.config.gradient_clip)
        optimiser.step()

    def _batch(self, network: torch.nn.Module, rows: Tensor) -> Batch:
        similarity = network(self._sides[0][rows], self._sides[1][rows])
        return Batch(rows, similarity, self._identity.forbidden(rows))

    def _stream(self, rows: Tensor) -> Iterator[Tensor]:
        """Whole batches of a subset without end, newly shuffled every time round; a short rest is left out."""
        size = min(self._batch_size, len(rows))
        while True:
            shuffled = rows[torch.randperm(len(rows), generator=self._order)]
            yield from torch.split(shuffled[: len(rows) // size * size], size)

    # -- judging the collection

    def _look_once(self, network: int, judge: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        """The two networks are judged on the same batches, so that only they differ."""
        seed = self.config.seed + self._done
        return self._look(network, judge, torch.Generator().manual_seed(seed))

    def _close(self) -> None:
        """The last survey is what is exported: the mean over several draws of batches."""

        def look(network: int, judge: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
            generator = torch.Generator().manual_seed(self.config.seed + _SCORING_SEED)
            draws = [self._look(network, judge, generator) for _ in range(self.config.score_draws)]
            return torch.stack(draws).mean(dim=0)

        self._method.survey(self._plan[-1][0], look)
        self._report(self._plan[-1][0], 1.0)

    def _look(self, k: int, judge: Callable[[Tensor, Tensor], Tensor], generator: torch.Generator) -> Tensor:
        count, size = len(self._pairs), self._batch_size
        order = torch.randperm(count, generator=generator)
        # The last batch is filled from the start: every pair meets the same number of negatives.
        order = torch.cat([order, order[: -count % size]])
        network = self._networks[k].eval()
        out: Tensor | None = None
        with torch.inference_mode():
            for rows in torch.split(order, size):
                batch = self._batch(network, rows)
                values = judge(batch.similarity, batch.forbidden).cpu()
                out = values.new_zeros(count, *values.shape[1:]) if out is None else out
                out[rows] = values
        assert out is not None
        return out.clone()

    def _report(self, phase: Phase, share: float) -> None:
        if self._should_stop():
            raise Stopped
        done = min(self._done + share, len(self._plan))
        self._on_progress(
            Progress(phase.name, min(self._done + 1, len(self._plan)), len(self._plan), done / len(self._plan))
        )
