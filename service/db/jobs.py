"""The state machine of stages (ARCHITECTURE.md, "The life of a job"). PostgreSQL is the only truth and its
clock the only clock; every transition is one conditional UPDATE, so a duplicate or a zombie changes nothing.
A run is always locked before its stages, so that a claim and a cancel at once do not wait for each other."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import and_, func, or_, select, update
from sqlalchemy.orm import Session

from service.db.states import CollectionState, JobState, StageName
from service.db.tables import Collection, Export, Run, Stage

MAX_CRASHES = 4

_crashes = Stage.attempt - Stage.forgiven
_expired = and_(Stage.state == JobState.RUNNING, Stage.lease_until < func.now())


class LeaseLost(Exception):
    """Another worker holds the stage, or it was ended: whatever this worker still does must change nothing."""


@dataclass(frozen=True)
class Claim:
    stage_id: int
    attempt: int  # the fencing token
    name: StageName
    collection_id: UUID
    run_id: UUID | None
    export_id: UUID | None


@dataclass(frozen=True)
class Wakeup:
    """What a message carries: which task, on which queue, for which stage."""

    stage_id: int
    name: StageName


def problem(code: str, title: str, detail: str) -> dict[str, Any]:
    return {"code": code, "title": title, "detail": detail}


def remember_wakeup(session: Session, wakeup: Wakeup) -> None:
    """To be sent after the commit. If that fails, the stage stays unannounced and reconcile sends it."""
    session.info.setdefault("wakeups", []).append(wakeup)


def take_wakeups(session: Session) -> list[Wakeup]:
    return list(session.info.pop("wakeups", []))


def mark_announced(session: Session, stage_ids: list[int]) -> None:
    session.execute(update(Stage).where(Stage.id.in_(stage_ids)).values(announced_at=func.now()))


# Working -------------------------------------------------------------------------------------------------


def claim(session: Session, stage_id: int, owner: str, lease_seconds: float) -> Claim | None:
    """Take the stage, or nothing when it is taken, ended, or was never there (a duplicate message)."""
    _lock_run(session, session.scalar(select(Stage.run_id).where(Stage.id == stage_id)))
    taken = session.execute(
        update(Stage)
        .where(Stage.id == stage_id, or_(Stage.state == JobState.QUEUED, _expired), _crashes < MAX_CRASHES)
        .values(
            state=JobState.RUNNING,
            attempt=Stage.attempt + 1,
            owner=owner,
            lease_until=_lease_end(lease_seconds),
            started_at=func.coalesce(Stage.started_at, func.now()),
            error=None,  # what ended the attempt before is not the cause of what ends this one
        )
        .returning(Stage.attempt, Stage.name, Stage.collection_id, Stage.run_id, Stage.export_id)
    ).one_or_none()
    if taken is None:
        return None
    attempt, name, collection_id, run_id, export_id = taken
    _set_parent(session, run_id, export_id, JobState.RUNNING)
    return Claim(stage_id, attempt, StageName(name), collection_id, run_id, export_id)


def heartbeat(session: Session, claim: Claim, lease_seconds: float, done: int, total: int, message: str | None) -> bool:
    """Extend the lease and show progress; True when the user asked to cancel. Raises LeaseLost."""
    _fenced(
        session,
        claim,
        lease_until=_lease_end(lease_seconds),
        done=done,
        total=total,
        message=message,
    )
    return _is_cancelled(session, claim)


def finish(session: Session, claim: Claim) -> None:
    """The stage is done; what comes after it may start. Part of the transaction that writes its results."""
    _lock_run(session, claim.run_id)
    # Not now(), which is when this transaction began: a COPY of minutes may lie between.
    ended = func.clock_timestamp()
    _fenced(session, claim, state=JobState.SUCCEEDED, finished_at=ended, lease_until=None, error=None)
    session.execute(update(Stage).where(Stage.id == claim.stage_id).values(done=Stage.total))
    if claim.name == StageName.INGEST:
        waiting = select(Run.id).where(Run.collection_id == claim.collection_id, Run.state == JobState.QUEUED)
        queue_stages(session, Stage.run_id.in_(waiting), Stage.position == 0, Stage.state == JobState.WAITING)
    elif claim.run_id is not None and _is_cancelled(session, claim):
        end_run(session, claim.run_id, JobState.CANCELLED, None)  # the wish came too late for the stage itself
    elif claim.run_id is not None:
        done = select(Stage.position).where(Stage.id == claim.stage_id).scalar_subquery()
        queue_stages(session, Stage.run_id == claim.run_id, Stage.position == done + 1, Stage.state == JobState.WAITING)


def fail(session: Session, claim: Claim, error: dict[str, Any]) -> None:
    """The stage, and what it belongs to, ends here with a reason."""
    _lock_run(session, claim.run_id)
    _fenced(session, claim, state=JobState.FAILED, finished_at=func.now(), lease_until=None, error=error)
    _fail_parent(session, claim, error)


def retry(session: Session, claim: Claim, error: dict[str, Any]) -> None:
    """An unexpected fault: try again, unless it has happened too often."""
    _lock_run(session, claim.run_id)
    crashes = session.scalar(select(_crashes).where(Stage.id == claim.stage_id))
    if crashes is not None and crashes >= MAX_CRASHES:
        fail(session, claim, gave_up(claim.name, error))
    else:
        _requeue(session, claim, error=error)


def release(session: Session, claim: Claim) -> None:
    """The worker was asked to stop: another one goes on from the last checkpoint; no crash is counted."""
    _lock_run(session, claim.run_id)
    _requeue(session, claim, forgiven=Stage.forgiven + 1)


def end_cancelled(session: Session, claim: Claim) -> None:
    _lock_run(session, claim.run_id)
    _fenced(session, claim, state=JobState.CANCELLED, finished_at=func.now(), lease_until=None)
    if claim.run_id is not None:
        end_run(session, claim.run_id, JobState.CANCELLED, None)


def gave_up(name: str, last: dict[str, Any] | None) -> dict[str, Any]:
    cause = last["detail"] if last else "the worker process died without a word (killed, or out of memory)"
    return problem(
        "crashed_too_often",
        f"The stage '{name}' crashed {MAX_CRASHES} times",
        f"It was given up after {MAX_CRASHES} attempts. The last cause: {cause}",
    )


# Healing -------------------------------------------------------------------------------------------------


def heal_expired(session: Session) -> int:
    """Stages whose worker fell silent: requeue, or end those that were cancelled or crashed too often."""
    expired = session.execute(select(Stage.id, Stage.run_id).where(_expired).order_by(Stage.run_id, Stage.id)).all()
    return sum(_heal(session, stage_id, run_id) for stage_id, run_id in expired)


def unannounced(session: Session, again_after_seconds: float) -> list[Wakeup]:
    """Queued stages nobody was told of, or whose message may be lost (a wiped broker)."""
    old = func.now() - timedelta(seconds=again_after_seconds)
    waiting = select(Stage.id, Stage.name).where(
        Stage.state == JobState.QUEUED, or_(Stage.announced_at.is_(None), Stage.announced_at < old)
    )
    return [Wakeup(id, StageName(name)) for id, name in session.execute(waiting.order_by(Stage.id))]


# Inside --------------------------------------------------------------------------------------------------


def _heal(session: Session, stage_id: int, run_id: UUID | None) -> bool:
    _lock_run(session, run_id)
    silent = select(Stage).where(Stage.id == stage_id, _expired).with_for_update(skip_locked=True)
    stage = session.scalars(silent).one_or_none()
    if stage is None:
        return False  # meanwhile another worker took it
    name = StageName(stage.name)
    held = Claim(stage.id, stage.attempt, name, stage.collection_id, stage.run_id, stage.export_id)
    if stage.attempt - stage.forgiven >= MAX_CRASHES and not _is_cancelled(session, held):
        fail(session, held, gave_up(stage.name, stage.error))
    else:
        _requeue(session, held)
    return True


def _lock_run(session: Session, run_id: UUID | None) -> None:
    if run_id is not None:
        session.execute(select(Run.id).where(Run.id == run_id).with_for_update(key_share=True))


def _is_cancelled(session: Session, claim: Claim) -> bool:
    """The user asked to cancel, and the run has not ended."""
    if claim.run_id is None:
        return False
    wish = select(Run.cancel_requested).where(Run.id == claim.run_id, Run.state == JobState.RUNNING)
    return bool(session.scalar(wish))


def _lease_end(seconds: float) -> Any:
    return func.now() + timedelta(seconds=seconds)


def _fenced(session: Session, claim: Claim, **values: Any) -> None:
    """Change the stage only while this worker's attempt is the current one."""
    mine = and_(Stage.id == claim.stage_id, Stage.attempt == claim.attempt, Stage.state == JobState.RUNNING)
    changed = session.execute(
        update(Stage).where(mine).values(**values).returning(Stage.id),
        execution_options={"synchronize_session": False},
    ).one_or_none()
    if changed is None:
        raise LeaseLost(f"stage {claim.stage_id}: attempt {claim.attempt} is not the current one")


