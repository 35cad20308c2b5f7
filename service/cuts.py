"""Where to cut: a wish (a precision, a count, a cost) -> the boundary between kept and flagged pairs of a run, how many
it keeps, and what to expect of them by the run's calibration curve. Nothing is trained or written."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from sqlalchemy.orm import Session

from service import cursor, queries
from service.cut_shapes import Cut, CutChoice, Expected
from service.db.pairs import Boundary, as_float4
from service.db.states import JobState
from service.db.tables import Run, Score
from service.problems import conflict, unusable

Curve = Sequence[dict[str, Any]]  # by rising cut, so by falling share of kept pairs


def boundary_of(session: Session, run: Run, wish: CutChoice) -> Boundary | None:
    """None where the run's own cut holds; `min_confidence` only selects rows."""
    if wish.min_precision is not None:
        return Boundary(_reaching(_curve(session, run), wish.min_precision)["cut"])
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
    if boundary is not None and boundary.last:
        kept = _count(session, run, wish)
    elif boundary is None and wish.min_confidence is None:
        boundary, kept = Boundary(summary["threshold"]), queries.scored(session, run.id, Score.is_clean)
    else:
        boundary = boundary or Boundary(wish.min_confidence or 0.0)
        kept = queries.scored(session, run.id, boundary.kept)
    calibration = queries.calibration(session, run.id)
    uid, row = boundary.last or (None, None)
    return Cut(
        confidence=boundary.confidence,
        last_uid=uid.hex if uid else None,
        last_row=row,
        kept=kept,
        flagged=scored - kept,
        expected=_expected(calibration["curve"], boundary, kept / scored) if calibration and scored else None,
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
            "The run was made without probes, so no precision is known of it. Use keep, keep_share or min_confidence."
        )
        raise conflict("not_calibrated", "The run has no calibration", detail)
    curve: Curve = found["curve"]
    return curve


def _reaching(curve: Curve, target: float) -> dict[str, Any]:
    known = [row for row in curve if row["precision"] is not None]
    for row in known:
        if row["precision"] >= target:
            return row
    best = max(known, key=lambda row: row["precision"])
    detail = (
        f"min_precision: {target:g} is out of reach; the best to expect is {best['precision']:.4f} "
        f"at the cut {best['cut']:.4f}, which keeps {best['kept_share']:.1%}."
    )
    members = {"best_precision": best["precision"], "cut": best["cut"]}
    raise unusable("precision_out_of_reach", "No cut reaches this precision", detail, **members)


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


def _expected(curve: Curve, boundary: Boundary, share: float) -> Expected:
    """A row of the curve where the cut is one of its own; else between the two rows around the share that is kept, as
    confidences are often tied and a cut between two of them keeps the same pairs as the upper one."""
    for row in curve:
        if boundary.last is None and as_float4(row["cut"]) == as_float4(boundary.confidence):
            return Expected.model_validate(row)
    rising = sorted(curve, key=lambda row: float(row["kept_share"]))
    place = bisect_left(rising, share, key=lambda row: row["kept_share"])
    low, high = rising[max(place - 1, 0)], rising[min(place, len(rising) - 1)]
    span = high["kept_share"] - low["kept_share"]
    part = (share - low["kept_share"]) / span if span else 0.0
    between = {name: _between(low[name], high[name], part) for name in Expected.model_fields}
    return Expected.model_validate(between)


def _between(low: float | None, high: float | None, part: float) -> float | None:
    return None if low is None or high is None else low + part * (high - low)
