"""Where to cut: a wish (a precision, a count, a cost) -> the boundary between kept and flagged pairs of a run, how many
it keeps, and what to expect of them by the run's calibration curve. Nothing is trained or written."""

from typing import Any

from sqlalchemy.orm import Session

from service import cursor, queries
from service.cut_shapes import Cut, CutChoice
from service.db.pairs import Boundary
from service.db.states import JobState
from service.db.tables import Run, Score
from service.expectations import Curve, expected_of, kept_at, known_rows
from service.problems import Problem, conflict, unusable
from service.report.words import why_no_probes

ROUNDING = 1e-9  # of a pair: .9 - .85 is a little less than .05


def boundary_of(session: Session, run: Run, wish: CutChoice) -> Boundary | None:
    """None where the run's own cut holds; `min_confidence` only selects rows."""
    if wish.min_precision is not None:
        return _largest(session, run, wish.min_precision)
    if wish.cost_ratio is not None:
        _curve(session, run)  # only a calibrated confidence is a probability
        return Boundary(wish.cost_ratio / (1 + wish.cost_ratio))
    if wish.keep is not None or wish.keep_share is not None:
        return queries.first_kept(session, run, _count(session, run, wish))
    return None


def cut_of(session: Session, run: Run, wish: CutChoice) -> Cut:
    """All about the cut that is asked for, or else the run's own."""
    summary = _summary(run)
    scored = queries.scored(session, run.id)
    boundary = boundary_of(session, run, wish)
    if boundary is None and wish.min_confidence is None:
        boundary, kept = Boundary(summary["threshold"]), queries.scored(session, run.id, Score.is_clean)
    else:
        boundary = boundary or Boundary(wish.min_confidence or 0.0)
        kept = queries.kept(session, run, boundary)
    calibration = queries.calibration(session, run.id)
    uid, row = boundary.last or (None, None)
    return Cut(
        confidence=boundary.confidence,
        last_uid=uid.hex if uid else None,
        last_row=row,
        kept=kept,
        flagged=scored - kept,
        expected=expected_of(session, run.id, calibration["curve"], boundary, kept) if calibration and scored else None,
    )


def position_of(boundary: Boundary | None) -> list[Any] | None:
    """For a cursor: the pages that follow need not look for it again."""
    if boundary is None:
        return None
    uid, row = boundary.last or (None, None)
    return [boundary.confidence, uid.hex if uid else None, row]


def boundary_at(position: Any) -> Boundary | None:
    if position is None:
        return None
    confidence, uid, row = position
    last = None if uid is None else (cursor.identity(uid), cursor.whole(row))
    return Boundary(cursor.score(confidence), last)


def _summary(run: Run) -> dict[str, Any]:
    if run.state != JobState.SUCCEEDED or run.summary is None:
        detail = f"The run is '{run.state}'; a cut can be chosen once it has succeeded."
        raise conflict("run_not_published", "There are no scores yet", detail)
    return run.summary


def _curve(session: Session, run: Run) -> Curve:
    _summary(run)
    found = queries.calibration(session, run.id)
    if found is None:
        detail = (
            f"The run had no probes, so no precision is known of it. {why_no_probes(run.config)} Or use keep, "
            "keep_share or min_confidence, which need none."
        )
        raise conflict("not_calibrated", "The run has no calibration", detail)
    curve: Curve = found["curve"]
    return curve


def _largest(session: Session, run: Run, target: float) -> Boundary:
    """As many pairs as leave this precision: a row of the curve that reaches it, and those of the pairs between it and
    the row before that the falling precision allows."""
    known = known_rows(_curve(session, run))
    place = next((at for at, row in enumerate(known) if row["precision"] >= target), None)
    if place is None:
        raise _out_of_reach(known, target)
    reached, below = known[place], known[place - 1] if place else None
    if below is None:
        return Boundary(reached["cut"])
    least, most = kept_at(session, run.id, reached), kept_at(session, run.id, below)
    part = (reached["precision"] - target) / (reached["precision"] - below["precision"])
    more = int(part * (most - least) + ROUNDING)
    return queries.first_kept(session, run, least + more) if more else Boundary(reached["cut"])


def _out_of_reach(known: Curve, target: float) -> Problem:
    best = max(known, key=lambda row: row["precision"])
    detail = (
        f"min_precision: {target:g} is out of reach; the best to expect is {best['precision']:.4f} "
        f"at the cut {best['cut']:.4f}, which keeps {best['kept_share']:.1%}."
    )
    members = {"best_precision": best["precision"], "cut": best["cut"]}
    return unusable("precision_out_of_reach", "No cut reaches this precision", detail, **members)


def _count(session: Session, run: Run, wish: CutChoice) -> int:
    _summary(run)
    scored = queries.scored(session, run.id)
    if wish.keep_share is not None:
        return round(wish.keep_share * scored)
    wanted = wish.keep or 0
    if wanted > scored:
        detail = f"keep: {wanted:,} pairs cannot be kept, the run has scored {scored:,}."
        raise unusable("too_few_scored", "There are not so many pairs", detail, scored=scored)
    return wanted
