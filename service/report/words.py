"""The result of a run in plain sentences, and numbers as people read them."""

from service.report.schemas import Calibration, CurveRow, Slice

TARGETS = (0.9, 0.95, 0.98, 0.99)  # precisions that people ask for


def percent(share: float | None) -> str:
    """Whole percents in the middle, finer ones near both ends; never 0 % or 100 % for what is not quite so."""
    if share is None:
        return "–"
    value = 100 * share
    if 0 < value < 100:
        value = min(max(value, 0.1), 99.9)
    return f"{value:.1f} %" if 0 < value < 9.95 or 95 <= value < 100 else f"{value:.0f} %"


def interval(low: float | None, high: float | None) -> str:
    return f"{percent(low)} to {percent(high)}"


def row_at(calibration: Calibration, cut: float | None = None) -> CurveRow | None:
    """What the curve says of a cut, the automatic one unless another is given."""
    wanted = calibration.threshold if cut is None else cut
    return min(calibration.curve, key=lambda row: abs(row.cut - wanted), default=None)


def headline(calibration: Calibration | None, overall: Slice) -> str:
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
    first = (
        f"About {percent(rate.estimate)} of the pairs do not match (95 % interval {interval(rate.low, rate.high)}). "
        f"{kept:,} pairs are kept at the automatic cut"
    )
    row = row_at(calibration)
    return (
        f"{first}; of these about {percent(row.precision)} match." if row and row.precision is not None else f"{first}."
    )


def choices(calibration: Calibration) -> list[tuple[str, CurveRow]]:
    """The automatic cut, and for each target the lowest cut that is expected to reach it."""
    automatic = row_at(calibration)
    found = [] if automatic is None else [("automatic", automatic)]
    for target in TARGETS:
        reached = next((row for row in calibration.curve if (row.precision or 0.0) >= target), None)
        if reached is not None:
            found.append((f"{100 * target:.0f} % precision", reached))
    return found
