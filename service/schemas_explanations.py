"""Why a pair was judged as it was, and what would fit better: the shapes, with what OpenAPI shows of them."""

from typing import Literal

from pydantic import BaseModel, Field


class CaptionElement(BaseModel):
    """What the caption speaks of: a noun phrase; a content word in languages other than English."""

    text: str = Field(description="As written: `caption[start:end]`.", examples=["two red balls"])
    lemma: str = Field(description="In dictionary form; equal ones are the same element.", examples=["2 red ball"])
    start: int = Field(ge=0, description="Where it begins in the caption, in characters (code points).")
    end: int = Field(ge=0)
    probability: float = Field(ge=0, le=1, description="That the image depicts it.")
    is_depicted: bool
    wrong: str | None = Field(
        default=None,
        description="The part that is most likely wrong where it is not depicted.",
        examples=["colour", "count", "kind"],
    )
    is_known: bool = Field(
        default=True, description="The collection speaks of it often enough to judge it; others do not count."
    )


class ImageElement(BaseModel):
    """What the image shows."""

    lemma: str = Field(examples=["dog"])
    probability: float = Field(ge=0, le=1, description="That the image shows it.")
    mention: float = Field(ge=0, le=1, description="How far the caption speaks of it.")
    is_mentioned: bool
    source: Literal["concept", "detector"] = Field(
        default="concept",
        description="`concept`: learned from the captions of the collection. `detector`: seen by the detector that the "
        "run named.",
    )


class Elements(BaseModel):
    """Both sides, as the exactly-matched-element score counts them. It cannot see contradictions or complements."""

    caption: list[CaptionElement]
    image: list[ImageElement]


class Suggestion(BaseModel):
    uid: str = Field(description="Of the pair that has it.")
    row: int
    similarity: float = Field(description="By the networks; a cosine.")
    confidence: float = Field(ge=0, le=1, description="That it belongs to this one.")


class SuggestedCaption(Suggestion):
    caption: str


class SuggestedImage(Suggestion):
    url: str


class Repair(BaseModel):
    """For a flagged pair: what else in the collection may belong to its image and to its caption, likeliest first."""

    captions: list[SuggestedCaption] = Field(description="For the image; at most five.")
    images: list[SuggestedImage] = Field(description="For the caption; at most five.")
