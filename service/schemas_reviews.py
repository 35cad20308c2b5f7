"""Request and response shapes of reviews: what people said, what to look at next, and what follows from it."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from service.db.states import ReviewReason, Verdict
from service.schemas import UID, Confidence, Request, Text

MAX_REVIEWS = 1_000  # in one call
Uid = Annotated[str, Field(pattern="^[0-9a-fA-F]{32}$", description="32 hex digits.")]
Planned = Literal[ReviewReason.AUDIT, ReviewReason.DISAGREEMENT, ReviewReason.NEAR_CUT]


class ReviewGiven(Request):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"verdict": "mismatch"}]})

    verdict: Verdict = Field(description="Whether the caption fits the image.")
    note: Text | None = Field(default=None, max_length=2_000, description="Anything you want to remember.")
    reason: ReviewReason = Field(
        default=ReviewReason.CHOSEN,
        description="Why you looked at it: what the plan says, or `chosen`. Say `audit` only of pairs drawn by chance: "
        "estimates rest on them. An audit stays one when it is corrected, and what was judged on an earlier run keeps "
        "its reason.",
    )
    reviewer: Text | None = Field(
        default=None, min_length=1, max_length=200, description="Who says so; the name of the API key when absent."
    )


class ReviewOfPair(ReviewGiven):
    uid: Uid


class ReviewBatch(Request):
    reviews: list[ReviewOfPair] = Field(
        min_length=1, max_length=MAX_REVIEWS, description="At most one of each pair. One that is wrong refuses all."
    )
    dry_run: bool = Field(default=False, description="Only check them; store nothing.")


class Stored(BaseModel):
    stored: int


class Review(BaseModel):
    uid: str = UID
    verdict: Verdict
    reason: ReviewReason
    reviewer: str
    note: str | None = None
    run_id: UUID | None = Field(default=None, description="On which it was judged first; null when that is gone.")
    reviewed_at: datetime


class Proposal(BaseModel):
    uid: str = UID
    row: int
    url: str
    caption: str
    clean_confidence: float = Confidence
    confidence_a: float = Confidence
    confidence_b: float = Confidence
    is_clean: bool
    reason: Planned = Field(description="To be sent with the review.")
    why: str = Field(description="The reason in a sentence.")


class Plan(BaseModel):
    items: list[Proposal]


class Measure(BaseModel):
    """A share, counted: `hits` of `of`, with the exact (Clopper-Pearson) 95 % interval."""

    estimate: float
    low: float
    high: float
    hits: int
    of: int
    expected: float | None = Field(default=None, description="What the run's calibration says, without labels.")
    is_expected_within: bool | None = Field(default=None, description="Whether that lies in the interval.")


class Estimate(BaseModel):
    """A measure is null where nothing was counted."""

    cut: float = Field(description="Pairs are kept from this `clean_confidence` on.")
    audits: int = Field(
        description="Pairs drawn by chance that a person has judged on this run. One that was reviewed for another "
        "reason counts too, where the audit has gone past it."
    )
    unsure: int = Field(description="Those among the drawn ones where the person was unsure; left out.")
    precision: Measure | None = Field(description="Share of the kept pairs that match.")
    recall: Measure | None = Field(description="Share of all matching pairs that are kept.")
    flagged_precision: Measure | None = Field(description="Share of the flagged pairs that are mismatches.")
    flagged_recall: Measure | None = Field(description="Share of all mismatches that are flagged.")
    noise_rate: Measure | None = Field(description="Share of all pairs that are mismatches.")
    more_audits: int = Field(description="About how many more bring precision and recall to within 5 points.")
    explanation: str = Field(description="What this rests on, for people.")
