"""The `saf` backbone: similarity attention filtration (Diao et al. 2021)."""

from torch import Tensor, nn
from torch.nn import functional

from model.backbones.attention import unit
from model.backbones.similarity_vectors import SimilarityMatcher
from model.options.backbones import SAFConfig


class SAF(SimilarityMatcher):
    """The similarity vectors of a pair are summed, each weighted by how much it tells."""

    def __init__(self, options: SAFConfig, region_size: int, vocabulary_size: int) -> None:
        super().__init__(options, region_size, vocabulary_size)
        # The release puts a batch norm behind it, over whatever pairs it happens to compare at once: a score would
        # depend on the block. The layer has a scale and an offset of its own.
        self.filter = nn.Linear(options.similarity_size, 1)

    def infer(self, nodes: Tensor) -> Tensor:
        weights = functional.normalize(self.filter(nodes).sigmoid(), p=1, dim=1)  # (n, l + 1, 1)
        return unit((weights.transpose(1, 2) @ nodes).squeeze(1), dim=1)

    def floats(self, length: int) -> int:
        return 4 * (length + 1) + 2 * self._options.similarity_size
