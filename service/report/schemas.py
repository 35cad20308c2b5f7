"""The shape of a run's report. What a later version adds to the stored report goes through as it is."""

from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from service.cut_shapes import Expected


class Part(BaseModel):
    model_config = ConfigDict(extra="allow")


class Estimate(Part):
    """With its 95 % interval."""

    estimate: float
    low: float
    high: float


class ProbeShare(Part):
    count: int = Field(description="Known mismatches of this kind that joined the training.")
    flagged_share: float | None = Field(
        description="Of them, how many the automatic cut flags; null where there are none."
    )


class CurveRow(Expected, Part):
    """What is expected at a cut. A pair is kept when its clean_confidence is at least the cut."""

    cut: float
    kept_share: float


class Calibration(Part):
    noise_rate: Estimate
    has_evidence: bool = Field(description="False: nothing says that any pair is a mismatch.")
    threshold: float = Field(description="The automatic cut.")
    probes: dict[str, ProbeShare]
    near_share: float = Field(
        default=0.0,
        description="Of the mismatches, the share of near misses: an image much like the right one. 0 where nothing "
        "speaks for any.",
    )
    curve: list[CurveRow] = Field(description="By rising cut.")


class Mixture(Part):
    weights: list[float]
    means: list[float]
    variances: list[float]
    clean: list[float] = Field(description="Density of the clean component in every bin.")
    noisy: list[float] = Field(description="Density of the noisy component in every bin; both together are 1.")


class Histogram(Part):
    edges: list[float]
    pairs: list[int]
    kept: list[int] = Field(description="Of the pairs, those that the automatic cut keeps.")
    probes: list[int] = Field(description="Known mismatches; never among the pairs.")
    probe_kinds: dict[str, list[int]] = {}
    mixture: Mixture | None = None


class Histograms(Part):
    loss: Histogram | None = Field(description="Null for methods without a loss per pair.")
    confidence: Histogram


class Agreement(Part):
    """Of the two networks; a pair is clean to a network from a confidence of 0.5 on."""

    correlation: float | None
    both_clean: int
    both_noisy: int
    only_a_clean: int
    only_b_clean: int
    grid: list[list[int]] = Field(description="Pairs by the confidence of network A (rows) and B (columns).")


class Slice(Part):
    """How many of these pairs are flagged, with Wilson's 95 % interval of the rate."""

    name: str
    pairs: int
    flagged: int
    rate: float
    low: float
    high: float
    is_high: bool = Field(description="Even the lower end is above the rate of the whole run.")
    is_rest: bool = Field(default=False, description="All that is not listed by name.")


class Slices(Part):
    overall: Slice
    host: list[Slice]
    caption_words: list[Slice]
    language: list[Slice] = Field(description="A guess by script and common words.")
    label: list[Slice]


class ShownPair(Part):
    uid: str
    row: int
    url: str
    caption: str
    label: str | None
    clean_confidence: float
    similarity: float


class Extremes(Part):
    most_trusted: list[ShownPair]
    least_trusted: list[ShownPair]


class Means(Part):
    """Null where no such pair has a score."""

    clean: float | None
    flagged: float | None


class Counted(Part):
    lemma: str
    count: int
    of: int = Field(description="How often it is there at all.")


class DetectorReport(Part):
    """The object detector that the run named."""

    file: str
    sha256: str = Field(description="Of the file.")
    labels: int
    images: int = Field(description="Different ones among the scored pairs.")
    unread: int = Field(description="Of these, how many could not be read any more; nothing was seen in them.")
    seen_in: int = Field(description="Of these, in how many it saw something.")


class ElementsReport(Part):
    """What captions claim and images show, over all scored pairs."""

    tagger: str = Field(description="What read the captions.", examples=["pattern"])
    language: str = Field(description="Of most captions, a guess.")
    language_share: float = Field(description="Of the captions whose language could be guessed.")
    note: str = Field(description="What elements are in this language.")
    judged: int
    unjudged: int = Field(description="Pairs in which neither side has an element that can be judged.")
    eme: Means
    eme_soft: Means
    missing: list[Counted] = Field(description="Claimed by captions, and most often not in the image.")
    unmentioned: list[Counted] = Field(description="In images, and most often not in the caption.")
    wrong: dict[str, int] = Field(description="Which part of a missing element is wrong.")
    limits: str = Field(description="What the score cannot see.")
    detector: DetectorReport | None = Field(default=None, description="Null for runs without one.")


class Shift(Part):
    """Captions of these rows belong to the images `offset` rows further down (up where it is negative)."""

    first_row: int
    last_row: int
    offset: int
    rows: int
    confidence_before: float = Field(description="Mean of the rows as they are.")
    confidence_after: float = Field(description="With the shift undone.")
    message: str


class Group(Part):
    size: int = Field(description="Different partners; of repeated pairs the repeats.")
    pairs: int
    flagged_share: float
    rows: list[int] = Field(description="The first of them.")


class Groups(Part):
    distinct: int
    groups: int
    pairs: int
    flagged_share: float | None
    sizes: dict[str, int] = Field(description="How many groups have which size.")
    largest: list[Group]


class Duplicates(Part):
    images: Groups = Field(description="One image with several captions.")
    captions: Groups = Field(description="One caption with several images.")
    pairs: Groups = Field(description="The same pair again.")


class Likely(Part):
    captions: int
    images: int


class RepairReport(Part):
    flagged: int
    searched: int = Field(description="Flagged pairs for which something better was looked for.")
    likely: Likely = Field(description="Of these, those for which something more likely than not was found.")
    shifts: list[Shift]
    shift_count: int
    duplicates: Duplicates


class Report(Part):
    run_id: UUID
    collection_id: UUID
    headline: str = Field(description="The result in a sentence or two.")
    calibration: Calibration | None = Field(description="Null when the run had no probes.")
    histograms: Histograms
    agreement: Agreement
    slices: Slices
    extremes: Extremes
    recipe: dict[str, Any] = Field(description="What was run, and why.")
    elements: ElementsReport | None = Field(default=None, description="Null for runs that explained nothing.")
    repair: RepairReport | None = Field(default=None, description="Shifted rows, duplicates, and what fits better.")
