"""The only training loop: phases, epochs, batches, checkpoints, progress, cancellation.

It knows no method by name; what is learned from which pairs is asked of the Method (model/training.py).
"""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from model import checkpoint
from model.config import MIN_PAIRS, RunConfig, config_hash
from model.dynamics import Dynamics
from model.errors import TrainingError
from model.methods import METHODS
from model.networks import Learned, Networks
from model.pairs import Pairs
from model.parallel import Fleet
from model.randomness import drawing_from
from model.recipe import resolve
from model.schedule import rate_share
from model.together import run_together
from model.training import Batch, Judge, Method, Phase, Scores, Step
from model.words import Vocabulary

__all__ = ["Batch", "Engine", "Method", "Pairs", "Phase", "Progress", "Scores", "Step", "Stopped", "TrainingError"]

# Batches between two questions to should_stop and two reports of progress.
_POLL_BATCHES = 8
# Keeps the draws of closing surveys apart from those before the epochs, and of those before advice from the last.
_CLOSING_SEED, _ADVICE_SEED = 7919, 104_729
# Spread of the similarities in a batch below which a network tells nothing apart; untrained ones have about .05.
_LEAST_SPREAD = 1e-4


# Steps of one network in an epoch, and the batches of every subset.
Learner = tuple[int, dict[str, Iterator[Tensor]]]


class Stopped(Exception):
    """should_stop() asked for an end; what was checkpointed is kept and fit() goes on from there."""


@dataclass(frozen=True)
class Progress:
    phase: str
    epoch: int  # of the whole training, from 1
    epochs: int
    fraction: float  # of the whole training, 0 to 1


