"""The `sgr` backbone: similarity graph reasoning. Equation numbers are those of the NCR supplement, section 2."""

import torch
from torch import Tensor, nn

from model.backbones.similarity_vectors import SimilarityMatcher
from model.options.backbones import SGRConfig


class SGR(SimilarityMatcher):
    """The similarity vectors of a pair are nodes of a graph that inform each other; the overall one decides."""

    def __init__(self, options: SGRConfig, region_size: int, vocabulary_size: int) -> None:
        super().__init__(options, region_size, vocabulary_size)
        self.steps = nn.ModuleList(Reasoning(options.similarity_size) for _ in range(options.reasoning_steps))

    def infer(self, nodes: Tensor) -> Tensor:
        *first, last = self.steps
        for step in first:
            nodes = step(nodes, nodes)
        # Only the overall node is read after the last step, so only it is worked out.
        decided: Tensor = last(nodes[:, :1], nodes)
        return decided.squeeze(1)

    def floats(self, length: int) -> int:
        size, nodes = self._options.similarity_size, length + 1
        return len(self.steps) * nodes * (4 * size + nodes)


class Reasoning(nn.Module):
    """One round of Eq. 5 and 6."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.incoming = nn.Linear(size, size, bias=False)
        self.outgoing = nn.Linear(size, size, bias=False)
        self.update = nn.Linear(size, size)
        for layer in (self.incoming, self.outgoing, self.update):
            nn.init.xavier_uniform_(layer.weight)
        nn.init.zeros_(self.update.bias)

    def forward(self, asking: Tensor, nodes: Tensor) -> Tensor:
        """(n, p, S) nodes to update from all (n, q, S)."""
        # (W_in s_p)(W_out s_q) = s_p (W_in^T W_out) s_q: one product with the nodes instead of two.
        both = self.incoming.weight.T @ self.outgoing.weight
        edges = torch.bmm(asking @ both, nodes.transpose(1, 2)).softmax(dim=2)  # (n, p, q)
        updated: Tensor = self.update(torch.bmm(edges, nodes))
        return updated.relu()
