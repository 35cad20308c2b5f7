"""Options of MRL; symbols are those of Hu et al. 2021."""

from dataclasses import dataclass
from typing import ClassVar

from model.options.base import MethodConfig, option


@dataclass(frozen=True)
class MRLConfig(MethodConfig):
    """Robust clustering and multimodal contrast: finds wrong labels in a collection with a label column."""

    needs_vectors: ClassVar[bool] = True

    # not a symbol: the released run has 30, the paper 100; small collections are memorised by then
    epochs: int = option(12, "Epochs of training.", (1, 10000))
    # beta of L = beta L_r + (1 - beta) L_c; the released run has 0.7, which finds fewer wrong labels here
    clustering_weight: float = option(
        0.9, "Share of the clustering loss; the rest is the contrastive loss.", (0.0, 1.0)
    )
    # tau_1; the released code has 1. Much smaller, and categories that start well swallow the others
    clustering_temperature: float = option(0.5, "Temperature of the category probabilities.", (0.01, 100.0))
    # tau_2; the released code has 1, which tells pairs of pooled features hardly apart
    contrastive_temperature: float = option(0.2, "Temperature of the contrastive loss.", (0.01, 100.0))
    # our own, not in the paper
    clusters: int = option(
        0, "Pseudo-categories made from the captions where there is no label; 0: use the labels.", (0, 100000)
    )
    # not a symbol: the released code has 1e-4 over 100 epochs
    learning_rate: float = option(1e-3, "Learning rate of the optimiser.", (1e-7, 1.0))

    @property
    def needs_labels(self) -> bool:
        return self.clusters == 0
