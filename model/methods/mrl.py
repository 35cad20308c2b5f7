"""MRL: Hu et al. 2021, Learning Cross-Modal Retrieval with Noisy Labels: categories, not correspondence.

Categories are the collection's label column. With `clusters` they are k-means clusters of the caption features, as if
every pair had been labelled by its caption alone: our own design, not in the paper. MRL hands nothing from one network
to the other: two networks learn independently, and what they say is averaged.
"""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from model.categories import cluster_captions, given_categories
from model.config import RunConfig
from model.label_noise import confidence_in_labels
from model.losses import matching_probability
from model.losses_mrl import category_log_probabilities, multimodal_contrastive, robust_clustering
from model.options.mrl import MRLConfig
from model.pairs import Pairs
from model.training import CLEAN_ABOVE, Batch, Look, Method, Phase, Scores, Step

# tau_1 is made for learning; read off with it, even the surest of 100 categories would have a probability of .07.
_SHARPNESS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
# Category probabilities of all pairs are looked at in blocks of categories with at most so many values.
_BLOCK_VALUES = 1 << 25


class MRL(Method):
    def __init__(self, config: RunConfig, pairs: Pairs) -> None:
        super().__init__(config, pairs)
        assert isinstance(config.method_options, MRLConfig)
        self.options = config.method_options
        clusters = self.options.clusters
        labels = cluster_captions(pairs, clusters, config.seed) if clusters else given_categories(pairs)
        self.labels = torch.from_numpy(labels)  # y, (N,)
        self.categories = max(2, int(labels.max()) + 1)  # K; all captions may be one cluster
        width = config.backbone_options.vector_size
        # An attribute for each network: one for both would be moved by the momentum of both optimisers.
        for k in range(self.networks):
            centres = nn.init.orthogonal_(torch.empty(width, self.categories))  # C, (D, K)
            setattr(self, f"centres_{k}", nn.Parameter(centres))
        self.confidences = torch.ones(self.networks, self.count)  # that the category fits
        self.matches = torch.ones(self.networks, self.count)
        self.similarities = torch.zeros(self.networks, self.count)
        self.predicted = self.labels.clone()

    def phases(self) -> Iterable[Phase]:
        yield Phase("robust clustering", self.options.epochs, is_surveyed=False)  # what is judged is not learned from

    def parameters(self, network: int) -> list[nn.Parameter]:
        return [self.centres(network)]

    def loss(self, step: Step) -> Tensor:
        batch = step.batches["all"]
        self._normalise(step.network)
        labels = self.labels[batch.rows].to(batch.similarity.device)
        images, captions = _vectors(batch)
        probabilities = self._log_probabilities(batch, step.network, self.options.clustering_temperature)
        # L_r and L_c are sums over the modalities and means over the pairs.
        clustering = robust_clustering(probabilities[0], labels) + robust_clustering(probabilities[1], labels)
        contrastive = multimodal_contrastive(images, captions, batch.forbidden, self.options.contrastive_temperature)
        beta = self.options.clustering_weight
        return (beta * clustering + (1 - beta) * contrastive).mean()

    def survey(self, phase: Phase, look: Look) -> None:
        for k in range(self.networks):
            self._normalise(k)
            seen = look(k, lambda batch, k=k: self._judge(batch, k))  # type: ignore[misc]
            confidence = confidence_in_labels(seen[:, : len(_SHARPNESS)].T.numpy(), self.categories)
            self.confidences[k] = torch.from_numpy(confidence)
            self.matches[k], self.similarities[k] = seen[:, -2], seen[:, -1]
        if self.options.needs_labels:
            self.predicted = self._predict(look)

    def scores(self) -> Scores:
        if not self.options.needs_labels:
            # Clean: the image belongs to the caption's cluster, and inside its batch to the caption itself.
            beliefs = (self.confidences * self.matches).sqrt()
            return self.divided_scores(list(1 - beliefs), self.similarities.mean(dim=0), beliefs.mean(dim=0))
        # Clean: the given label fits the pair. That is a probability already; a mixture over it would only blur it.
        each, fit = self.confidences.numpy(), self.confidences.mean(dim=0).numpy()
        return Scores(
            clean_confidence=fit,
            confidence_a=each[0],
            confidence_b=each[-1],
            rectified_correspondence=fit,
            similarity=self.similarities.mean(dim=0).clamp(-1, 1).numpy(),
            is_clean=fit >= CLEAN_ABOVE,
            noise_rate=float(1 - fit.mean(dtype="float64")),
            threshold=CLEAN_ABOVE,
            label_confidence=fit,
            predicted_label=self.predicted.numpy(),
        )

    def centres(self, network: int) -> nn.Parameter:
        centres: nn.Parameter = vars(self)[f"centres_{network}"]
        return centres

    def _judge(self, batch: Batch, network: int) -> Tensor:
        """p_y at every sharpness, the probability of the match, the similarity: (B, sharpness + 2)."""
        labels = self.labels[batch.rows].to(batch.similarity.device)[:, None]
        fits = []
        for sharpness in _SHARPNESS:
            image, caption = self._log_probabilities(batch, network, self.options.clustering_temperature / sharpness)
            # The captions made the clusters: only the image can contradict them.
            parts = [image, caption] if self.options.needs_labels else [image]
            fits.append(torch.cat([part.gather(1, labels) for part in parts], dim=1).exp().mean(dim=1))
        match = matching_probability(batch.similarity, batch.forbidden, self.options.contrastive_temperature)
        return torch.stack([*fits, match, batch.similarity.diagonal()], dim=1)

    def _predict(self, look: Look) -> Tensor:
        """(N,) argmax of the probability averaged over modalities and networks, in bounded memory."""
        best, found = torch.full((self.count,), -1.0), torch.zeros(self.count, dtype=torch.int64)
        size = max(1, _BLOCK_VALUES // self.count)
        for start in range(0, self.categories, size):
            block = slice(start, start + size)
            each = [
                look(k, lambda batch, k=k, block=block: self._mean_probabilities(batch, k)[:, block])  # type: ignore[misc]
                for k in range(self.networks)
            ]
            value, place = torch.stack(each).mean(dim=0).max(dim=1)
            found = torch.where(value > best, place + start, found)
            best = torch.maximum(value, best)
        return found

    def _mean_probabilities(self, batch: Batch, network: int) -> Tensor:
        image, caption = self._log_probabilities(batch, network, self.options.clustering_temperature)
        return (image.exp() + caption.exp()) / 2

    def _log_probabilities(self, batch: Batch, network: int, temperature: float) -> tuple[Tensor, Tensor]:
        images, captions = _vectors(batch)
        centres = self.centres(network).to(images.device)
        return (
            category_log_probabilities(images, centres, temperature),
            category_log_probabilities(captions, centres, temperature),
        )

    def _normalise(self, network: int) -> None:
        """Centres of unit length, before every step as in the released code."""
        with torch.no_grad():
            centres = self.centres(network)
            centres.div_(centres.norm(dim=0, keepdim=True).clamp(min=1e-12))


def _vectors(batch: Batch) -> tuple[Tensor, Tensor]:
    assert batch.vectors is not None  # RunConfig refuses backbones that give none
    return batch.vectors
