"""What audits say of a run: precision, recall and noise rate as counted by people, with exact intervals. Given how many
audited pairs are kept (flagged, matching, ...), each count is binomial, whatever the cut."""

import math
from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import Row
from sqlalchemy.orm import Session

from service import cuts, queries
from service.cut_shapes import Cut, CutChoice
from service.db import reviews
from service.db.pairs import as_float4
from service.db.states import ReviewReason, Verdict
from service.db.tables import ApiKey, Run
from service.exact_intervals import clopper_pearson, needed
from service.reviews import published
from service.schemas_reviews import Estimate, Measure

WISHED_HALF_WIDTH = 0.05

Judged = Row[UUID, str, str, float, bool]


def estimate(session: Session, key: ApiKey, run_id: UUID, min_confidence: float | None) -> Estimate:
    run = published(session, key, run_id)
    cut = cuts.cut_of(session, run, CutChoice(min_confidence=min_confidence))
    found = reviews.judged(session, run)
    has_audits = any(row.reason == ReviewReason.AUDIT for row in found)
    drawn = by_chance(run, found, reviews.drawable(session, run) if has_audits else 0)
    sure = [row for row in drawn if row.verdict != Verdict.UNSURE]
    edge = as_float4(cut.confidence)
    # The run's own cut is what it published, not what rounding makes of it.
    kept = [row.is_clean if min_confidence is None else as_float4(row.clean_confidence) >= edge for row in sure]
    counted = list(zip(kept, (row.verdict == Verdict.MATCH for row in sure), strict=True))
    measures = _measures(counted, _expectations(session, run, cut))
    more = max(_more(measures[name], len(sure)) for name in ("precision", "recall"))
    unsure = len(drawn) - len(sure)
    return Estimate(
        cut=cut.confidence,
        audits=len(sure),
        unsure=unsure,
        **measures,
        more_audits=more,
        explanation=_explanation(len(sure), unsure, more),
    )


def by_chance(run: Run, found: Sequence[Judged], drawable: int) -> list[Judged]:
    """The audits; and what was looked at for another reason, where the audit has gone past it: it would have been
    drawn, and without such pairs (they are the doubtful ones) the sample would look too good. The audit has gone past a
    place when most of the pairs before it, of all `drawable` ones, are judged; a sample of the user's own goes past
    nothing."""
    ordered = sorted((reviews.place(run, row.uid), row) for row in found)
    last = max((place for place, row in ordered if row.reason == ReviewReason.AUDIT), default=-1.0)
    past = [place for count, (place, _) in enumerate(ordered, 1) if place <= last and 2 * count >= place * drawable]
    end = max(past, default=-1.0)
    return [row for place, row in ordered if row.reason == ReviewReason.AUDIT or place <= end]


def _measures(counted: Sequence[tuple[bool, bool]], expected: dict[str, float | None]) -> dict[str, Measure | None]:
    """`counted`: of each audited pair, whether it is kept and whether it matches."""
    flagged, mismatches = [(not kept, not match) for kept, match in counted], [not match for _, match in counted]
    found = {
        "precision": [match for kept, match in counted if kept],
        "recall": [kept for kept, match in counted if match],
        "flagged_precision": [mismatch for flag, mismatch in flagged if flag],
        "flagged_recall": [flag for flag, mismatch in flagged if mismatch],
        "noise_rate": mismatches,
    }
    return {name: _measure(hits, expected.get(name)) for name, hits in found.items()}


def _measure(hits: Sequence[bool], expected: float | None) -> Measure | None:
    if not hits:
        return None
    low, high = clopper_pearson(sum(hits), len(hits))
    return Measure(
        estimate=sum(hits) / len(hits),
        low=low,
        high=high,
        hits=sum(hits),
        of=len(hits),
        expected=expected,
        is_expected_within=None if expected is None else low <= expected <= high,
    )


def _expectations(session: Session, run: Run, cut: Cut) -> dict[str, float | None]:
    calibration = queries.calibration(session, run.id)
    if calibration is None or cut.expected is None:
        return {}
    return cut.expected.model_dump() | {"noise_rate": calibration["noise_rate"]["estimate"]}


def _more(measure: Measure | None, audits: int) -> int:
    """Only some of the audits count for a measure: those that are kept, for the precision."""
    if measure is None:
        return needed(0.5, WISHED_HALF_WIDTH)  # nothing is known, so the widest interval
    if measure.high - measure.low <= 2 * WISHED_HALF_WIDTH:
        return 0
    return max(1, math.ceil((needed(measure.estimate, WISHED_HALF_WIDTH) - measure.of) * audits / measure.of))


def _explanation(audits: int, unsure: int, more: int) -> str:
    if not audits:
        return (
            f"Nobody has judged pairs of this run that were drawn by chance ({unsure} unsure). About {more:,} audits "
            "give precision and recall to within 5 points; the review plan with reason=audit draws them."
        )
    rests = (
        f"Rests on {audits:,} pairs drawn by chance from those that nobody had judged before this run, and judged by "
        f"people; {unsure:,} more were unsure and are left out. Intervals are exact (Clopper-Pearson, 95 %)."
    )
    if more:
        return f"{rests} About {more:,} more audits would bring precision and recall to within 5 points."
    return f"{rests} Precision and recall are known to within 5 points."
