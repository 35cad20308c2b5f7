"""Request and response shapes of cuts: where kept pairs end and flagged ones begin."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError


class CutChoice(BaseModel):
    """Where to cut: one of these at most. No new run is needed for another cut."""

    model_config = ConfigDict(extra="forbid")

    min_confidence: float | None = Field(default=None, ge=0, le=1, description="Least `clean_confidence`, inclusive.")
    min_precision: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Keep as many pairs, most trusted first, as leave this share of them expected to match; between "
        "two rows of the report's curve the precision is taken to change evenly.",
    )
    keep_share: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Keep exactly this share of the scored pairs (rounded), most trusted first.",
    )
    keep: int | None = Field(
        default=None, ge=0, lt=2**63, description="Keep exactly this many pairs, most trusted first; ties by uid, row."
    )
    cost_ratio: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="How many lost matching pairs one kept mismatch is worth; 1 is the default cut.",
    )

    @model_validator(mode="after")
    def _one_cut(self) -> Self:
        if len(self.given_cuts) > 1:
            given, known = ", ".join(self.given_cuts), ", ".join(CutChoice.model_fields)
            raise PydanticCustomError("one_cut", f"{given} were given together; give at most one of {known}.")
        return self

    @property
    def moves_cut(self) -> bool:
        """`min_confidence` does not, it only selects rows."""
        return self.given_cuts not in ([], ["min_confidence"])

    @property
    def given_cuts(self) -> list[str]:
        return [name for name in CutChoice.model_fields if getattr(self, name) is not None]


class Expected(BaseModel):
    """What a cut gives, as probes tell: estimates with 95 % intervals. Null where it cannot be said."""

    precision: float | None = Field(description="Share of the kept pairs that match.")
    precision_low: float | None
    precision_high: float | None
    recall: float | None = Field(description="Share of all matching pairs that are kept.")
    recall_low: float | None
    recall_high: float | None
    flagged_precision: float | None = Field(description="Share of the flagged pairs that are mismatches.")
    flagged_precision_low: float | None
    flagged_precision_high: float | None
    flagged_recall: float | None = Field(description="Share of all mismatches that are flagged.")
    flagged_recall_low: float | None
    flagged_recall_high: float | None


class Cut(BaseModel):
    confidence: float = Field(description="Pairs are kept from this `clean_confidence` on, inclusive.")
    last_uid: str | None = Field(
        default=None,
        description="For an exact count: the last pair that is kept, in the order of uid and row, among those with "
        "just this confidence.",
    )
    last_row: int | None = Field(default=None, description="Its row.")
    kept: int = Field(description="Exactly this many scored pairs are kept.")
    flagged: int = Field(description="All other scored pairs.")
    expected: Expected | None = Field(default=None, description="Null for a run without calibration.")
