"""What a method tells the engine and what it gets to see: Phase, Batch, Step, Method, Scores.

A method holds its per-pair memory as plain tensors of length N in attributes; they are what is checkpointed.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from model.config import RunConfig
from model.division import fit
from model.pairs import Pairs

Floats = npt.NDArray[np.float32]

# is_clean means a clean confidence above this.
CLEAN_ABOVE = 0.5
# Lengths of training are given for collections up to this size.
SMALL_PAIRS = 6000
# Small against any difference that means something, large against the step of a float32.
_RANK_SHARE = 1e-3


@dataclass(frozen=True)
class Phase:
    """A stretch of epochs with one loss."""

    name: str
    epochs: int
    fresh_networks: bool = False  # start with newly drawn weights and new optimisers
    is_surveyed: bool = True  # judge the collection before every epoch
    is_scheduled: bool = True  # the learning rate follows the schedule; a warm-up keeps the full rate
    takes_advice: bool = False  # start with what all evidence so far says of every pair, where someone weighs it
    is_extra: bool = False  # the method may find it unneeded when it comes to it


@dataclass(frozen=True)
class Batch:
    """Some pairs of one subset, as network k sees them now."""

    rows: Tensor  # (B,) positions in the collection
    similarity: Tensor  # (B, B) S(v, t), the given pairs on the diagonal
    forbidden: Tensor  # (B, B), True where (i, j) is no negative
    signed: Tensor  # (B, B) the same score in [-1, 1] before any sigmoid; a cosine is itself
    vectors: tuple[Tensor, Tensor] | None = None  # (B, D) unit vectors of both sides, where the backbone has them


@dataclass(frozen=True)
class Step:
    """One step of network `network`: a batch of every subset that is not empty, by the subset's name."""

    phase: Phase
    network: int
    batches: dict[str, Batch]
    number: int = 0  # steps this network took before, from the very start


# judge(batch) -> one value, or one row of values, per pair of the batch
Judge = Callable[[Batch], Tensor]


class Look(Protocol):
    """Maps a judge over all pairs, the network in evaluation mode: (N,) or (N, values)."""

    def __call__(self, network: int, judge: Judge) -> Tensor: ...


@dataclass(frozen=True)
class Scores:
    """What a run says of every pair; low is bad everywhere."""

    clean_confidence: Floats  # (N,) in [0, 1]
    confidence_a: Floats
    confidence_b: Floats
    rectified_correspondence: Floats
    similarity: Floats  # cosine, in [-1, 1]
    is_clean: npt.NDArray[np.bool_]
    noise_rate: float  # estimated share of mismatched pairs
    threshold: float
    uncertainty: Floats | None = None  # (N,) in [0, 1], high is uncertain; DECL
    label_confidence: Floats | None = None  # (N,) in [0, 1] that the given category is right; MRL
    predicted_label: npt.NDArray[np.int64] | None = None  # (N,) category; MRL
    # What is known where probes were learned too (model/trust.py).
    weight: Floats | None = None  # (N,) for a training on these pairs, 1 on average over the clean
    neighbour_agreement: Floats | None = None  # (N,) cosine
    clip_similarity: Floats | None = None  # (N,) cosine of the encoder's own vectors, centred; joint encoders
    loss: Floats | None = None  # (N,) what was divided
    noisy_mean: float | None = None  # the loss of a mismatch, where the method knows it


def grown(epochs: int, growth: float, count: int) -> int:
    """Epochs for a collection of `count` pairs: what a large one has time to learn, a small one memorises."""
    return epochs + round(growth * math.log2(max(1.0, count / SMALL_PAIRS)))


