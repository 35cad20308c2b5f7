"""Options of DECL; symbols are those of the supplement of Qin et al. 2022, Table 1."""

from dataclasses import dataclass

from model.options.base import MethodConfig, option


@dataclass(frozen=True)
class DECLConfig(MethodConfig):
    """Evidence of correspondence, a robust dynamic hinge and alignment labels."""

    # warmup_epochs
    warmup_epochs: int = option(2, "Epochs in which every pair counts as aligned.", (1, 1000))
    # epochs
    epochs: int = option(6, "Epochs of training with alignment labels.", (1, 1000))
    # tau; below .02 the evidence leaves the range of a float
    temperature: float = option(0.1, "Temperature of the evidence.", (0.02, 10.0))
    # lambda_1
    hinge_weight: float = option(0.8, "Weight of the robust dynamic hinge, summed over a batch.", (0.0, 1000.0))
    # lambda_2
    divergence_weight: float = option(0.003, "Weight of the divergence from no evidence.", (0.0, 1000.0))
    # not in Table 1: the margin of the released code
    margin: float = option(0.2, "Margin of the robust dynamic hinge.", (0.001, 2.0))
    # eta
    annealing: float = option(0.025, "By how many the negatives of the hinge shrink with every step.", (0.0, 1e6))
    # mu
    least_negatives: int = option(5, "Negatives that the hinge never goes below.", (1, 65536))
    # not a symbol
    momentum: float = option(0.8, "Share of the old score kept when a pair is judged again.", (0.0, 0.999))
    # not a symbol: 2e-4
    learning_rate: float = option(5e-4, "Learning rate of the optimiser.", (1e-7, 1.0))
