"""The backbone behind every name that model.config knows."""

from collections.abc import Callable
from typing import Any

from model.backbones.base import Matcher
from model.backbones.head import Head

# (options, width of an image's features, width of a caption's features or size of the vocabulary) -> network
BACKBONES: dict[str, Callable[[Any, int, int], Matcher]] = {"head": Head}
