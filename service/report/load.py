"""The stored report of a run, with its headline; or a problem that says why there is none."""

from uuid import UUID

from sqlalchemy.orm import Session

from service import queries
from service.db.states import JobState
from service.db.tables import ApiKey, Collection, Run
from service.problems import conflict
from service.report.page import Origin
from service.report.schemas import Report
from service.report.words import headline


def published_report(session: Session, key: ApiKey, run_id: UUID) -> tuple[Run, Report]:
    run = queries.get_owned(session, Run, run_id, key.workspace_id)
    if run.state != JobState.SUCCEEDED:
        detail = f"The run is '{run.state}'; it has a report once it has succeeded."
        raise conflict("run_not_published", "There is no report yet", detail)
    if run.report is None:
        detail = "The run was published before reports existed; start a new run of the collection to get one."
        raise conflict("no_report", "The run has no report", detail)
    report = Report(run_id=run.id, collection_id=run.collection_id, headline="", **run.report)
    report.headline = headline(report.calibration, report.slices.overall, report.drift)
    return run, report


def origin_of(session: Session, run: Run) -> Origin:
    collection = session.get_one(Collection, run.collection_id)
    return Origin(collection.name, run.finished_at, run.config, (run.summary or {}).get("unscored", 0))
