"""pairsift bench new: how well pairs that arrive after a training are judged, without another one."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.bench_progress import watching
from cli.output import JsonFlag

Data = Annotated[Path, typer.Option(help="Folder with the Flickr8k features, as its README describes it.")]
Noise = Annotated[str, typer.Option(help="Shares of mismatched pairs, of old and new ones, separated by commas.")]
Seeds = Annotated[str, typer.Option(help="Of the noise and of the training, separated by commas.")]
Quick = Annotated[bool, typer.Option("--quick", help="One caption per image: 5,000 pairs are learned, not 25,000.")]
Hard = Annotated[bool, typer.Option("--hard", help="Mismatch with one of the 50 images most like the right one.")]


def new(
    data: Data,
    noise: Noise = "0.2,0.4,0.6,0.8",
    seeds: Seeds = "0,1,2",
    quick: Quick = False,
    hard: Hard = False,
    as_json: JsonFlag = False,
) -> None:
    """A run over five sixths of the photographs judges the pairs of the last sixth: all at once, and 99 at a time."""
    from benchmarks.protocol.cells import opened
    from benchmarks.protocol.flickr8k import DataError
    from benchmarks.protocol.newcomers import NEW_COLUMNS, NEW_KEYS, measure_new
    from benchmarks.protocol.plan import PlanError, numbers
    from benchmarks.protocol.runner import Event
    from benchmarks.protocol.tables import markdown, rows

    try:
        cells = [(rate, seed) for rate in numbers(noise, float, "--noise") for seed in numbers(seeds, int, "--seeds")]
        opened(data)
    except PlanError as error:
        raise typer.BadParameter(error.message, param_hint=error.option) from None
    except DataError as error:
        raise typer.BadParameter(str(error), param_hint="--data") from None
    results: list[dict[str, Any]] = []
    with watching() as see:
        for rate, seed in cells:
            name = f"noise {rate:g}, seed {seed}"

            def show(share: float, name: str = name) -> None:
                see(Event(len(results), len(cells), share, name, None))

            results.append(measure_new(data, rate, seed, is_quick=quick, is_hard=hard, on_progress=show))
    table = markdown(results, ("pairs", "new", "noise", "hard"), NEW_COLUMNS)
    typer.echo(json.dumps(rows(results, NEW_KEYS), indent=2) if as_json else table)
