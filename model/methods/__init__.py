"""The registry: the method behind every name that model.config knows."""

from model.methods.crcl import CRCL
from model.methods.decl import DECL
from model.methods.filter_then_train import FilterThenTrain
from model.methods.lnc import LNC
from model.methods.mrl import MRL
from model.methods.ncr import NCR
from model.methods.triplet import Triplet
from model.training import Method

METHODS: dict[str, type[Method]] = {
    "crcl": CRCL,
    "ncr": NCR,
    "lnc": LNC,
    "decl": DECL,
    "mrl": MRL,
    "triplet": Triplet,
    "filter-then-train": FilterThenTrain,
}
