"""The words for what state things are in, and the order of a run's stages."""

from enum import StrEnum


class CollectionState(StrEnum):
    EMPTY = "empty"  # no file yet
    INGESTING = "ingesting"
    READY = "ready"
    FAILED = "failed"


class JobState(StrEnum):
    """Of runs, stages and exports. Only stages wait (for the stage before them)."""

    WAITING = "waiting"
    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


FINAL_STATES = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED})


class StageName(StrEnum):
    INGEST = "ingest"
    FETCH = "fetch"
    ENCODE = "encode"
    TRAIN = "train"
    SCORE = "score"
    EXPLAIN = "explain"
    PUBLISH = "publish"
    EXPORT = "export"


RUN_STAGES = (
    StageName.FETCH,
    StageName.ENCODE,
    StageName.TRAIN,
    StageName.SCORE,
    StageName.EXPLAIN,
    StageName.PUBLISH,
)

# Stages that run networks go to the queue that machines with a GPU listen to.
QUEUES = {
    StageName.INGEST: "cpu",
    StageName.FETCH: "cpu",
    StageName.ENCODE: "gpu",
    StageName.TRAIN: "gpu",
    StageName.SCORE: "gpu",
    StageName.EXPLAIN: "gpu",
    StageName.PUBLISH: "cpu",
    StageName.EXPORT: "cpu",
}


class ImageStatus(StrEnum):
    SUCCESS = "success"
    FAILED = "failed"


class Scope(StrEnum):
    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


class Split(StrEnum):
    CLEAN = "clean"
    NOISY = "noisy"
    UNSCORED = "unscored"  # the image could not be read, so no model judged the pair


class Verdict(StrEnum):
    MATCH = "match"
    MISMATCH = "mismatch"
    UNSURE = "unsure"


class ReviewReason(StrEnum):
    """Why a person looked at a pair. Only audits are a random sample, so only they estimate precision and recall."""

    AUDIT = "audit"
    DISAGREEMENT = "disagreement"
    NEAR_CUT = "near_cut"
    CHOSEN = "chosen"  # by the person
