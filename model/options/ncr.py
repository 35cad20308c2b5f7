"""Options of NCR; symbols are those of LNC (Huang et al.), sections 3.2-3.4."""

from dataclasses import dataclass

from model.options.base import MethodConfig, option


@dataclass(frozen=True)
class NCRConfig(MethodConfig):
    """Co-divide, co-rectify and the soft-margin triplet loss."""

    # not a symbol: the warm-up of section 3.2
    warmup_epochs: int = option(2, "Epochs of the plain triplet loss before the first division.", (1, 1000))
    # not a symbol: the co-training of section 3.4
    epochs: int = option(4, "Epochs of training with divided and rectified pairs.", (1, 1000))
    # The paper learns from the noisy subset all along, the released code in the second half of the epochs.
    # Few pairs with pooled features do worse with it: even a zero margin pulls a mismatch past its negatives.
    noisy_epochs: int = option(0, "How many of these, the last ones, also learn from the noisy subset.", (0, 1000))
    # alpha of Eq. 2, 9 and 11; the paper's 0.2 leaves pooled features with a loss of 0 for most pairs too soon
    margin: float = option(0.3, "Margin of the triplet loss.", (0.001, 2.0))
    # Psi_1..Psi_3 of Eq. 11
    soft_margin: str = option(
        "exponential", "How a soft label becomes a margin.", choices=("linear", "exponential", "sin")
    )
    # v_h, t_h of Eq. 10 are the hardest; their mean, as in Eq. 2, keeps small collections from collapsing
    negatives: str = option("mean", "Negatives the soft-margin loss looks at.", choices=("mean", "hardest"))
    # the threshold on w of section 3.2
    clean_above: float = option(0.5, "Pairs with a clean confidence above this train as clean.", (0.01, 0.99))
    # not a symbol: the released code has 2e-4
    learning_rate: float = option(5e-4, "Learning rate of the optimiser.", (1e-7, 1.0))
