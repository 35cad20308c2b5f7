"""One class per concept. Bulk tables (pairs, rejects, images, scores, explanations) are keyed by their place in the
uploaded file and written by COPY; the others are rows of the state machine. Pairs, scores and explanations have no
foreign key, whose check of every row would take a third of the time of a COPY: `service.db.bulk` deletes them."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import (
    ARRAY,
    BigInteger,
    CheckConstraint,
    DateTime,
    ForeignKey,
    Index,
    LargeBinary,
    String,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB, REAL
from sqlalchemy.orm import Mapped, mapped_column

from service.db.base import Base
from service.db.states import CollectionState, ImageStatus, JobState, ReviewReason, Verdict


def _id() -> Mapped[UUID]:
    return mapped_column(primary_key=True, default=uuid4)


def _now() -> Mapped[datetime]:
    return mapped_column(DateTime(timezone=True), server_default=func.now())


def _time() -> Mapped[datetime | None]:
    return mapped_column(DateTime(timezone=True))


def _belongs_to(target: str, **options: Any) -> Mapped[UUID]:
    return mapped_column(ForeignKey(f"{target}.id", ondelete="CASCADE"), **options)


def _problem() -> Mapped[dict[str, Any] | None]:
    """Why it failed: {"code", "title", "detail"}; shown to the user as it is."""
    return mapped_column(JSONB)


def _one_of(column: str, words: type[StrEnum]) -> CheckConstraint:
    listed = ", ".join(f"'{word}'" for word in words)
    return CheckConstraint(f"{column} IN ({listed})", name=f"{column}_known")


class Workspace(Base):
    __tablename__ = "workspaces"

    id: Mapped[UUID] = _id()
    name: Mapped[str] = mapped_column(unique=True)
    created_at: Mapped[datetime] = _now()


class ApiKey(Base):
    __tablename__ = "api_keys"

    id: Mapped[UUID] = _id()
    workspace_id: Mapped[UUID] = _belongs_to("workspaces", index=True)
    name: Mapped[str]
    hint: Mapped[str] = mapped_column(String(12))  # the first characters, to tell keys apart in a list
    digest: Mapped[bytes] = mapped_column(LargeBinary(32), unique=True)
    scopes: Mapped[list[str]] = mapped_column(ARRAY(String(8)))
    created_at: Mapped[datetime] = _now()
    expires_at: Mapped[datetime | None] = _time()
    revoked_at: Mapped[datetime | None] = _time()


class Collection(Base):
    __tablename__ = "collections"
    __table_args__ = (
        _one_of("state", CollectionState),
        CheckConstraint("lines_read = accepted + rejected", name="every_line_accounted_for"),
        CheckConstraint("labelled BETWEEN 0 AND accepted", name="labels_within_accepted"),
        Index("ix_collections_workspace_id_created_at", "workspace_id", "created_at"),
    )

    id: Mapped[UUID] = _id()
    workspace_id: Mapped[UUID] = _belongs_to("workspaces")
    name: Mapped[str]
    state: Mapped[str] = mapped_column(String(16), default=CollectionState.EMPTY)
    read_options: Mapped[dict[str, Any]] = mapped_column(JSONB, default=dict)  # as the user asked
    format: Mapped[dict[str, Any] | None] = mapped_column(JSONB)  # as detected
    file_name: Mapped[str | None]
    file_bytes: Mapped[int | None] = mapped_column(BigInteger)
    file_sha256: Mapped[bytes | None] = mapped_column(LargeBinary(32))
    lines_read: Mapped[int] = mapped_column(BigInteger, default=0)
    accepted: Mapped[int] = mapped_column(BigInteger, default=0)
    rejected: Mapped[int] = mapped_column(BigInteger, default=0)
    labelled: Mapped[int] = mapped_column(BigInteger, default=0, server_default=text("0"))  # accepted with a label
    reject_reasons: Mapped[dict[str, int]] = mapped_column(JSONB, default=dict)
    error: Mapped[dict[str, Any] | None] = _problem()
    created_at: Mapped[datetime] = _now()


class Pair(Base):
    __tablename__ = "pairs"
    __table_args__ = (Index("ix_pairs_collection_id_uid", "collection_id", "uid"),)

    collection_id: Mapped[UUID] = mapped_column(primary_key=True)
    row: Mapped[int] = mapped_column(BigInteger, primary_key=True)  # line number in the file
    uid: Mapped[UUID]  # 128 bits of sha256 over url NUL caption; equal for repeated pairs
    url: Mapped[str]
    caption: Mapped[str]
    extra: Mapped[str | None]  # the file's other columns: TAB between them, or a JSON object
    label: Mapped[str | None]  # the category that the file gives it
    place: Mapped[str | None]  # where in the upload its image or its features lie
    is_match: Mapped[bool | None]  # the truth, where the upload knows it


class Reject(Base):
    __tablename__ = "rejects"

    collection_id: Mapped[UUID] = _belongs_to("collections", primary_key=True)
    row: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    byte_offset: Mapped[int] = mapped_column(BigInteger)
    reason: Mapped[str] = mapped_column(String(32))
    detail: Mapped[str]
    text: Mapped[str]


class Image(Base):
    """What became of the image of each pair."""

    __tablename__ = "images"
    __table_args__ = (_one_of("status", ImageStatus),)

    collection_id: Mapped[UUID] = _belongs_to("collections", primary_key=True)
    row: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    status: Mapped[str] = mapped_column(String(8))
    error_class: Mapped[str | None] = mapped_column(String(32))
    error_message: Mapped[str | None]
    sha256: Mapped[bytes | None] = mapped_column(LargeBinary(32))
    width: Mapped[int | None]
    height: Mapped[int | None]


class Run(Base):
    __tablename__ = "runs"
    __table_args__ = (
        _one_of("state", JobState),
        Index("ix_runs_collection_id_created_at", "collection_id", "created_at"),
    )

    id: Mapped[UUID] = _id()
    workspace_id: Mapped[UUID] = _belongs_to("workspaces", index=True)
    collection_id: Mapped[UUID] = _belongs_to("collections")
    state: Mapped[str] = mapped_column(String(16), default=JobState.QUEUED)
    config: Mapped[dict[str, Any]] = mapped_column(JSONB)
    cancel_requested: Mapped[bool] = mapped_column(default=False)
    # Another run whose networks and calibration judge these pairs; nothing is trained then.
    model_run_id: Mapped[UUID | None] = mapped_column(ForeignKey("runs.id", ondelete="SET NULL"))
    summary: Mapped[dict[str, Any] | None] = mapped_column(JSONB)  # written when published
    # Also written when published; large, so it is read only when asked for.
    report: Mapped[dict[str, Any] | None] = mapped_column(JSONB, deferred=True)
    error: Mapped[dict[str, Any] | None] = _problem()
    created_at: Mapped[datetime] = _now()
    finished_at: Mapped[datetime | None] = _time()


class Export(Base):
    __tablename__ = "exports"
    __table_args__ = (_one_of("state", JobState),)

    id: Mapped[UUID] = _id()
    workspace_id: Mapped[UUID] = _belongs_to("workspaces", index=True)
    run_id: Mapped[UUID] = _belongs_to("runs", index=True)
    state: Mapped[str] = mapped_column(String(16), default=JobState.QUEUED)
    format: Mapped[str] = mapped_column(String(16))
    filter: Mapped[dict[str, Any]] = mapped_column(JSONB)
    rows: Mapped[int | None] = mapped_column(BigInteger)
    bytes: Mapped[int | None] = mapped_column(BigInteger)
    sha256: Mapped[str | None] = mapped_column(String(64))
    error: Mapped[dict[str, Any] | None] = _problem()
    created_at: Mapped[datetime] = _now()
    finished_at: Mapped[datetime | None] = _time()


class Stage(Base):
    """One unit of work for a worker. `attempt` is the fencing token: every write that matters carries it."""

    __tablename__ = "stages"
    __table_args__ = (
        _one_of("state", JobState),
        UniqueConstraint("run_id", "name", "shard"),
        UniqueConstraint("export_id"),
        Index("ix_stages_unfinished", "state", postgresql_where=text("state IN ('queued', 'running')")),
    )

    id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    collection_id: Mapped[UUID] = _belongs_to("collections", index=True)
    run_id: Mapped[UUID | None] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    export_id: Mapped[UUID | None] = mapped_column(ForeignKey("exports.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(16))
    shard: Mapped[int] = mapped_column(default=0)
    position: Mapped[int] = mapped_column(default=0)
    state: Mapped[str] = mapped_column(String(16))
    attempt: Mapped[int] = mapped_column(default=0)
    # Attempts that ended without a fault (a worker asked to stop, a user's resume): they do not count as crashes.
    forgiven: Mapped[int] = mapped_column(default=0)
    owner: Mapped[str | None]
    lease_until: Mapped[datetime | None] = _time()
    announced_at: Mapped[datetime | None] = _time()  # when a message was last sent; empty means not yet
    done: Mapped[int] = mapped_column(BigInteger, default=0)
    total: Mapped[int] = mapped_column(BigInteger, default=0)
    message: Mapped[str | None]
    error: Mapped[dict[str, Any] | None] = _problem()
    started_at: Mapped[datetime | None] = _time()
    finished_at: Mapped[datetime | None] = _time()


class Score(Base):
    """One row per judged pair and run; written once, when the run is published. Low is bad, everywhere."""

    __tablename__ = "scores"
    __table_args__ = (Index("ix_scores_run_id_clean_confidence_row", "run_id", "clean_confidence", "row"),)

    run_id: Mapped[UUID] = mapped_column(primary_key=True)
    row: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    clean_confidence: Mapped[float] = mapped_column(REAL)
    confidence_a: Mapped[float] = mapped_column(REAL)
    confidence_b: Mapped[float] = mapped_column(REAL)
    rectified_correspondence: Mapped[float] = mapped_column(REAL)
    similarity: Mapped[float] = mapped_column(REAL)
    is_clean: Mapped[bool]
    # What only some methods have to say.
    uncertainty: Mapped[float | None] = mapped_column(REAL)
    label_confidence: Mapped[float | None] = mapped_column(REAL)
    predicted_label: Mapped[str | None]
    # What only some runs have: a weight for training, what the neighbours say, the frozen encoder's own similarity.
    weight: Mapped[float | None] = mapped_column(REAL)
    neighbour_agreement: Mapped[float | None] = mapped_column(REAL)
    clip_similarity: Mapped[float | None] = mapped_column(REAL)
    # The exactly-matched-element score, hard and soft; null where neither side has an element that can be judged.
    eme: Mapped[float | None] = mapped_column(REAL)
    eme_soft: Mapped[float | None] = mapped_column(REAL)


class Explanation(Base):
    """Why a pair was judged as it was, and for flagged ones what would fit; `service.db.explanations` has the form.
    Written with the scores."""

    __tablename__ = "explanations"

    run_id: Mapped[UUID] = mapped_column(primary_key=True)
    row: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    elements: Mapped[dict[str, Any]] = mapped_column(JSONB)
    repair: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))


class Review(Base):
    """What a person says of a pair; the last word counts. It is about the content, so repeated pairs share it."""

    __tablename__ = "reviews"
    __table_args__ = (_one_of("verdict", Verdict), _one_of("reason", ReviewReason))

    collection_id: Mapped[UUID] = _belongs_to("collections", primary_key=True)
    uid: Mapped[UUID] = mapped_column(primary_key=True)
    verdict: Mapped[str] = mapped_column(String(8))
    reason: Mapped[str] = mapped_column(String(16))  # why it was looked at
    reviewer: Mapped[str]
    note: Mapped[str | None]
    run_id: Mapped[UUID | None] = mapped_column(ForeignKey("runs.id", ondelete="SET NULL"))  # whose scores were seen
    reviewed_at: Mapped[datetime] = _now()


class IdempotencyKey(Base):
    """What a POST with an Idempotency-Key made, so that the same request again makes nothing new."""

    __tablename__ = "idempotency_keys"

    workspace_id: Mapped[UUID] = _belongs_to("workspaces", primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    fingerprint: Mapped[bytes] = mapped_column(LargeBinary(32))  # sha256 of path and body
    resource_id: Mapped[UUID]
    created_at: Mapped[datetime] = _now()
