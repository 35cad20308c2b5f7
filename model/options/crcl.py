"""Options of CRCL; symbols are those of Qin et al. 2023."""

from dataclasses import dataclass

from model.options.base import MethodConfig, option


@dataclass(frozen=True)
class CRCLConfig(MethodConfig):
    """Active complementary learning with self-refining correspondence."""

    # e_1..e_m of Algorithm 1
    piece_epochs: tuple[int, ...] = option(
        (4, 4, 4), "Epochs of each self-refining piece; every piece starts with fresh networks.", (1, 1000)
    )
    # not in the paper; 0 is its form. On 30,000 pairs the last networks go on improving for 11 epochs, on 6,000 they
    # have begun to memorise mismatches after 6.
    growth: float = option(
        3.0, "Epochs the last piece gains with every doubling of the collection beyond 6,000 pairs.", (0.0, 100.0)
    )
    # e_f of Eq. 11
    freeze_epochs: int = option(2, "First epochs of every piece during which labels stay as they are.", (0, 100))
    # not in the paper; 0 is its form, where labels come from the networks' own predictions only
    advice_every: int = option(
        0,
        "Pieces after which the labels are what all evidence says, probes and neighbours included; 0 is never, and "
        "without probes nobody can say.",
        (0, 1000),
    )
    # not in the paper
    enough_pieces: int = option(
        0, "Pieces that are enough unless advice finds more mismatches than matches; 0 is all of them.", (0, 1000)
    )
    # tau of Eq. 3
    temperature: float = option(0.05, "Temperature of the matching probabilities.", (0.001, 10.0))
    # lambda of Eq. 8; the value is the one of the released code, the paper gives none
    complementary_weight: float = option(5.0, "Weight of the complementary loss.", (0.0, 1000.0))
    # not a symbol: 0 leaves the complementary loss alone (the L_cr and L_r rows of Table 4)
    active_weight: float = option(1.0, "Weight of the active loss.", (0.0, 1000.0))
    # q of Eq. 6: 1 is noise tolerant (Lemma 1), 0 is the plain complementary loss
    recast_q: bool = option(True, "Set q of every pair to 1 minus its label, as Eq. 8 does.")
    q: float = option(1.0, "The same q for all pairs, used when recast_q is false.", (0.0, 1.0))
    # beta of Eq. 10 and 11
    momentum: float = option(0.8, "Share of the old label kept when a label is updated.", (0.0, 0.999))
    # epsilon of Eq. 12
    noisy_below: float = option(0.1, "Labels below this count as zero in the loss.", (0.0, 1.0))
    # not a symbol: the complementary loss itself keeps mismatches from being memorised, and dropout only holds it back.
    # On 30,000 pairs, 40 % of them mismatched (seed 10), dropout .4, .2 and .1 gave an AUROC of .980, .988 and .992
    dropout_factor: float = option(0.5, "Multiplies the backbone's dropout.", (0.0, 10.0))
    # not a symbol: the released code's 5e-4 is for backbones with a recurrent text encoder
    learning_rate: float = option(1e-3, "Learning rate of the optimiser.", (1e-7, 1.0))
