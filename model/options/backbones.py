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
    dropout: float = option(0.2, "Share of units dropped while training; the method may scale it.", (0.0, 0.9))
    input_size: int = option(
        256, "Principal components kept of each side's pooled features; all when they have fewer.", (2, 8192)
    )

    @property
    def vector_size(self) -> int:
        """Size of the vectors it gives; 0 where it gives none."""
        return 0


@dataclass(frozen=True)
class HeadConfig(BackboneConfig):
    """Two small projection networks over pooled features, cosine similarity."""

    gives_vectors: ClassVar[bool] = True

    hidden_size: int = option(512, "Units of the hidden layer of each projection.", (2, 8192))
    output_size: int = option(256, "Size of the common space.", (2, 8192))
    start: str = option(
        "random",
        "With identity the projections start as the features themselves, for encoders whose images and captions share "
        "one space; input_size and output_size are then the encoder's.",
        choices=("random", "identity"),
    )

    @property
    def vector_size(self) -> int:
        """Size of the vectors it gives; with an identity start that is the encoder's."""
        return self.output_size


@dataclass(frozen=True)
class WordsConfig(BackboneConfig):
    """What every backbone over regions and words has."""

    reads_regions: ClassVar[bool] = True
    reads_words: ClassVar[bool] = True

    least_word_count: int = option(4, "Words seen less often in the collection count as unknown.", (1, 1_000_000))
    longest_caption: int = option(64, "Words of a caption beyond these are not read.", (1, 10_000))
    # the papers: 300
    word_size: int = option(128, "Size of a word's learned vector.", (1, 4096))
    # the papers: 1024
    embed_size: int = option(256, "Size of the common space of regions and words.", (2, 8192))
    # SGRAF: 0.4 on word vectors, the others none
    dropout: float = option(0.2, "Share of units dropped while training; the method may scale it.", (0.0, 0.9))
    # CRCL's release: 0.2 for every backbone; the papers of SCAN and SGRAF: none
    region_dropout: float = option(0.0, "Mean share of an image's regions left out while training.", (0.0, 0.45))
    # CRCL's release changes 0.2 of all words; here a word only becomes unknown
    word_dropout: float = option(0.0, "Share of words replaced by the unknown word while training.", (0.0, 0.9))

    @property
    def vector_size(self) -> int:
        """Size of the vectors it gives."""
        return self.embed_size


@dataclass(frozen=True)
class VSEInfinityConfig(WordsConfig):
    """Regions and words pooled by learned weights over sorted values (GPO), cosine similarity."""

    gives_vectors: ClassVar[bool] = True

    region_dropout: float = option(0.2, "Mean share of an image's regions left out while training.", (0.0, 0.45))
    # VSE-infinity: 512 for 1024 outputs
    hidden_size: int = option(256, "Units of the hidden layer beside the linear image projection.", (2, 8192))
    # d of the positional code and the recurrent units of the pooling operator
    position_size: int = option(32, "Size of the position codes of the pooling.", (2, 1024))
    # the release's temperature of the softmax over positions
    pooling_temperature: float = option(0.1, "Temperature of the pooling's weights.", (0.001, 100.0))


@dataclass(frozen=True)
class AttentionConfig(WordsConfig):
    """What every backbone has that attends from words to regions or back, for every image with every caption."""

    # the papers: 1024; comparing every image with every caption takes time in proportion
    embed_size: int = option(128, "Size of the common space of regions and words.", (2, 8192))
    block_megabytes: int = option(
        512,
        "Memory for comparing images with captions; past it they are compared part by part, and again for gradients.",
        (1, 1_000_000),
    )


@dataclass(frozen=True)
class SCANConfig(AttentionConfig):
    """Stacked cross attention: every word with the regions it attends to, or every region with its words."""

    direction: str = option(
        "text_to_image",
        "Whether words attend to regions or regions to words.",
        choices=("text_to_image", "image_to_text"),
    )
    # LSE, AVG, max and sum pooling of SCAN; a mean stays a cosine, which the methods' temperatures are made for
    aggregation: str = option(
        "mean", "How the cosines of one pair become its score.", choices=("lse", "mean", "max", "sum")
    )
    # lambda_1 of SCAN
    lambda_softmax: float = option(
        9.0, "Sharpness of the attention; the paper has 9 for text_to_image and 4 for image_to_text.", (0.01, 1000.0)
    )
    # lambda_2 of SCAN
    lambda_lse: float = option(
        6.0, "Sharpness of lse; the paper has 6 for text_to_image and 5 (or 20) for image_to_text.", (0.01, 1000.0)
    )


@dataclass(frozen=True)
class SAFConfig(AttentionConfig):
    """Similarity attention filtration: similarity vectors of all words, weighted by what they tell."""

    # m of SGRAF: 256
    similarity_size: int = option(32, "Size of a similarity vector.", (2, 4096))
    # lambda of Eq. 4 (NCR supplement)
    lambda_softmax: float = option(9.0, "Sharpness of the attention of words to regions.", (0.01, 1000.0))


@dataclass(frozen=True)
class SGRConfig(SAFConfig):
    """Similarity graph reasoning: similarity vectors of all words inform each other."""

    # N of Eq. 6 (NCR supplement)
    reasoning_steps: int = option(3, "Rounds of reasoning over the graph of similarity vectors.", (1, 16))


@dataclass(frozen=True)
class SGRAFConfig(SGRConfig):
    """SGR and SAF side by side."""


@dataclass(frozen=True)
class GatedConfig(BackboneConfig):
    """Gated embedding units over pooled features (video and text), cosine similarity."""

    gives_vectors: ClassVar[bool] = True

    # LNC appendix D.2: 4096
    output_size: int = option(512, "Size of the common space.", (2, 8192))
    # not in Eq. D8; small collections are memorised without it
    dropout: float = option(0.2, "Share of input features dropped while training; the method may scale it.", (0.0, 0.9))

    @property
    def vector_size(self) -> int:
        """Size of the vectors it gives."""
        return self.output_size
