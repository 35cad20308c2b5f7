"""pairsift bench eme: are the reasons right? Elements, the EME score and shifted blocks against known truth."""

from pathlib import Path
from typing import Annotated, Any

import typer

from cli.bench_progress import watching
from cli.output import JsonFlag, give

Data = Annotated[
    Path | None, typer.Option(help="Folder with the Flickr8k features; without it only the demo's scenes are measured.")
]
Seeds = Annotated[str, typer.Option(help="Of the collections and of the training, separated by commas.")]
Quick = Annotated[bool, typer.Option("--quick", help="6,000 pairs of Flickr8k instead of 30,000.")]


def eme(data: Data = None, seeds: Seeds = "0", quick: Quick = False, as_json: JsonFlag = False) -> None:
    """How well elements are told apart, mismatches named and shifted blocks found."""
    from benchmarks.eme import measure
    from benchmarks.protocol.flickr8k import DataError
    from benchmarks.protocol.runner import Event

    try:
        numbers = [int(seed) for seed in seeds.split(",")]
    except ValueError:
        raise typer.BadParameter("must be whole numbers separated by commas", param_hint="--seeds") from None
    try:
        with watching() as see:
            report = measure(
                data,
                numbers,
                is_quick=quick,
                on_progress=lambda name, share: see(Event(0, 1, share, name, None)),
            )
    except DataError as error:
        raise typer.BadParameter(str(error), param_hint="--data") from None
    give(report, as_json, _text(report))
    if not report["is_reached"]:
        raise typer.Exit(1)


def _text(report: dict[str, Any]) -> str:
    lines = ["| collection | figure | mean | seeds | bar | met |", "|---|---|---:|---:|---:|---|"]
    for bar in report["bars"]:
        met = "yes" if bar["is_met"] else "no"
        shown = [bar["collection"], bar["figure"], bar["mean"], bar["seeds"], f"{bar['limit']:g}", met]
        lines.append(f"| {' | '.join(map(str, shown))} |")
    return "\n".join(lines)
