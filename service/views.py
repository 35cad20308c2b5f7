"""Rows -> response shapes."""

from typing import Any

from sqlalchemy import Row

from service import schemas
from service.db.explanations import unpack_elements
from service.db.states import FINAL_STATES, JobState, Split
from service.db.tables import ApiKey, Collection, Export, Run, Stage
from service.progress import Timed, run_progress, run_seconds_left, stage_progress, stage_seconds_left


def collection_view(collection: Collection, images: dict[str, int]) -> schemas.Collection:
    sha256 = collection.file_sha256.hex() if collection.file_sha256 else None
    return schemas.Collection.model_validate({**_columns(collection), "file_sha256": sha256, "images": images})


def run_view(run: Run, stages: Timed) -> schemas.Run:
    left = run_seconds_left(stages) if run.state == JobState.RUNNING else None
    current = next((stage.name for stage, _ in stages if stage.state not in FINAL_STATES), None)
    return schemas.Run.model_validate(
        {
            **_columns(run),
            "stage": current,
            "progress": 1.0 if run.state == JobState.SUCCEEDED else run_progress(stages),
            "eta_seconds": None if left is None else round(left, 1),
            "stages": [_stage_view(stage, taken) for stage, taken in stages],
        }
    )


def _stage_view(stage: Stage, seconds: float | None) -> dict[str, Any]:
    left = stage_seconds_left(stage, seconds)
    return {
        "name": stage.name,
        "state": stage.state,
        "progress": stage_progress(stage),
        "message": stage.message,
        "attempt": stage.attempt,
        "seconds": None if seconds is None else round(seconds, 2),
        "eta_seconds": None if left is None else round(left, 1),
    }


def pair_view(row: Row[Any]) -> schemas.Pair:
    return schemas.Pair.model_validate(_pair_fields(row))


def _pair_fields(row: Row[Any]) -> dict[str, Any]:
    fields = row._asdict()
    is_clean = fields.pop("is_clean")
    splits = {True: Split.CLEAN, False: Split.NOISY, None: Split.UNSCORED}
    fields |= {
        "uid": fields["uid"].hex,
        "sha256": fields["sha256"].hex() if fields["sha256"] else None,
        "status": fields["status"] or "pending",
        "split": splits[is_clean],
        "is_mismatch_issue": None if is_clean is None else not is_clean,
    }
    return fields


def explained_view(row: Row[Any], repair: dict[str, Any] | None) -> schemas.Pair:
    """Of a row with its explanation; `repair` with what stands in the suggested rows."""
    shown = _pair_fields(row) | {"elements": unpack_elements(row.elements, row.caption), "repair": repair}
    return schemas.Pair.model_validate(shown)


def export_view(export: Export, stage: Stage) -> schemas.Export:
    is_ready = export.state == JobState.SUCCEEDED
    download = f"/v1/exports/{export.id}/download" if is_ready else None
    return schemas.Export.model_validate({**_columns(export), "progress": stage_progress(stage), "download": download})


def key_view(key: ApiKey) -> schemas.Key:
    return schemas.Key.model_validate(_columns(key))


def _columns(row: Any) -> dict[str, Any]:
    """What was loaded with the row; a column that is read only when asked for (a run's report) stays out."""
    return {column.key: getattr(row, column.key) for column in row.__mapper__.column_attrs if not column.deferred}
