"""The backbone behind every name that model.config knows."""

from collections.abc import Callable
from typing import Any

from model.backbones.base import Matcher
from model.backbones.gated import Gated
from model.backbones.head import Head
from model.backbones.saf import SAF
from model.backbones.scan import SCAN
from model.backbones.sgr import SGR
from model.backbones.sgraf import SGRAF
from model.backbones.vse_infinity import VSEInfinity

# (options, width of an image's features, width of a caption's features or size of the vocabulary) -> network
BACKBONES: dict[str, Callable[[Any, int, int], Matcher]] = {
    "head": Head,
    "vse_infinity": VSEInfinity,
    "scan": SCAN,
    "sgr": SGR,
    "saf": SAF,
    "sgraf": SGRAF,
    "gated": Gated,
}
