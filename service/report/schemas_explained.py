"""The shape of what a report says about reasons and repairs: elements, shifted rows, duplicates."""

from pydantic import BaseModel, ConfigDict, Field


class Part(BaseModel):
    """Of a report. What a later version adds to the stored report goes through as it is."""

    model_config = ConfigDict(extra="allow")


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
