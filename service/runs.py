"""What the run and export endpoints do."""

from uuid import UUID

from sqlalchemy.orm import Session

from model.config import MIN_PAIRS, ConfigError, RunConfig, parse_run_config, run_config_to_dict
from service import cuts, queries, schemas
from service.db import submissions
from service.db.fit import misfit
from service.db.states import FINAL_STATES, CollectionState, JobState
from service.db.tables import ApiKey, Collection, Export, Run
from service.problems import Problem, conflict, unusable
from service.report.words import why_no_probes

NOT_FILTERS = {"format", "corrected"}


def create_run(session: Session, key: ApiKey, collection_id: UUID, body: schemas.RunCreate) -> UUID:
    collection = queries.get_owned(session, Collection, collection_id, key.workspace_id, lock=True)
    config = _checked_config(body)
    if collection.state in (CollectionState.EMPTY, CollectionState.FAILED):
        detail = (
            f"The collection is '{collection.state}'; upload a file first: PUT /v1/collections/{collection_id}/file."
        )
        raise conflict("collection_not_ready", "There is nothing to run on", detail)
    is_ready = collection.state == CollectionState.READY
    if is_ready and collection.accepted < MIN_PAIRS:
        detail = f"The collection has {collection.accepted} pairs; training needs at least {MIN_PAIRS}."
        raise unusable("too_few_pairs", "Too few pairs to train", detail, minimum=MIN_PAIRS)
    if is_ready and (missing := misfit(collection, config)):
        raise unusable(missing.code, missing.title, missing.detail)
    run = Run(workspace_id=key.workspace_id, collection_id=collection.id, config=run_config_to_dict(config))
    session.add(run)
    session.flush()
    submissions.submit_run(session, run, is_ready=is_ready)
    return run.id


def cancel(session: Session, key: ApiKey, run_id: UUID) -> Run:
    run = queries.get_owned(session, Run, run_id, key.workspace_id, lock=True)
    if run.state in FINAL_STATES:
        raise conflict("run_ended", "The run has ended", f"The run is '{run.state}'; there is nothing to cancel.")
    submissions.cancel_run(session, run)
    session.refresh(run)
    return run


def resume(session: Session, key: ApiKey, run_id: UUID) -> Run:
    run = queries.get_owned(session, Run, run_id, key.workspace_id, lock=True)
    if run.state not in (JobState.FAILED, JobState.CANCELLED):
        detail = f"The run is '{run.state}'; only a failed or cancelled run can be resumed."
        raise conflict("run_not_ended", "The run cannot be resumed", detail)
    collection = session.get_one(Collection, run.collection_id)
    if collection.state != CollectionState.READY:
        detail = f"The collection is '{collection.state}'; upload its file again and start a new run."
        raise conflict("collection_not_ready", "There is nothing to run on", detail)
    submissions.resume_run(session, run)
    session.refresh(run)
    return run


def create_export(session: Session, key: ApiKey, run_id: UUID, body: schemas.ExportCreate) -> UUID:
    run = queries.get_owned(session, Run, run_id, key.workspace_id)
    if run.state != JobState.SUCCEEDED:
        detail = f"The run is '{run.state}'; its scores can be exported once it has succeeded."
        raise conflict("run_not_published", "There are no scores yet", detail)
    if body.format == "weights" and not queries.has_weights(session, run.id):
        raise _no_weights(session, run)
    _check_corrected(session, run, body)
    wanted = body.model_dump(mode="json", exclude_none=True, exclude={"format"} if body.corrected else NOT_FILTERS)
    if body.moves_cut:
        wanted["cut"] = cuts.cut_of(session, run, body).model_dump(mode="json")
    export = Export(workspace_id=key.workspace_id, run_id=run.id, format=body.format, filter=wanted)
    session.add(export)
    session.flush()
    submissions.submit_export(session, export, run.collection_id)
    return export.id


def _no_weights(session: Session, run: Run) -> Problem:
    if queries.calibration(session, run.id) is None:
        detail = f"The run had no probes, and weights need the calibration that these give. {why_no_probes(run.config)}"
    else:
        detail = "The run was published before there were weights; a new run gives every scored pair one."
    return conflict("no_weights", "The run has no weights", detail)


def _check_corrected(session: Session, run: Run, body: schemas.ExportCreate) -> None:
    if not body.corrected:
        return
    others = body.model_dump(mode="json", exclude_none=True, exclude=NOT_FILTERS)
    if others or body.format == "weights":
        given = ", ".join(others) or "format 'weights'"
        detail = (
            f"corrected: leave out {given}. Rows of shifted blocks become other pairs than those that were scored; "
            "export all of them, upload the file and start a run of it."
        )
        raise unusable("corrected_alone", "A corrected file is of all pairs", detail)
    if not queries.has_shifts(session, run.id):
        detail = "The run found no rows whose captions are shifted against their images; export without `corrected`."
        raise conflict("no_shifts", "There is nothing to correct", detail)


def _checked_config(body: schemas.RunCreate) -> RunConfig:
    try:
        return parse_run_config(body.model_dump(exclude_none=True))
    except ConfigError as error:
        errors = [{"field": error.field, "message": error.message}]
        detail = f"{error.field}: {error.message}"
        raise unusable("invalid_option", "An option is not valid", detail, errors=errors) from error
