"""A report as one HTML file that asks for nothing else: inline style, inline SVG, no script. Captions and URLs in it
are hostile text; the template escapes everything that is not made by `plots`."""

import base64
import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from service.report import plots, words
from service.report.figures import figures
from service.report.schemas import Report, Slice

FOLDER = Path(__file__).parent
STYLE = (FOLDER / "page.css").read_text()
_DIGEST = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
# Also within the file: it is kept and opened far from the service.
POLICY = f"default-src 'none'; style-src 'sha256-{_DIGEST}'; base-uri 'none'; form-action 'none'"
ENVIRONMENT = Environment(
    loader=FileSystemLoader(FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)
ENVIRONMENT.filters["percent"] = words.percent
ENVIRONMENT.filters["decimal"] = words.decimal
SLICES = {
    "host": ("Host", "Where the image comes from, by the URL."),
    "caption_words": (
        "Words in the caption",
        "Parts between spaces; scripts without spaces look shorter than they are.",
    ),
    "language": (
        "Language of the caption",
        "A rough guess: by the script, and in Latin script by the most common short words of a dozen languages. "
        "Short captions often stay unknown.",
    ),
    "label": ("Label", "As the collection gives it; only pairs with one."),
}


@dataclass(frozen=True)
class Origin:
    """What is known of the run beside its report."""

    collection_name: str
    finished_at: datetime | None
    settings: dict[str, Any]
    unscored: int


def render(report: Report, origin: Origin) -> str:
    return ENVIRONMENT.get_template("page.html").render(
        report=report,
        origin=origin,
        style=Markup(STYLE),  # ours, and within it nothing may be escaped
        policy=POLICY,
        tiles=tiles(report, origin),
        choices=words.choices(report.calibration) if report.calibration else [],
        why_no_probes=words.why_no_probes(origin.settings),
        figures=figures(report),
        slices=[(*SLICES[name], _bars(report, getattr(report.slices, name))) for name in SLICES],
        recipe=_flat(report.recipe),
        settings=_flat(origin.settings),
        is_link=lambda url: url.startswith(("http://", "https://")),
    )


def tiles(report: Report, origin: Origin) -> list[tuple[str, str, str]]:
    """Name, figure, and what it means."""
    overall, calibration = report.slices.overall, report.calibration
    unscored = f"{origin.unscored:,} more without a readable image" if origin.unscored else "all of the collection"
    found = [
        ("judged pairs", f"{overall.pairs:,}", unscored),
        ("kept", f"{overall.pairs - overall.flagged:,}", f"{words.percent(1 - overall.rate)} of the judged pairs"),
        ("flagged", f"{overall.flagged:,}", f"{words.percent(overall.rate)} of the judged pairs"),
    ]
    if calibration is None:
        return found
    rate, row = calibration.noise_rate, words.row_at(calibration)
    found.append(("mismatches", words.percent(rate.estimate), f"estimated: {words.interval(rate.low, rate.high)}"))
    if row is not None:
        for name, value, low, high in (
            ("precision", row.precision, row.precision_low, row.precision_high),
            ("recall", row.recall, row.recall_low, row.recall_high),
        ):
            found.append((f"{name} at the cut", words.percent(value), f"expected: {words.interval(low, high)}"))
    for kind, probe in calibration.probes.items():
        caught = f"of {probe.count:,} known mismatches are flagged"
        if kind == "near" and calibration.near_share == 0:
            caught += "; a few like these among the pairs would not be counted as mismatches"
        found.append((f"{kind} probes", words.percent(probe.flagged_share), caught))
    return found


def _bars(report: Report, rows: list[Slice]) -> list[tuple[Slice, Markup]]:
    """Every row with its bar; all bars of a table have the scale of its largest interval that is worth showing."""
    most = max((row.high for row in rows if row.pairs >= 10), default=1.0)
    average = report.slices.overall.rate
    return [
        (row, Markup(plots.bar(row.rate, row.low, row.high, most, average, "high" if row.is_high else "usual")))
        for row in rows
    ]


def _flat(values: dict[str, Any], before: str = "") -> list[tuple[str, str]]:
    """Settings within settings as lines of dotted names."""
    found = []
    for name, value in values.items():
        if isinstance(value, dict) and value:
            found += _flat(value, f"{before}{name}.")
        else:
            found.append(
                (f"{before}{name}", value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
            )
    return found
