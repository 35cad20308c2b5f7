"""What to expect of a cut, by the run's calibration curve. The curve has about a hundred rows; between two of them
everything is taken to change evenly with each pair that is kept."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from service import queries
from service.cut_shapes import Expected
from service.db.pairs import Boundary, as_float4

Curve = Sequence[dict[str, Any]]  # by rising cut, so by falling share of kept pairs

ENDS = ("", "_low", "_high")


def expected_of(session: Session, run_id: UUID, curve: Curve, boundary: Boundary, kept: int) -> Expected:
    """A row of the curve where the cut is one of its own, else between the rows around it."""
    known = known_rows(curve)
    if not kept:
        return Expected.model_validate(_nothing(known) | {f"precision{end}": None for end in ENDS})
    edge = as_float4(boundary.confidence)
    place = sum(as_float4(row["cut"]) <= edge for row in known)
    low, high = known[max(place - 1, 0)], known[place] if place < len(known) else None
    if high is low or (boundary.last is None and as_float4(low["cut"]) == edge):
        return Expected.model_validate(low)
    # By pairs, not by the curve's own shares: confidences are often tied, so that a cut between two of them keeps the
    # same pairs as the upper one.
    most, least = kept_at(session, run_id, low), kept_at(session, run_id, high) if high else 0
    part = (kept - least) / (most - least) if most > least else 0.0
    upper = high or _nothing(known)
    between = {name: _between(upper[name], low[name], part) for name in Expected.model_fields}
    return Expected.model_validate(between)


def known_rows(curve: Curve) -> Curve:
    """Those that keep any pair."""
    return [row for row in curve if row["precision"] is not None]


def kept_at(session: Session, run_id: UUID, row: dict[str, Any]) -> int:
    return queries.scored(session, run_id, Boundary(row["cut"]).kept)


def _nothing(known: Curve) -> dict[str, float | None]:
    """The end of the curve, where all pairs are flagged. On the way there the precision stays as it was last."""
    whole, last = known[0], known[-1]
    found = {f"precision{end}": last[f"precision{end}"] for end in ENDS}
    for end, other in zip(ENDS, ("", "_high", "_low"), strict=True):
        # Null stays null: there are no matches, or no mismatches, that it could be a share of.
        found[f"recall{end}"] = None if whole["recall"] is None else 0.0
        found[f"flagged_recall{end}"] = None if whole["flagged_recall"] is None else 1.0
        keeps_all = whole["kept_share"] == 1
        found[f"flagged_precision{end}"] = 1 - whole[f"precision{other}"] if keeps_all else None
    return found


def _between(start: float | None, end: float | None, part: float) -> float | None:
    return None if start is None or end is None else start + part * (end - start)