class Method(ABC):
    """One paper: the answers the engine asks for, in the order it asks."""

    def __init__(self, config: RunConfig, pairs: Pairs) -> None:
        self.config = config
        self.pairs = pairs
        self.count = len(pairs)
        self.networks = config.networks

    @abstractmethod
    def phases(self) -> Iterable[Phase]:
        """The course of the training."""

    @abstractmethod
    def survey(self, phase: Phase, look: Look) -> None:
        """Judge the collection: before every epoch of a surveyed phase, and once after the last epoch."""

    def subsets(self, phase: Phase, network: int) -> dict[str, Tensor]:
        """Which pairs the network learns from in this epoch; the first subset sets its length."""
        return {"all": torch.arange(self.count)}

    @abstractmethod
    def loss(self, step: Step) -> Tensor:
        """The scalar to minimise."""

    @abstractmethod
    def scores(self) -> Scores:
        """What the service stores, from what the last survey left."""

    def advised(self, matching: Tensor) -> None:
        """P(match) of every pair by all evidence so far, at the start of a phase that takes advice."""
        raise NotImplementedError(f"{type(self).__name__} has no phase that takes advice")

    def needs(self, phase: Phase) -> bool:
        """Whether to go through an extra phase; asked before each of its epochs."""
        return True

    def parameters(self, network: int) -> list[nn.Parameter]:
        """What the method itself learns with the network (MRL's centres); attributes, so they are checkpointed."""
        return []

    def settled(self, labels: Tensor) -> Tensor:
        """Labels (N,) with those that people gave in their place."""
        if self.pairs.anchors is None:
            return labels
        anchors = torch.from_numpy(self.pairs.anchors)
        return torch.where(anchors == 0, labels, (anchors > 0).to(labels.dtype))

    def divide(self, losses: Tensor) -> Tensor:
        """Clean confidence of every pair by a mixture over these losses: LNC Eq. 1 and 3."""
        values = losses.double().numpy()
        return torch.from_numpy(fit(values, self.config.division).confidence(values)).float()

    def divided_scores(
        self, losses: Sequence[Tensor], similarities: Tensor, labels: Tensor, noisy_mean: float | None = None
    ) -> Scores:
        return divided_scores(losses, similarities, labels, noisy_mean, self.config.division)

    def other(self, network: int) -> int:
        """The network that teaches this one: the other of two, or itself when alone."""
        return self.networks - 1 - network

    def state(self) -> dict[str, Tensor]:
        return {name: value.detach() for name, value in vars(self).items() if isinstance(value, Tensor)}

    def load_state(self, state: dict[str, Tensor]) -> None:
        for name, value in state.items():
            if isinstance(known := getattr(self, name), nn.Parameter):
                known.data.copy_(value)  # in place: an optimiser holds it
            else:
                setattr(self, name, value)


def divided_scores(
    losses: Sequence[Tensor],
    similarities: Tensor,
    labels: Tensor,
    noisy_mean: float | None = None,
    division: str = "gaussian",
) -> Scores:
    """Scores from per-pair losses of every network, their mean similarity and the method's soft labels.

    `noisy_mean` is the loss of a mismatch where the method knows it (see model/division.py).
    """
    similarity = similarities.clamp(-1, 1).numpy().astype(np.float32)
    each = [_confidence(loss, similarity, noisy_mean, division) for loss in losses]
    both = _confidence(torch.stack(list(losses)).mean(dim=0), similarity, noisy_mean, division)
    return Scores(
        clean_confidence=both,
        confidence_a=each[0],
        confidence_b=each[-1],
        rectified_correspondence=labels.clamp(0, 1).numpy().astype(np.float32),
        similarity=similarity,
        is_clean=both >= CLEAN_ABOVE,
        noise_rate=float(1 - both.mean(dtype=np.float64)),
        threshold=CLEAN_ABOVE,
        loss=torch.stack(list(losses)).mean(dim=0).numpy().astype(np.float32),
        noisy_mean=noisy_mean,
    )


def _confidence(losses: Tensor, similarity: Floats, noisy_mean: float | None, division: str) -> Floats:
    """The mixture's posterior with a trace of the rank, which orders pairs where the posterior is flat."""
    values = losses.double().numpy()
    posterior = fit(values, division, noisy_mean).confidence(values)
    worst_first = np.lexsort((similarity, -values))  # by loss; equal losses by similarity
    rank = np.empty(len(values))
    rank[worst_first] = np.linspace(0.0, 1.0, len(values))
    return ((1 - _RANK_SHARE) * posterior + _RANK_SHARE * rank).astype(np.float32)
