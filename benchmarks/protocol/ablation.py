"""The ablations of the papers as data: which options make which row of which table."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from model.options.crcl import CRCLConfig


@dataclass(frozen=True)
class Variant:
    name: str
    options: Mapping[str, Any] = field(default_factory=dict)  # of the method, over its defaults


@dataclass(frozen=True)
class Table:
    title: str
    method: str
    noise: tuple[float, ...]  # as in the paper
    variants: tuple[Variant, ...]


_VANILLA = {"is_regularised": False, "abandons_noise": False}
_CRCL = CRCLConfig()
# Without self-refining correspondence there are no pieces: the same number of epochs in one go, and the same q for all.
_ONE_GO = sum(_CRCL.piece_epochs) + (len(_CRCL.piece_epochs) - 1) * _CRCL.freeze_epochs
_WITHOUT_SCC = {"active_weight": 0.0, "recast_q": False, "piece_epochs": [_ONE_GO]}

TABLES: dict[str, Table] = {
    "lnc8": Table(
        "LNC Table 8: warm-up, co-divide and co-rectify",
        "lnc",
        (0.2,),
        (
            Variant("no warm-up", {"warmup_epochs": 0}),
            Variant("vanilla warm-up, no co-divide", {**_VANILLA, "is_divided": False}),
            Variant("vanilla warm-up, no co-rectify", {**_VANILLA, "is_rectified": False}),
            Variant("vanilla warm-up", _VANILLA),
            Variant("MR", {"abandons_noise": False}),
            Variant("RNA", {"is_regularised": False}),
            Variant("MR and RNA (LNC)"),
        ),
    ),
    "lnc9": Table(
        "LNC Table 9: margin recasting",
        "lnc",
        (0.2, 0.5),
        tuple(
            Variant(f"Psi_{number}, {name}", {"soft_margin": name})
            for number, name in enumerate(("linear", "exponential", "sin", "sigmoid"), start=1)
        ),
    ),
    "crcl4": Table(
        "CRCL Table 4: parts of the loss",
        "crcl",
        (0.6,),
        (
            Variant("L_acl, SCC (CRCL)"),
            Variant("L_d, SCC", {"complementary_weight": 0.0}),
            Variant("L_cr, SCC", {"active_weight": 0.0}),
            Variant("L_r, q = 1", {**_WITHOUT_SCC, "q": 1.0}),
            Variant("L_r, q = 0", {**_WITHOUT_SCC, "q": 0.0}),
        ),
    ),
}
