"""What every format looks like to the rest of the product: a Source; `model.data.sources.open_source` makes one.

It says what it found, streams its rows in constant memory, and gives images or features that it brings by the `place`
of a pair. Opened again with the same options it gives the same rows and places.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from model.data.rows import Pair, Reject

Column = int | str | None


class ImageSource(StrEnum):
    """Where the images of a source are."""

    URLS = "urls"  # at the pairs' URLs: http(s), file, or paths below the image root
    MEMBERS = "members"  # in the source itself: read_image(place)
    FEATURES = "features"  # nowhere: the source brings features instead


@dataclass(frozen=True)
class ReadOptions:
    """What the user says about a source; whatever is None is detected."""

    input_format: str | None = None
    url_column: Column = None
    caption_column: Column = None
    label_column: Column = None
    header: bool | None = None
    allow_paths: bool = False  # the URL column may hold paths of image files
    split: str | None = None  # of a folder that holds several, e.g. train
    noise_index: str | None = None  # name of a noise index file in the folder: the truth comes from it
    features: str | None = None  # which ones, of a source that brings several, e.g. b32 or l14


@dataclass(frozen=True)
class SourceFeatures:
    """Features that came with the source, memory-mapped. Row `int(pair.place)` belongs to the pair."""

    images: Any  # (N, D) or (N, R, D): len, .shape, .dtype, indexing by an int64 array
    captions: Any | None  # (N, D) likewise; None where the source has captions as text only


class Source(Protocol):
    format: str  # a key of model.data.sources.FORMATS
    images: ImageSource

    def describe(self) -> dict[str, Any]:
        """What was detected, as JSON: always `format` and `images`; columns, shards, shapes where they exist."""

    def rows(self) -> Iterator[Pair | Reject]:
        """Every row once, in order, numbered upwards; FileError where the source as a whole cannot be read on."""

    def read_image(self, place: str, max_bytes: int) -> bytes:
        """The bytes of an image file that lies in the source; FileError where they cannot be read."""

    def features(self) -> SourceFeatures:
        """Only where images is FEATURES."""
