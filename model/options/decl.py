"""Options of DECL; symbols are those of the supplement of Qin et al. 2022, Table 1."""

from dataclasses import dataclass

from model.options.base import MethodConfig, option


@dataclass(frozen=True)
class DECLConfig(MethodConfig):
    """Evidence of correspondence, a robust dynamic hinge and alignment labels."""

    # warmup_epochs; the paper's 1 to 5 of up to 45 are as many epochs of larger collections
    warmup_epochs: int = option(2, "Epochs in which every pair counts as aligned.", (1, 1000))
    # epochs; the paper's 20 to 40
    epochs: int = option(6, "Epochs of training with alignment labels.", (1, 1000))
    # tau; below .02 the evidence leaves the range of a float
    temperature: float = option(0.1, "Temperature of the evidence.", (0.02, 10.0))
    # lambda_1
    hinge_weight: float = option(0.8, "Weight of the robust dynamic hinge, summed over a batch.", (0.0, 1000.0))
    # lambda_2; the paper's .1 is for a tanh, which can leave all negatives at -1. The cosines of a batch cannot: there
    # .1 takes the evidence of matching pairs as well. Flickr8k, 6,000 pairs, 40 % noise, one network, one seed:
    # their p-hat ends at .03 against .27 with this; AUROC .948 against .952, F1 .82 against .85.
    divergence_weight: float = option(0.003, "Weight of the divergence from no evidence.", (0.0, 1000.0))
    # the margin of the hinge, as in the released code; Table 1 has none
    margin: float = option(0.2, "Margin of the robust dynamic hinge.", (0.001, 2.0))
    # eta; the paper's .025 is for ten times as many steps, and reaches mu after 4,920
    annealing: float = option(0.25, "By how many the negatives of the hinge shrink with every step.", (0.0, 1e6))
    # mu
    least_negatives: int = option(5, "Negatives that the hinge never goes below.", (1, 65536))
    # not a symbol: for the scores alone, as beta of CRCL; it keeps what was seen before a pair was memorised
    momentum: float = option(0.8, "Share of the old score kept when a pair is judged again.", (0.0, 0.999))
    # not a symbol: the paper's 2e-4 and 5e-4 are for backbones with a recurrent text encoder
    learning_rate: float = option(5e-4, "Learning rate of the optimiser.", (1e-7, 1.0))