# What all evidence so far says: P(match) of every pair, or None where it says nothing. It may ask the engine like a
# finished one, and tells the second argument now and then what share is done; that raises when the training shall end.
Adviser = Callable[["Engine", Callable[[float], None]], npt.NDArray[np.floating] | None]


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
        is_concurrent: bool = False,  # networks side by side, a core for each; the outcome is the same
        is_compiled: bool = False,  # torch.compile of the encoders: worth its minute on a GPU and long trainings
        vocabulary: Vocabulary | None = None,  # of another collection; by default built from this one's captions
        adviser: Adviser | None = None,  # whom to ask before phases that take advice
    ) -> None:
        if len(pairs) < MIN_PAIRS:
            raise TrainingError(f"{len(pairs)} pairs are too few to learn from; at least {MIN_PAIRS} are needed")
        self.config, self.reasons = resolve(config, len(pairs), is_joint=pairs.is_joint, is_advised=adviser is not None)
        self._pairs = pairs
        self.folder = folder
        self._device = torch.device(device)
        self._on_progress = on_progress or (lambda progress: None)
        self._should_stop = should_stop or (lambda: False)
        self._batch_size = min(self.config.batch_size, len(pairs))
        self._is_compiled = is_compiled
        self._vocabulary = vocabulary
        self._adviser = adviser
        self._fleet = Fleet()
        # Several processes exchange what they have in one order, and one GPU does one thing after the other.
        self._is_concurrent = is_concurrent and self._fleet.size == 1 and self._device.type == "cpu"
        self._is_learned = torch.from_numpy(pairs.learnable())
        self._batches = 0
        self._is_finished = False
        self._is_readable = False  # the whole collection was judged by the networks as they are

    def fit(self) -> None:
        """Train to the end, from the newest good checkpoint if there is one; nothing to do when finished."""
        if self._is_finished:
            return
        cuda = [self._device] if self._device.type == "cuda" else []
        # Dropout and initial weights draw from torch's global generator: forked, so the caller's is untouched.
        with torch.random.fork_rng(devices=cuda):
            self._start()
            while self._done < len(self._plan):
                phase, epoch = self._plan[self._done]
                if not phase.is_extra or self._method.needs(phase):
                    self._epoch(phase, epoch)
                self._done += 1
                if self._done == len(self._plan):
                    self._close()
                self._save()
        self._is_finished = self._is_readable = True

    def scores(self) -> Scores:
        """What the finished training says of every pair."""
        self._need_readable()
        return self._method.scores()

    def similarities(self, images: Any, captions: Any) -> npt.NDArray[np.float32]:
        """(images, captions) matrix of the networks' mean similarity, for features from anywhere."""
        self._need_readable()
        return self._networks.similarities(images, captions)

    def dynamics(self) -> Dynamics:
        """How every pair was learned."""
        self._need_readable()
        return self._dynamics

    def vectors(self) -> "tuple[Learned, Learned] | None":
        """Images and captions of all pairs as the networks see them; None where the backbone has no vectors."""
        self._need_readable()
        if not self._networks.gives_vectors:
            return None
        return Learned(self._networks, 0, len(self._pairs)), Learned(self._networks, 1, len(self._pairs))

    def _need_readable(self) -> None:
        if not self._is_readable:
            raise TrainingError("the training is not finished; call fit() first")

    def _start(self) -> None:
        torch.manual_seed(self.config.seed)
        self._orders = [torch.Generator().manual_seed(self.config.seed + k) for k in range(self.config.networks)]
        self._method = METHODS[self.config.method](self.config, self._pairs)
        self._plan = [(phase, epoch) for phase in self._method.phases() for epoch in range(phase.epochs)]
        self._done = 0
        self._steps = [0] * self.config.networks
        self._dynamics = Dynamics(self.config.networks, len(self._pairs))
        saved = None
        if self.folder is not None:
            saved = checkpoint.load_newest(self.folder, config_hash(self.config), len(self._pairs))
        self._networks = Networks(
            self._pairs,
            self.config,
            self._device,
            self._method.parameters,
            saved,
            self._is_compiled,
            self._vocabulary,
        )
        if saved is not None:
            self._done, self._steps = saved["done"], saved["steps"]
            self._method.load_state(saved["method"])
            self._dynamics.load_state(saved["dynamics"])
            for order, state in zip(self._orders, saved["orders"], strict=True):
                order.set_state(state)

    def _save(self) -> None:
        if self.folder is None or self._fleet.rank > 0:
            return
        state = {
            "config_hash": config_hash(self.config),
            "pairs": len(self._pairs),
            "done": self._done,
            "steps": self._steps,
            "method": self._method.state(),
            "dynamics": self._dynamics.state(),
            "orders": [order.get_state() for order in self._orders],
            **self._networks.state(),
        }
        checkpoint.save(self.folder, self._done, state)

    def _epoch(self, phase: Phase, epoch: int) -> None:
        if epoch == 0 and self._done > 0:
            if phase.takes_advice and self._adviser is not None:
                self._take_advice(phase, self._adviser)
            if phase.fresh_networks:
                self._networks.renew()
        self._networks.set_rate(rate_share(self.config, self._plan, self._done))
        self._report(phase, 0.0)
        if phase.is_surveyed:
            self._survey(phase, self.config.seed + self._done, draws=1)
        learners = [self._learner(phase, k) for k in range(self.config.networks)]
        if self._is_concurrent and len(learners) > 1:
            self._learn_side_by_side(phase, learners)
        else:
            self._learn_in_turn(phase, learners)
        self._refuse_collapse(phase)

    def _take_advice(self, phase: Phase, adviser: Adviser) -> None:
        name, epochs = "weighing all evidence", len(self._plan)
        self._report(replace(phase, name=name), 0.0)
        self._survey(phase, self.config.seed + _ADVICE_SEED + self._done, self.config.score_draws)

        def show(share: float) -> None:
            self._heed()
            self._on_progress(Progress(f"{name}, {share:.0%}", self._done + 1, epochs, self._done / epochs))

        self._is_readable = True
        try:
            matching = adviser(self, show)
        finally:
            self._is_readable = False
        if matching is not None:
            self._method.advised(torch.from_numpy(matching).float())
            # Evidence of what was learned from now on; what was before is in the advice.
            self._dynamics = Dynamics(self.config.networks, len(self._pairs))

    def _learn_in_turn(self, phase: Phase, learners: list[Learner]) -> None:
        longest = max(steps for steps, _ in learners)
        for step in range(longest):
            if step % _POLL_BATCHES == 0:
                self._report(phase, step / longest)
            for k, (steps, streams) in enumerate(learners):
                if step < steps:
                    self._step(phase, k, {name: next(stream) for name, stream in streams.items()})

    def _learn_side_by_side(self, phase: Phase, learners: list[Learner]) -> None:
        """Each network in a thread of its own. Within an epoch none knows of the other and each has its own random
        numbers, so the outcome is that of learning in turn."""
        longest, done = max(steps for steps, _ in learners), [0] * len(learners)

        def learn(k: int, is_over: threading.Event) -> None:
            steps, streams = learners[k]
            while done[k] < steps and not is_over.is_set():
                self._step(phase, k, {name: next(stream) for name, stream in streams.items()})
                done[k] += 1

        works = [partial(learn, k) for k in range(len(learners))]
        run_together(works, lambda: self._report(phase, max(done) / longest))

    def _learner(self, phase: Phase, k: int) -> Learner:
        """How many steps network k takes in this epoch, and the batches of every subset that is not empty."""
        chosen = {name: rows[self._is_learned[rows]] for name, rows in self._method.subsets(phase, k).items()}
        subsets = {name: rows for name, rows in chosen.items() if len(rows) > 0}
        if not subsets:
            raise TrainingError(
                "every pair that could be learned from was called a mismatch by a reviewer; nothing is left to learn "
                "from: review some of them as matches, or delete reviews"
            )
        first = next(iter(subsets.values()))
        return max(1, len(first) // self._batch_size), {
            name: self._stream(rows, self._orders[k]) for name, rows in subsets.items()
        }

    def _stream(self, rows: Tensor, order: torch.Generator) -> Iterator[Tensor]:
        """Whole batches of a subset without end, newly shuffled every time round; a short rest is left out."""
        size = min(self._batch_size, len(rows))
        while True:
            shuffled = rows[torch.randperm(len(rows), generator=order)]
            yield from torch.split(shuffled[: len(rows) // size * size], size)

    def _step(self, phase: Phase, k: int, rows: dict[str, Tensor]) -> None:
        with drawing_from(self._networks.generators[k]):
            batches = {name: self._networks.batch(k, some) for name, some in rows.items()}
        loss = self._method.loss(Step(phase, k, batches, self._steps[k]))
        self._steps[k] += 1
        if not torch.isfinite(loss):
            raise TrainingError(
                f"the loss became {float(loss.detach())} in epoch {self._done + 1} ({phase.name}), network "
                f"{'AB'[k]}; try a smaller learning_rate, and check the features for extreme values"
            )
        self._networks.step(k, loss)

    def _refuse_collapse(self, phase: Phase) -> None:
        """A hinge with hard negatives can end where every score is the same: its loss stays at the margin."""
        for k in range(self.config.networks):
            if self._networks.spread(k, self._batch_size) < _LEAST_SPREAD:
                raise TrainingError(
                    f"network {'AB'[k]} collapsed in epoch {self._done + 1} ({phase.name}): it finds every caption "
                    "equally similar to every image, so its loss stays at the margin; try negatives=mean, a smaller "
                    "learning_rate or a longer warm-up, and check that the features differ from pair to pair"
                )

    def _survey(self, phase: Phase, seed: int, draws: int) -> None:
        """Both networks are judged on the same batches, so that only they differ."""

        def look(network: int, judge: Judge) -> Tensor:
            return self._dynamics.watched(network, judge, lambda watched: drawn(network, watched))

        def drawn(network: int, judge: Judge) -> Tensor:
            generator = torch.Generator().manual_seed(seed)
            lanes = self.config.networks if self._is_concurrent else 1
            poll = self._heed if lanes > 1 else self._poll
            seen = [self._networks.look(network, judge, self._batch_size, generator, poll, lanes) for _ in range(draws)]
            return torch.stack(seen).mean(dim=0)

        self._method.survey(phase, look)
        self._dynamics.end_survey()

    def _close(self) -> None:
        """The last survey is what is exported: the mean over several draws of batches."""
        phase, _ = self._plan[-1]
        self._survey(phase, self.config.seed + _CLOSING_SEED, self.config.score_draws)
        self._on_progress(Progress(phase.name, len(self._plan), len(self._plan), 1.0))

    def _report(self, phase: Phase, share: float) -> None:
        if self._fleet.any(self._should_stop()):
            raise Stopped
        total = len(self._plan)
        self._on_progress(Progress(phase.name, self._done + 1, total, (self._done + share) / total))

    def _poll(self) -> None:
        self._batches += 1
        if self._fleet.size == 1 and self._batches % _POLL_BATCHES == 0:
            self._heed()

    def _heed(self) -> None:
        if self._should_stop():
            raise Stopped
