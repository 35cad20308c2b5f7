"""Request and response shapes, with the descriptions and examples that OpenAPI shows."""

from datetime import datetime
from typing import Annotated, Any, Generic, Literal, TypeVar
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from model.config import FORMATS as FORMATS
from service.cut_shapes import CutChoice
from service.db.states import CollectionState, JobState, Scope, Split, StageName, Verdict
from service.schemas_explanations import Elements, Repair

UID = Field(
    description="First 128 bits of sha256 over `url NUL caption`, as 32 hex digits.",
    examples=["9f86d081884c7d659a2feaa0c55ad015"],
)
Confidence = Field(description="0 to 1, low is bad.", ge=0, le=1)


def _storable(text: str) -> str:
    if "\0" in text:
        raise ValueError("must not contain a NUL character")
    return text


Text = Annotated[str, AfterValidator(_storable)]  # PostgreSQL cannot store every string that JSON can carry


class Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Failure(BaseModel):
    """Why something failed."""

    code: str = Field(description="Stable, for programs.", examples=["no_images"])
    title: str
    detail: str = Field(description="For people: what happened and what to do.")


class CollectionCreate(Request):
    name: Text = Field(
        default="collection", min_length=1, max_length=200, description="For people.", examples=["cc3m sample"]
    )
    url_column: int | Text | None = Field(
        default=None, description="Number from 0, or name in the header; else detected."
    )
    caption_column: int | Text | None = Field(
        default=None, description="Number from 0, or name in the header; else detected."
    )
    label_column: int | Text | None = Field(
        default=None,
        description="Number from 0, or name in the header; else a column named label, category or class, or the one of "
        "the Conceptual Captions labels subset.",
    )
    header: bool | None = Field(default=None, description="Whether the first line names the columns; else detected.")
    input_format: Literal[*FORMATS] | None = Field(  # type: ignore[valid-type]
        default=None, description="Which format the file has; else its content tells."
    )
    split: Text | None = Field(
        default=None, description="Of a folder with several splits: which one, e.g. `train`.", max_length=100
    )
    noise_index: Text | None = Field(
        default=None,
        description="Name of a noise index file in a `precomp` folder: images are exchanged as it says, and which "
        "pairs match is known from it.",
        max_length=1000,
    )
    features: Text | None = Field(
        default=None, description="Of a `datacomp` folder with two kinds of features: `b32` or `l14`.", max_length=100
    )
    folder: Text | None = Field(
        default=None,
        description="A folder or file on the worker's machine, below one of its PAIRSIFT_IMAGE_ROOTS. It is read where "
        "it lies, at once; no file is uploaded then.",
        pattern="^/",
        max_length=4000,
    )
    image_root: Text | None = Field(
        default=None,
        description="A folder on the worker's machine. With it, the URL column may hold paths of image files "
        "below this folder.",
    )


class Collection(BaseModel):
    id: UUID
    name: str
    state: CollectionState
    file_name: str | None = None
    file_bytes: int | None = None
    file_sha256: str | None = None
    format: dict[str, Any] | None = Field(default=None, description="Columns and header as they were detected.")
    lines_read: int = Field(description="Always accepted + rejected; a header line is not counted.")
    accepted: int
    rejected: int
    labelled: int = Field(default=0, description="How many accepted pairs have a label.")
    reject_reasons: dict[str, int] = Field(examples=[{"too_few_columns": 2, "not_a_url": 1}])
    images: dict[str, int] = Field(
        default_factory=dict, description="How many images arrived (`success`), and the others by class."
    )
    error: Failure | None = None
    created_at: datetime


class RetryImages(Request):
    classes: list[Text] | None = Field(
        default=None,
        description="Only failures of these classes; else all of them.",
        examples=[["timeout", "429"]],
    )


class Retried(BaseModel):
    forgotten: int = Field(description="How many failed images the next run will try again.")


class Reject(BaseModel):
    row: int = Field(description="Line number in the file, from 1.")
    byte_offset: int = Field(description="Where the line starts in the (decompressed) file.")
    reason: str
    detail: str
    text: str = Field(description="The start of the line.")


