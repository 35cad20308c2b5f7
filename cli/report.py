"""pairsift report"""

from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer

from cli.output import JsonFlag, give, printable, say, show_table
from cli.session import connected
from service.report.schemas import Report
from service.report.words import choices, explained, interval, percent

SLICES = {"host": "host", "caption_words": "words in the caption", "language": "language guess", "label": "label"}
SHOWN = 8  # lines about where flagged pairs come from


def report(
    run: Annotated[UUID, typer.Argument(help="As `pairsift run` printed it.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="HTML file to write.", dir_okay=False)] = None,
    as_json: JsonFlag = False,
) -> None:
    """Say what a run found and how sure it is; with -o also as one HTML file with plots."""
    with connected() as client:
        found = client.report(run)
        page = client.report_html(run) if out else ""
    if out:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(page, encoding="utf-8")
        say(f"{out}: {len(page.encode()):,} bytes")
    show(Report.model_validate(found), found, as_json)


def show(report: Report, found: dict[str, Any], as_json: bool) -> None:
    give(found, as_json, report.headline)
    if as_json:
        return
    if report.drift:
        say(report.drift.explanation)
    if report.calibration:
        rows = [
            (aim, f"cut {row.cut:.3f}: keeps {percent(row.kept_share)}, precision {percent(row.precision)} "
             f"({interval(row.precision_low, row.precision_high)}), recall {percent(row.recall)}")
            for aim, row in choices(report.calibration)
        ]  # fmt: skip
        rows += [
            (f"{kind} probes", f"{percent(probe.flagged_share)} of {probe.count:,} known mismatches are flagged")
            for kind, probe in report.calibration.probes.items()
        ]
        show_table("What cuts are expected to give", rows)
    if reasons := explained(report):
        show_table("Reasons and repairs", [(name, printable(text)) for name, text in reasons])
    above = [
        (row.low, f"{printable(title)}: {printable(row.name)}", f"{percent(row.rate)} of {row.pairs:,}")
        for name, title in SLICES.items()
        for row in getattr(report.slices, name)
        if row.is_high and not row.is_rest
    ]
    if above:
        listed = [(name, rate) for _, name, rate in sorted(above, reverse=True)[:SHOWN]]
        show_table(f"Flagged more often than all pairs ({percent(report.slices.overall.rate)})", listed)
