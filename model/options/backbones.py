"""Options of the backbones."""

from dataclasses import dataclass
from typing import ClassVar

from model.options.base import Options, option


@dataclass(frozen=True)
class BackboneConfig(Options):
    """What every backbone says of itself."""

    gives_vectors: ClassVar[bool] = False  # one unit vector per image and per caption; S is their cosine
    reads_regions: ClassVar[bool] = False  # images as regions; otherwise as one pooled vector
    reads_words: ClassVar[bool] = False  # captions as words; otherwise as one pooled vector

    learning_rate_factor: float = option(1.0, "Multiplies the method's learning rate.", (1e-4, 1e4))
    input_size: int = option(
        256, "Principal components kept of each side's pooled features; all when they have fewer.", (2, 8192)
    )


@dataclass(frozen=True)
class HeadConfig(BackboneConfig):
    """Two small projection networks over pooled features, cosine similarity."""

    gives_vectors: ClassVar[bool] = True

    hidden_size: int = option(512, "Units of the hidden layer of each projection.", (2, 8192))
    output_size: int = option(256, "Size of the common space.", (2, 8192))
    dropout: float = option(0.2, "Share of units dropped while training.", (0.0, 0.9))


@dataclass(frozen=True)
class WordsConfig(BackboneConfig):
    """What every backbone over regions and words has."""

    reads_regions: ClassVar[bool] = True
    reads_words: ClassVar[bool] = True

    least_word_count: int = option(4, "Words seen less often in the collection count as unknown.", (1, 1_000_000))
    longest_caption: int = option(64, "Words of a caption beyond these are not read.", (1, 10_000))
