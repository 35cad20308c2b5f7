"""The result of a run in plain sentences, and numbers as people read them."""

from collections.abc import Mapping
from typing import Any

from service.report.schemas import Calibration, CurveRow, Drift, Report, Slice

# With fewer matches than this at a higher noise rate than that, what was learned by heart looks like matches: on
# Flickr8k (500 to 3,000 pairs, 80 and 90 % mismatched, seeds 10 to 14) .10 to .75 of the kept pairs matched where .57
# to .98 were expected. At 60 % it was .74 to .87 for .86 to .91; of 6,000 pairs at 80 % it was within the interval.
FEW_MATCHES, MOSTLY_MISMATCHES = 1_000, 0.7
TARGETS = (0.9, 0.95, 0.98, 0.99)  # precisions that people ask for


def percent(share: float | None) -> str:
    """Whole percents in the middle, finer ones near both ends; never 0 % or 100 % for what is not quite so."""
    if share is None:
        return "–"
    value = 100 * share
    if 0 < value < 100:
        value = min(max(value, 0.1), 99.9)
    return f"{value:.1f} %" if 0 < value < 9.95 or 95 <= value < 100 else f"{value:.0f} %"


def decimal(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def interval(low: float | None, high: float | None) -> str:
    return f"{percent(low)} to {percent(high)}"


def row_at(calibration: Calibration, cut: float | None = None) -> CurveRow | None:
    """What the curve says of a cut, the automatic one unless another is given."""
    wanted = calibration.threshold if cut is None else cut
    return min(calibration.curve, key=lambda row: abs(row.cut - wanted), default=None)


def headline(calibration: Calibration | None, overall: Slice, drift: Drift | None = None) -> str:
    found = _found(calibration, overall)
    if drift is None:
        return found + _doubt(calibration, overall)
    if not drift.looks_different:
        return found
    # First, because no number after it can be trusted.
    return f"Do not rely on these scores: the pairs do not look like those that the networks learned from. {found}"


def _found(calibration: Calibration | None, overall: Slice) -> str:
    kept = overall.pairs - overall.flagged
    if calibration is None:
        return (
            f"{kept:,} of {overall.pairs:,} pairs are kept and {overall.flagged:,} are flagged. This run had no probes "
            "(known mismatches), so how many pairs truly match is not estimated."
        )
    rate = calibration.noise_rate
    if not calibration.has_evidence:
        return (
            f"No evidence of mismatch: at most about {percent(rate.high)} of the {overall.pairs:,} pairs could be "
            f"wrong. {kept:,} pairs are kept at the automatic cut."
        )
    near = (
        f"; about {percent(calibration.near_share)} of these are near misses, with an image much like the right one"
        if calibration.near_share
        else ""
    )
    first = (
        f"About {percent(rate.estimate)} of the pairs do not match (95 % interval {interval(rate.low, rate.high)})"
        f"{near}. {kept:,} pairs are kept at the automatic cut"
    )
    row = row_at(calibration)
    if not kept or row is None or row.precision is None:
        return f"{first}."
    return f"{first}; of these about {percent(row.precision)} match."


def _doubt(calibration: Calibration | None, overall: Slice) -> str:
    rate = 0.0 if calibration is None else calibration.noise_rate.estimate
    if rate <= MOSTLY_MISMATCHES or (1 - rate) * overall.pairs >= FEW_MATCHES:
        return ""
    return (
        " With so few matches among so many mismatches these are told apart poorly, and fewer of the kept pairs may "
        "match than is expected here: review some."
    )


def why_no_probes(config: Mapping[str, Any]) -> str:
    """For a run without calibration, by its settings: the reason, and what to do."""
    if not config.get("probe_share"):
        return "It was made with probe_share 0; start a run with probes: leave probe_share out."
    return (
        "No mismatches could be made of its pairs, because nearly all of them, or of their images or captions, are the "
        "same content; that takes a collection with more variety."
    )


def explained(report: Report) -> list[tuple[str, str]]:
    """What the report says of elements and repairs, in a few lines; none for runs that explained nothing."""
    found, elements, repair = [], report.elements, report.repair
    if elements is not None:
        means = f"{decimal(elements.eme.clean)} of kept pairs, {decimal(elements.eme.flagged)} of flagged ones"
        found.append(("matched elements", f"mean score {means}; captions read by {elements.tagger}"))
        if elements.missing:
            names = ", ".join(f"{row.lemma} ({row.count:,})" for row in elements.missing[:5])
            found.append(("most often missing", names))
    if repair is not None:
        found += [("shifted", shift.message) for shift in repair.shifts[:5]]
        if repair.shift_count > 5:
            found.append(("shifted", f"and {repair.shift_count - 5:,} more blocks"))
        if repair.searched:
            likely = f"{repair.likely.captions:,} captions and {repair.likely.images:,} images"
            found.append(
                ("may be repaired", f"of {repair.searched:,} flagged pairs, {likely} that likely fit were found")
            )
        groups = {name: f"{getattr(repair.duplicates, name).groups:,}" for name in ("images", "captions", "pairs")}
        repeated = f"{groups['images']} images with several captions, {groups['captions']} captions with several images"
        found.append(("duplicates", f"{repeated}, {groups['pairs']} pairs repeated"))
    return found


def choices(calibration: Calibration) -> list[tuple[str, CurveRow]]:
    """The automatic cut, and for each target the lowest cut that is expected to reach it."""
    automatic = row_at(calibration)
    found = [] if automatic is None else [("automatic", automatic)]
    for target in TARGETS:
        reached = next((row for row in calibration.curve if (row.precision or 0.0) >= target), None)
        if reached is not None:
            found.append((f"{100 * target:.0f} % precision", reached))
    return found
