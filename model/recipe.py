"""`auto`: which method and schedule suit a collection, and why, in words for the report."""

import math
from dataclasses import replace

from model.config import RunConfig
from model.options.auto import AutoConfig
from model.options.backbones import HeadConfig
from model.options.crcl import CRCLConfig

# Between these sizes a collection stops being small: a few pairs are soon learned by heart, which dropout delays, and
# want more pieces of CRCL, which they can afford. Each piece has fresh networks that learn with the labels of those
# before, and before some the labels are set to what all evidence says.
_FEW, _MANY = 1_000, 6_000
# Share of the backbone's dropout. AUROC on Flickr8k (seed 10) with half and with all of it: 500 pairs, 80 % mismatched,
# .714 and .739; 1,000 .816 and .820; 2,000 .916 and .918; 6,000 .967 and .967; 6,000, 40 % near misses, .793 and .779.
_MOST_DROPOUT, _LEAST_DROPOUT = 1.0, 0.5
# AUROC on seed 10: 1,000 pairs, 40 % mismatched, .947 after three pieces and .951 after six; 6,000 pairs, 80 %, .9648
# and .9642; 30,000 pairs, 80 %, before there were correlations, .9757 after one piece, .9807 and .9815 after an advised
# second and third, .9788 after three without advice (the last of 11 epochs).
_MOST_PIECES, _LEAST_PIECES, _PIECE_EPOCHS = 6, 3, 4
# From the first number of pieces on, advice comes before every second one only; below it the second number of them is
# enough where matches prevail (30,000 pairs, 40 %, seed 10: .9956 after two).
_MANY_PIECES, _ENOUGH_PIECES = 4, 2


def resolve(config: RunConfig, count: int, *, is_joint: bool, is_advised: bool) -> tuple[RunConfig, list[str]]:
    """The run that `auto` stands for, and the reasons; any other run as it is. `is_advised` says whether there is
    anybody to weigh all evidence, which takes probes."""
    if not isinstance(config.method_options, AutoConfig):
        return config, []
    factor = _by_size(count, _MOST_DROPOUT, _LEAST_DROPOUT)
    pieces = round(_by_size(count, _MOST_PIECES, _LEAST_PIECES))
    every, enough = (2, 0) if pieces >= _MANY_PIECES else (1, _ENOUGH_PIECES)
    if not is_advised:  # nobody would know that mismatches prevail
        every = enough = 0
    method = CRCLConfig(
        dropout_factor=round(factor, 3),
        piece_epochs=(_PIECE_EPOCHS,) * pieces,
        growth=0.0,
        advice_every=every,
        enough_pieces=enough,
    )
    why = [
        "crcl: of all methods it held best at high noise rates and on near misses",
        # Not how many there are: known mismatches are counted with them, and are nobody's business.
        f"{factor:.2f} of the backbone's dropout for a collection of this size: the fewer pairs there are, the sooner "
        "they are learned by heart",
        f"{enough or pieces} rounds of fresh networks, each with the labels of the one before"
        + (f"; {pieces} where mismatches prevail" if enough else ""),
    ]
    if is_advised:
        why.append(f"before every {'other' if every > 1 else 'new'} round the labels become what all evidence says")
    backbone = config.backbone_options
    if isinstance(backbone, HeadConfig) and is_joint:
        backbone = replace(backbone, start="identity")
        why.append("the encoder is a joint one: the networks start from its own similarity")
    return replace(config, method="crcl", method_options=method, backbone_options=backbone), why


def _by_size(count: int, few: float, many: float) -> float:
    """What a small collection wants, what a large one does, and in between by the logarithm of the count."""
    share = math.log(count / _FEW) / math.log(_MANY / _FEW)
    return few + (many - few) * min(1.0, max(0.0, share))
