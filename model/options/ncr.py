"""Options of NCR and LNC; symbols are those of LNC (Huang et al.), sections 3.2-3.4 and Table 8."""

from dataclasses import dataclass

from model.options.base import MethodConfig, option


@dataclass(frozen=True)
class NCRConfig(MethodConfig):
    """Co-divide, co-rectify and the soft-margin triplet loss."""

    # not a symbol: the warm-up of section 3.2; 0 is the first row of Table 8
    warmup_epochs: int = option(2, "Epochs of the plain triplet loss before the first division.", (0, 1000))
    # Eq. 2 sums over all negatives, the released code takes their mean. Over those that violate the margin every
    # pair pulls alike; in the sum a mismatch, which violates it with most, outweighs the matching pairs.
    warmup_negatives: str = option(
        "active", "Negatives the warm-up looks at.", choices=("sum", "mean", "active", "hardest")
    )
    # not a symbol: the co-training of section 3.4
    epochs: int = option(5, "Epochs of training with divided and rectified pairs.", (1, 1000))
    # not in the paper; 0 is its form. On 30,000 pairs 9 epochs find more than 5 (AUROC .991, .990), on 6,000 less
    # (.953, .965): there mismatches are memorised sooner.
    growth: float = option(2.0, "Epochs gained with every doubling of the collection beyond 6,000 pairs.", (0.0, 100.0))
    # The paper learns from the noisy subset all along, the released code in the second half of the epochs.
    # Few pairs with pooled features do worse with it: even a zero margin pulls a mismatch past its negatives.
    noisy_epochs: int = option(0, "How many of these, the last ones, also learn from the noisy subset.", (0, 1000))
    # alpha of Eq. 2, 9 and 11
    margin: float = option(0.2, "Margin of the triplet loss.", (0.001, 2.0))
    # not a symbol: with alpha half of all pairs have a loss of 0 in the end, and nothing tells them apart
    scored_margin: float = option(0.4, "Margin of the loss that the final scores are made from.", (0.001, 2.0))
    # Psi_1..Psi_4 of Eq. 11
    soft_margin: str = option(
        "exponential",
        "How a soft label becomes a margin.",
        choices=("linear", "exponential", "sin", "sigmoid"),
    )
    # m of Fig. 7, the 10 of Psi_2
    margin_base: float = option(10.0, "Base of the exponential soft margin.", (1.001, 1e6))
    # v_h, t_h of Eq. 10 are the hardest: with them pooled features collapse to one point. Those that violate the
    # margin become as hard step by step.
    negatives: str = option("active", "Negatives the soft-margin loss looks at.", choices=("mean", "active", "hardest"))
    # the threshold on w of section 3.2
    clean_above: float = option(0.5, "Pairs with a clean confidence above this train as clean.", (0.01, 0.99))
    # co-divide of Table 8; off, all pairs are one set and Eq. 8 has only the predictions to go by
    is_divided: bool = option(True, "Divide the pairs into a clean and a noisy subset.")
    # co-rectify of Table 8; off, the label is the division itself: 1 for a clean pair, 0 for a noisy one
    is_rectified: bool = option(True, "Rectify the labels by the networks' predictions.")
    # not a symbol: the released code's 2e-4 is for backbones with a recurrent text encoder
    learning_rate: float = option(1e-3, "Learning rate of the optimiser.", (1e-7, 1.0))


@dataclass(frozen=True)
class LNCConfig(NCRConfig):
    """NCR with a warm-up that resists noise."""

    # MR of Table 8
    is_regularised: bool = option(True, "Hold the warm-up's predictions to their past.")
    # beta of Eq. 5. The paper does not say: what CRCL takes for the same kind of memory.
    momentum: float = option(0.8, "Share of the past in the target of a pair.", (0.0, 0.999))
    # lambda of Eq. 6. The paper does not say: small, for gamma^0 = 1 pulls mismatches up as well in the first epoch.
    regularisation: float = option(0.1, "Weight of the momentum regularisation.", (0.0, 1e4))
    # RNA of Table 8
    abandons_noise: bool = option(
        True, "Leave a random half of what both networks call noisy out of each warm-up epoch."
    )