def _requeue(session: Session, claim: Claim, **values: Any) -> None:
    if _is_cancelled(session, claim):
        end_cancelled(session, claim)
        return
    _fenced(session, claim, state=JobState.QUEUED, lease_until=None, owner=None, announced_at=None, **values)
    remember_wakeup(session, Wakeup(claim.stage_id, claim.name))


def queue_stages(session: Session, *conditions: Any) -> None:
    queued = session.execute(
        update(Stage).where(*conditions).values(state=JobState.QUEUED).returning(Stage.id, Stage.name)
    ).all()
    for stage_id, name in queued:
        remember_wakeup(session, Wakeup(stage_id, StageName(name)))


def _set_parent(session: Session, run_id: UUID | None, export_id: UUID | None, state: JobState) -> None:
    if run_id is not None:
        session.execute(update(Run).where(Run.id == run_id).values(state=state))
    if export_id is not None:
        session.execute(update(Export).where(Export.id == export_id).values(state=state))


def _fail_parent(session: Session, claim: Claim, error: dict[str, Any]) -> None:
    if claim.run_id is not None:
        end_run(session, claim.run_id, JobState.FAILED, error)
    elif claim.export_id is not None:
        ended = {"state": JobState.FAILED, "error": error, "finished_at": func.now()}
        session.execute(update(Export).where(Export.id == claim.export_id).values(**ended))
    else:
        _fail_collection(session, claim.collection_id, error)


def _fail_collection(session: Session, collection_id: UUID, error: dict[str, Any]) -> None:
    failed = {"state": CollectionState.FAILED, "error": error}
    session.execute(update(Collection).where(Collection.id == collection_id).values(**failed))
    waiting = select(Run.id).where(Run.collection_id == collection_id, Run.state == JobState.QUEUED)
    reason = problem("collection_failed", "The collection's file could not be read", error["detail"])
    for run_id in session.scalars(waiting).all():
        end_run(session, run_id, JobState.FAILED, reason)


def end_run(session: Session, run_id: UUID, state: JobState, error: dict[str, Any] | None) -> None:
    ended = {"state": state, "error": error, "finished_at": func.now()}
    session.execute(update(Run).where(Run.id == run_id).values(**ended))
    cancel_idle(session, run_id)


def cancel_idle(session: Session, run_id: UUID) -> None:
    idle = Stage.state.in_((JobState.WAITING, JobState.QUEUED))
    ended = {"state": JobState.CANCELLED, "finished_at": func.now()}
    session.execute(update(Stage).where(Stage.run_id == run_id, idle).values(**ended))
