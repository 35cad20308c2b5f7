"""The shape of a run's report."""

from typing import Any
from uuid import UUID

from pydantic import Field

from service.cut_shapes import Expected
from service.report.schemas_explained import ElementsReport, Part, RepairReport


class Estimate(Part):
    """With its 95 % interval."""

    estimate: float
    low: float
    high: float


class ProbeShare(Part):
    count: int = Field(
        description="Known mismatches of this kind that joined the training. For a scored run nothing was trained: "
        "they were made of the new pairs, or of the learned ones where the new are too few."
    )
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
    near_share: float | None = Field(
        default=0.0,
        description="Of the mismatches, the share of near misses: an image much like the right one. 0 where nothing "
        "speaks for any, null where there are too few pairs to tell.",
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
    probe_kinds: dict[str, list[int]] = Field(default={})
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


class Drift(Part):
    """Whether the pairs of a scored run look like those that its networks learned from."""

    images: float = Field(description="Share that is farther from all that was learned than 99 % of that was.")
    captions: float = Field(description="The same of the captions.")
    evidence: dict[str, float] = Field(
        default={},
        description="Per kind of evidence, how far its distribution is from that of the learned pairs: 0 is the same, "
        "1 is another. It decides nothing, as new pairs may simply be noisier.",
    )
    looks_different: bool = Field(description="True: do not rely on the scores.")
    explanation: str = Field(description="The same in a sentence or two.")


class Report(Part):
    run_id: UUID
    collection_id: UUID
    headline: str = Field(description="The result in a sentence or two.")
    calibration: Calibration | None = Field(
        description="Null when the run had no probes: with probe_share 0, or where no mismatches could be made."
    )
    histograms: Histograms
    agreement: Agreement
    slices: Slices
    extremes: Extremes
    recipe: dict[str, Any] = Field(description="What was run, and why.")
    elements: ElementsReport | None = Field(default=None, description="Null for runs that explained nothing.")
    repair: RepairReport | None = Field(default=None, description="Shifted rows, duplicates, and what fits better.")
    drift: Drift | None = Field(default=None, description="Null for a run that trained networks of its own.")