class RunCreate(Request):
    """Every field is optional; `GET /v1/methods` lists methods, backbones and their options with defaults."""

    model_config = ConfigDict(
        extra="allow",  # the training options are checked by name and range in model.config, which knows them
        json_schema_extra={"examples": [{"method": "crcl"}, {"method": "ncr", "seed": 7}]},
    )

    method: str | None = Field(default=None, description="How it learns from noisy pairs.", examples=["crcl"])
    backbone: str | None = Field(default=None, description="What compares image and caption.", examples=["head"])
    encoder: str | None = Field(default=None, description="Where the features come from.", examples=["lite"])
    detector: str | None = Field(
        default=None,
        description="An object detector for the reasons: the path of its ONNX file on the worker's machine, below one "
        "of its PAIRSIFT_IMAGE_ROOTS. Beside `X.onnx` lies `X.labels.txt` with the name of a label on each line.",
        examples=["/models/street.onnx"],
    )
    seed: int | None = Field(default=None, description="The same seed gives the same scores.")
    method_options: dict[str, Any] | None = Field(
        default=None, description="Options of the method; unknown ones are refused."
    )
    backbone_options: dict[str, Any] | None = Field(
        default=None, description="Options of the backbone; unknown ones are refused."
    )


class StageStatus(BaseModel):
    name: StageName
    state: JobState
    progress: float = Field(ge=0, le=1)
    message: str | None = None
    attempt: int = Field(description="How often a worker has taken it up.")
    seconds: float | None = None
    eta_seconds: float | None = None


class Run(BaseModel):
    id: UUID
    collection_id: UUID
    model_run_id: UUID | None = Field(
        default=None, description="The run whose networks judged these pairs; null for one that trained its own."
    )
    state: JobState
    stage: StageName | None = Field(default=None, description="The stage that runs or comes next.")
    progress: float = Field(ge=0, le=1, description="Of the whole run.")
    eta_seconds: float | None = Field(
        default=None, description="An estimate from the speed of the current stage; null until that is known."
    )
    stages: list[StageStatus]
    config: dict[str, Any] = Field(description="All settings in force, defaults included.")
    summary: dict[str, Any] | None = Field(
        default=None,
        description="When published: how many pairs are clean, noisy and unscored, and the estimated noise rate. Where "
        "the upload knew the truth (a noise index), `truth` says how well mismatches were found. `cannot_judge` is why "
        "the run can score no new pairs, where it cannot.",
        examples=[{"pairs": 4000, "clean": 2810, "noisy": 1190, "unscored": 0, "noise_estimate": 0.29}],
    )
    error: Failure | None = None
    created_at: datetime
    finished_at: datetime | None = None


class Pair(BaseModel):
    uid: str = UID
    row: int
    url: str
    caption: str
    label: str | None = Field(default=None, description="The category that the file gives the pair.")
    extra: str | None = Field(
        default=None,
        description="What else the source says of it: other columns of a TSV, TAB between them, or a JSON object.",
    )
    status: Literal["success", "failed", "pending"] = Field(description="What became of the image.")
    error_class: str | None = None
    error_message: str | None = None
    width: int | None = None
    height: int | None = None
    sha256: str | None = None
    split: Split
    clean_confidence: float | None = Confidence
    confidence_a: float | None = Confidence
    confidence_b: float | None = Confidence
    rectified_correspondence: float | None = Confidence
    uncertainty: float | None = Field(
        default=None, ge=0, le=1, description="How little the method knows of the pair; high is uncertain. Only `decl`."
    )
    label_confidence: float | None = Field(
        default=None, ge=0, le=1, description="How sure it is that the label is right; low is bad. Only `mrl`."
    )
    predicted_label: str | None = Field(default=None, description="The likeliest label. Only `mrl`.")
    similarity: float | None = Field(
        default=None, description="Mean of the networks' similarities; a cosine, or 0 to 1 for sgr, saf and sgraf."
    )
    weight: float | None = Field(
        default=None, ge=0, description="For training: how much the pair should count; 1 on average over kept pairs."
    )
    neighbour_agreement: float | None = Field(
        default=None, description="Whether the captions of similar images are like this one, and the other way round."
    )
    clip_similarity: float | None = Field(
        default=None, description="The frozen encoder's own similarity, where it has one space for both."
    )
    eme: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Exactly-matched-element score: how many of the things that caption and image name or show are on "
        "both sides. Null where there is nothing to compare, and for runs that explained nothing.",
    )
    eme_soft: float | None = Field(default=None, ge=0, le=1, description="The same with probabilities.")
    elements: Elements | None = Field(
        default=None, description="What the score is made of. In lists only with `elements=true`."
    )
    repair: Repair | None = Field(
        default=None, description="What would fit better, of flagged pairs. In lists only with `elements=true`."
    )
    is_mismatch_issue: bool | None = Field(default=None, description="True for pairs below the cut.")
    review: Verdict | None = Field(default=None, description="What a person said of the pair.")


