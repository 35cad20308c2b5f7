"""The plots of a report: what is drawn, and the sentence that says how to read it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from service.report import plots
from service.report.plots import Axes, Line
from service.report.schemas import Agreement, Calibration, CurveRow, Histogram, Report
from service.report.words import percent

KINDS = {"random": "random", "near": "near"}  # classes of the probes' lines; another kind is drawn as random


@dataclass(frozen=True)
class Figure:
    title: str
    svg: Markup  # made by `plots`, which escapes its texts
    explanation: str
    legend: tuple[tuple[str, str], ...] = ()  # class of the style sheet, text


def figures(report: Report) -> list[Figure]:
    expected = _expected_mismatches(report.calibration)
    cut = report.calibration.threshold if report.calibration else None
    found = [_curve(report.calibration)] if report.calibration and report.calibration.curve else []
    found.append(_confidence(report.histograms.confidence, cut, expected))
    if report.histograms.loss is not None:
        found.append(_loss(report.histograms.loss, expected))
    found.append(_agreement(report.agreement))
    return found


def _curve(calibration: Calibration) -> Figure:
    axes = Axes("cut on clean_confidence", "share", is_percent=True)
    rows = calibration.curve

    lines = [
        Line([(row.cut, row.kept_share) for row in rows], "share"),
        _with_band(rows, "recall"),
        _with_band(rows, "precision"),
    ]
    svg = plots.line_chart(axes, lines, (calibration.threshold, f"automatic cut {calibration.threshold:.2f}"))
    legend = (
        ("line precision", "precision: of the kept pairs, how many match"),
        ("line recall", "recall: of the matching pairs, how many are kept"),
        ("line share", "kept: of all pairs, how many are kept"),
    )
    explanation = (
        "Choose a cut on the horizontal axis and read upwards what to expect of the pairs above it; "
        "the bands are 95 % intervals."
    )
    return Figure("What each cut gives", Markup(svg), explanation, legend)


def _with_band(rows: Sequence[CurveRow], name: str) -> Line:
    """Where the value is known; it is not where there are no pairs to take a share of."""
    names = (name, f"{name}_low", f"{name}_high")
    values = [(row.cut, *(getattr(row, each) for each in names)) for row in rows]
    known = [line for line in values if None not in line]
    return Line([(cut, value) for cut, value, _, _ in known], name, [(cut, low, high) for cut, _, low, high in known])


def _confidence(shown: Histogram, cut: float | None, expected: float | None) -> Figure:
    lines, legend = _probe_lines(shown, expected)
    flagged = [pairs - kept for pairs, kept in zip(shown.pairs, shown.kept, strict=True)]
    top = _top([*map(float, shown.pairs), *(y for line in lines for _, y in line.points)])
    axes = Axes("clean_confidence", "pairs (square-root scale)", y_range=(0.0, top), is_root=True)
    layers = [("kept", shown.kept), ("flagged", flagged)]
    mark = None if cut is None else (cut, f"automatic cut {cut:.2f}")
    svg = plots.histogram(axes, shown.edges, layers, lines, mark)
    explanation = (
        "Two piles far apart mean that the networks are sure; pairs in the middle are worth a look. "
        "Heights are on a square-root scale, so that small bars stay visible." + _about_probes(shown, expected)
    )
    bars = (("kept", "kept pairs"), ("flagged", "flagged pairs"))
    return Figure("How sure the networks are", Markup(svg), explanation, (*bars, *legend))


def _loss(shown: Histogram, expected: float | None) -> Figure:
    lines, legend = _probe_lines(shown, expected)
    total, width = sum(shown.pairs), shown.edges[1] - shown.edges[0]
    if shown.mixture is not None:
        for style, densities in (("clean", shown.mixture.clean), ("noisy", shown.mixture.noisy)):
            lines.append(Line(_centred(shown.edges, [density * width * total for density in densities]), style))
        legend += (("line clean", "fitted clean component"), ("line noisy", "fitted noisy component"))
    top = _top([*map(float, shown.pairs), *(y for line in lines for _, y in line.points)])
    axes = Axes("loss", "pairs", (shown.edges[0], shown.edges[-1]), (0.0, top))
    svg = plots.histogram(axes, shown.edges, [("pairs", shown.pairs)], lines)
    explanation = (
        "Pairs that the networks find easy are on the left; the less the two fitted humps overlap, the better "
        "matches and mismatches can be told apart." + _about_probes(shown, expected)
    )
    return Figure("Losses and the fitted mixture", Markup(svg), explanation, (("pairs", "all pairs"), *legend))


def _agreement(agreement: Agreement) -> Figure:
    axes = Axes("confidence of network A", "confidence of network B", height=400)
    agreed, split = agreement.both_clean + agreement.both_noisy, agreement.only_a_clean + agreement.only_b_clean
    share = (
        f"They agree on {percent(agreed / (agreed + split))} of the pairs" if agreed + split else "No pair was judged"
    )
    told = "" if agreement.correlation is None else f" (correlation {agreement.correlation:.2f})"
    explanation = (
        "The stronger the colour, the more pairs (logarithmic); off the rising diagonal the networks disagree. "
        f"{share}{told}: both keep {agreement.both_clean:,}, both flag {agreement.both_noisy:,}, only A keeps "
        f"{agreement.only_a_clean:,}, only B keeps {agreement.only_b_clean:,}, each at 0.5."
    )
    return Figure("Agreement of the two networks", Markup(plots.heat_map(axes, agreement.grid)), explanation)


def _probe_lines(shown: Histogram, expected: float | None) -> tuple[list[Line], tuple[tuple[str, str], ...]]:
    """The probes as outlines, scaled from their own number to the expected mismatches among the pairs."""
    total = sum(shown.probes)
    if not total:
        return [], ()
    factor = sum(shown.pairs) * (expected or 1.0) / total
    lines, legend = [], []
    for kind, counts in (shown.probe_kinds or {"random": shown.probes}).items():
        style = KINDS.get(kind, "random")
        lines.append(Line(_stairs(shown.edges, [count * factor for count in counts]), style))
        legend.append((f"line {style}", f"{kind} probes"))
    return lines, tuple(legend)


def _about_probes(shown: Histogram, expected: float | None) -> str:
    if not any(shown.probes):
        return ""
    scaled = "the estimated number of mismatches" if expected else "all pairs"
    return f" Outlines are the probes (known mismatches), scaled to {scaled}."


def _expected_mismatches(calibration: Calibration | None) -> float | None:
    return calibration.noise_rate.estimate if calibration and calibration.has_evidence else None


def _top(heights: Sequence[float]) -> float:
    return max(max(heights, default=1.0), 1.0) * 1.05


def _centred(edges: Sequence[float], heights: Sequence[float]) -> list[tuple[float, float]]:
    return [((start + end) / 2, height) for (start, end), height in zip(pairwise(edges), heights, strict=True)]


def _stairs(edges: Sequence[float], heights: Sequence[float]) -> list[tuple[float, float]]:
    return [
        point
        for (start, end), height in zip(pairwise(edges), heights, strict=True)
        for point in ((start, height), (end, height))
    ]
