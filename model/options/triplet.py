"""Options of the baselines that know nothing of noise; symbols are those of LNC (Huang et al.)."""

from dataclasses import dataclass

from model.options.base import MethodConfig, option


@dataclass(frozen=True)
class TripletConfig(MethodConfig):
    """The plain triplet loss: every pair is learned as if it matched."""

    # not a symbol: the papers' baselines have 40
    epochs: int = option(8, "Epochs of training.", (1, 1000))
    # alpha of Eq. 2
    margin: float = option(0.2, "Margin of the triplet loss.", (0.001, 2.0))
    # all v-hat, t-hat of Eq. 2, summed or as their mean, or v_h, t_h of Eq. 10. The papers' baselines take the hardest
    # from the start; with two mismatches in five that can collapse to one score for everything, and did.
    negatives: str = option("sum", "Negatives the triplet loss looks at.", choices=("sum", "mean", "hardest"))
    # not a symbol: the papers' baselines have 2e-4
    learning_rate: float = option(5e-4, "Learning rate of the optimiser.", (1e-7, 1.0))


@dataclass(frozen=True)
class FilterConfig(TripletConfig):
    """Filter once, then train the plain triplet loss on what is left (LNC Table 4)."""

    # not a symbol: as the warm-up of section 3.2
    warmup_epochs: int = option(2, "Epochs of the filter on all pairs before it divides them.", (1, 1000))
    # not a symbol
    filter_epochs: int = option(
        2, "Epochs of the filter on the pairs found clean, divided anew before each.", (1, 1000)
    )
    # the threshold on w of section 3.2
    clean_above: float = option(0.5, "Pairs with a clean confidence above this are kept.", (0.01, 0.99))
