"""What users set going: an ingest, a run, an export; and their second thoughts, cancel and resume. Only rows are
written here; messages follow the commit (service/queue.py)."""

from uuid import UUID

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from service.db.jobs import Wakeup, cancel_idle, end_run, queue_stages, remember_wakeup
from service.db.states import RUN_STAGES, JobState, StageName
from service.db.tables import Collection, Export, Run, Stage


def submit_ingest(session: Session, collection: Collection) -> None:
    _submit(session, Stage(collection_id=collection.id, name=StageName.INGEST, state=JobState.QUEUED))


def submit_run(session: Session, run: Run, *, is_ready: bool) -> None:
    """All stages of the run; the first may start at once when the collection is ready, else after its ingest. A run
    that borrows the networks of another one trains none."""
    names = [name for name in RUN_STAGES if name != StageName.TRAIN or run.model_run_id is None]
    for position, name in enumerate(names):
        state = JobState.QUEUED if position == 0 and is_ready else JobState.WAITING
        stage = Stage(collection_id=run.collection_id, run_id=run.id, name=name, position=position, state=state)
        _submit(session, stage)


def submit_export(session: Session, export: Export, collection_id: UUID) -> None:
    stage = Stage(collection_id=collection_id, export_id=export.id, name=StageName.EXPORT, state=JobState.QUEUED)
    _submit(session, stage)


def _submit(session: Session, stage: Stage) -> None:
    session.add(stage)
    session.flush()
    if stage.state == JobState.QUEUED:
        remember_wakeup(session, Wakeup(stage.id, StageName(stage.name)))


def cancel_run(session: Session, run: Run) -> None:
    """What waits is cancelled at once; what runs is told by its next heartbeat."""
    run.cancel_requested = True
    cancel_idle(session, run.id)
    running = select(Stage.id).where(Stage.run_id == run.id, Stage.state == JobState.RUNNING)
    if session.scalar(running) is None:
        end_run(session, run.id, JobState.CANCELLED, None)


def resume_run(session: Session, run: Run) -> None:
    """Go on with the first stage that did not succeed; finished stages are kept."""
    run.state, run.cancel_requested, run.error, run.finished_at = JobState.QUEUED, False, None, None
    unfinished = (
        update(Stage)
        .where(Stage.run_id == run.id, Stage.state != JobState.SUCCEEDED)
        .values(
            state=JobState.WAITING,
            forgiven=Stage.attempt,
            started_at=None,
            finished_at=None,
            announced_at=None,
            error=None,
        )
    )
    session.execute(unfinished)
    first = select(func.min(Stage.position)).where(Stage.run_id == run.id, Stage.state == JobState.WAITING)
    queue_stages(session, Stage.run_id == run.id, Stage.position == first.scalar_subquery())
