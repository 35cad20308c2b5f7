"""The registry: the method behind every name that model.config knows."""

from model.methods.crcl import CRCL
from model.methods.mrl import MRL
from model.methods.ncr import NCR
from model.training import Method

METHODS: dict[str, type[Method]] = {"crcl": CRCL, "mrl": MRL, "ncr": NCR}