class PairFilter(CutChoice):
    """Which pairs: for a page and for an export alike. With `min_precision`, `keep_share`, `keep` or `cost_ratio`,
    `split` and `is_mismatch_issue` are judged by that cut instead of the run's own."""

    split: Split | None = Field(default=None, description="`clean`, `noisy` or `unscored`; all pairs when absent.")
    max_confidence: float | None = Field(default=None, ge=0, le=1, description="Most `clean_confidence`, inclusive.")
    text: Text | None = Field(default=None, max_length=200, description="Part of the caption, in any case.")
    label: Text | None = Field(default=None, max_length=1000, description="The given label, exactly.")
    review: Literal[Verdict.MATCH, Verdict.MISMATCH, Verdict.UNSURE, "none"] | None = Field(
        default=None, description="What a person said of the pair; `none`: nobody did."
    )


class ExportCreate(PairFilter):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"format": "tsv", "split": "clean"}]})

    format: Literal["tsv", "jsonl", "parquet", "weights"] = Field(
        default="tsv",
        description="`tsv` has the uploaded columns in their order; `jsonl` and `parquet` carry all scores, the "
        "elements of caption and image and what would repair flagged pairs; `weights` is a TSV of uid, row and weight "
        "of scored pairs, for training.",
    )
    corrected: bool = Field(
        default=False,
        description="Rows of shifted blocks take the caption that belongs to their image; those without one are left "
        "out, and `filter.correction` counts them. They are other pairs than those that were scored, so no filter but "
        "`format` goes with it: upload the file and start a run of it.",
    )


class Export(BaseModel):
    id: UUID
    run_id: UUID
    state: JobState
    format: str
    filter: dict[str, Any] = Field(
        description="As asked for; `cut` is what a cut of your own came to, `correction` what was corrected."
    )
    progress: float = Field(ge=0, le=1)
    rows: int | None = None
    bytes: int | None = None
    sha256: str | None = None
    download: str | None = Field(default=None, description="Where the file is, once it is ready.")
    error: Failure | None = None
    created_at: datetime
    finished_at: datetime | None = None


class KeyCreate(Request):
    name: Text = Field(min_length=1, max_length=100, description="For people: where it is used.", examples=["laptop"])
    scopes: list[Scope] = Field(min_length=1, description="What it may do.", examples=[["write"]])
    days: int | None = Field(default=None, ge=1, le=36500, description="How long it is valid; for ever when absent.")


class Key(BaseModel):
    id: UUID
    name: str
    hint: str = Field(description="The first characters of the secret.")
    scopes: list[Scope]
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None


class NewKey(Key):
    secret: str = Field(description="Shown only here.")


Item = TypeVar("Item")


class Page(BaseModel, Generic[Item]):
    items: list[Item]
    next: str | None = Field(
        default=None, description="Give it as `cursor` for the next page; absent on the last page."
    )
