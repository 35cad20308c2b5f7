"""pairsift bench: methods and backbones on real pairs with known noise, by the protocol of the data's README."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.bench_eme import eme
from cli.bench_encode import encode
from cli.bench_job import job
from cli.bench_new import new
from cli.bench_progress import watching
from cli.output import JsonFlag, complain, say
from cli.session import Options, run_options

app = typer.Typer(help="Measure methods on real pairs with known noise.", no_args_is_help=True)
app.command()(eme)
app.command()(encode)
app.command()(job)
app.command()(new)

Data = Annotated[Path, typer.Option(help="Folder with the Flickr8k features, as its README describes it.")]
Methods = Annotated[str, typer.Option(help="all, or names separated by commas.")]
Backbones = Annotated[str, typer.Option(help="all, or names separated by commas; some of them read image regions.")]
Noise = Annotated[str, typer.Option(help="Shares of mismatched pairs, separated by commas.")]
Seeds = Annotated[str, typer.Option(help="Of the noise and of the training, separated by commas.")]
Quick = Annotated[bool, typer.Option("--quick", help="One caption per image: 6,000 pairs instead of 30,000.")]
Hard = Annotated[bool, typer.Option("--hard", help="Mismatch with one of the 50 images most like the right one.")]
Both = Annotated[bool, typer.Option("--both", help="Measure retrieval too: `bench retrieval` with this --out has it.")]
Tables = Annotated[str, typer.Option(help="all, or of lnc8, lnc9 and crcl4, separated by commas.")]
TableNoise = Annotated[str | None, typer.Option(help="Shares of mismatched pairs; each table's own if not given.")]
Out = Annotated[
    Path | None,
    typer.Option(help="Append each result to this file as a JSON line, and run only what it does not hold yet."),
]
Jobs = Annotated[int, typer.Option(min=1, help="Trainings at the same time, each a process with one thread.")]
Device = Annotated[str, typer.Option(help="Where networks are trained: cpu or cuda.")]

Results = Sequence[dict[str, Any]]


@app.command()
def detection(
    data: Data,
    methods: Methods = "all",
    backbones: Backbones = "head",
    noise: Noise = "0.2,0.4,0.6,0.8",
    seeds: Seeds = "0,1,2",
    quick: Quick = False,
    hard: Hard = False,
    both: Both = False,
    settings: Options = None,
    out: Out = None,
    jobs: Jobs = 1,
    device: Device = "cpu",
    as_json: JsonFlag = False,
) -> None:
    """How well the mismatched pairs are found, without any label."""
    from benchmarks.protocol.cells import DETECTION_KEYS
    from benchmarks.protocol.plan import Asked, plan_methods
    from benchmarks.protocol.tables import DETECTION_COLUMNS, markdown, rows

    with _wrong_use():
        asked = Asked(backbones, seeds, run_options(None, None, settings), quick)
        results = _run(plan_methods(methods, noise, asked, is_hard=hard), data, out, jobs, device, both)
    table = markdown(results, ("method", "backbone", "pairs", "noise", "hard"), DETECTION_COLUMNS)
    _end(results, rows(results, DETECTION_KEYS), table, as_json)


@app.command()
def trust(
    data: Data,
    methods: Methods = "auto",
    noise: Noise = "0,0.2,0.4,0.6,0.8",
    hard_noise: Annotated[str, typer.Option(help="The same for hard mismatches; empty for none.")] = "0.4",
    seeds: Seeds = "0,1,2,3,4",
    quick: Quick = False,
    settings: Options = None,
    out: Out = None,
    jobs: Jobs = 1,
    device: Device = "cpu",
    as_json: JsonFlag = False,
) -> None:
    """How far scores can be trusted: detection, automatic cut, calibration and noise rate of whole runs.

    `auto` is a run as the service makes it, with the neighbours' word beside it; other methods (`--methods auto,crcl`)
    are measured as `bench detection` does, by the plain mixture at 0.5. `--methods all` is `auto` beside all of them.
    Means have 95 % intervals over the seeds."""
    from benchmarks.protocol.cells import DETECTION_KEYS
    from benchmarks.protocol.plan import Asked, plan_trust
    from benchmarks.protocol.tables import TRUST_COLUMNS, TRUST_KEYS, markdown, rows, with_peers

    with _wrong_use():
        asked = Asked("head", seeds, run_options(None, None, settings), quick)
        results = _run(plan_trust(methods, noise, hard_noise, asked), data, out, jobs, device, False)
    shown = with_peers(results)
    table = markdown(shown, ("method", "pairs", "noise", "hard"), TRUST_COLUMNS, interval=True)
    _end(results, rows(shown, (*DETECTION_KEYS, *TRUST_KEYS)), table, as_json)


@app.command()
def retrieval(
    data: Data,
    methods: Methods = "all",
    backbones: Backbones = "head",
    noise: Noise = "0,0.2,0.4,0.6,0.8",
    seeds: Seeds = "0,1,2",
    quick: Quick = False,
    settings: Options = None,
    out: Out = None,
    jobs: Jobs = 1,
    device: Device = "cpu",
    as_json: JsonFlag = False,
) -> None:
    """How well images and captions that no training saw find each other."""
    from benchmarks.protocol.cells import RETRIEVAL_KEYS
    from benchmarks.protocol.plan import Asked, plan_methods
    from benchmarks.protocol.tables import RETRIEVAL_COLUMNS, markdown, rows

    with _wrong_use():
        asked = Asked(backbones, seeds, run_options(None, None, settings), quick)
        results = _run(plan_methods(methods, noise, asked), data, out, jobs, device, True)
    table = markdown(results, ("method", "backbone", "pairs", "noise"), RETRIEVAL_COLUMNS)
    _end(results, rows(results, RETRIEVAL_KEYS), table, as_json)


@app.command()
def ablation(
    data: Data,
    tables: Tables = "all",
    backbones: Backbones = "head",
    noise: TableNoise = None,
    seeds: Seeds = "0,1,2",
    quick: Quick = False,
    settings: Options = None,
    out: Out = None,
    jobs: Jobs = 1,
    device: Device = "cpu",
    as_json: JsonFlag = False,
) -> None:
    """What each part of LNC and CRCL is good for: LNC Tables 8 and 9, CRCL Table 4."""
    from benchmarks.protocol.plan import Asked, plan_ablation
    from benchmarks.protocol.tables import ABLATION_KEYS, ablation_markdown, rows

    with _wrong_use():
        plan = plan_ablation(tables, noise, Asked(backbones, seeds, run_options(None, None, settings), quick))
        measured = _run(plan, data, out, jobs, device, True)
    labels = ({"table": table, "variant": variant} for table, variant in plan.labels)
    results = [label | result for label, result in zip(labels, measured, strict=True)]
    _end(results, rows(results, ABLATION_KEYS), ablation_markdown(results), as_json)


def _run(plan: Any, data: Path, out: Path | None, jobs: int, device: str, retrieval: bool) -> Results:
    from benchmarks.protocol.cells import opened
    from benchmarks.protocol.runner import Runner, Store

    if not data.is_dir():
        raise typer.BadParameter(f"there is no folder {data}", param_hint="--data")
    if out is not None and out.is_dir():
        raise typer.BadParameter(f"{out} is a folder, not a file", param_hint="--out")
    opened(data)
    for text in plan.left_out:
        say(f"left out: {text}")
    with watching() as see:
        return Runner(data, Store(out), jobs, device, see, retrieval).run(plan.cells)


@contextmanager
def _wrong_use() -> Iterator[None]:
    from benchmarks.protocol.flickr8k import DataError
    from benchmarks.protocol.plan import PlanError

    try:
        yield
    except PlanError as error:
        raise typer.BadParameter(error.message, param_hint=error.option) from None
    except DataError as error:
        raise typer.BadParameter(str(error), param_hint="--data") from None


def _end(results: Results, rows: Results, table: str, as_json: bool) -> None:
    typer.echo(json.dumps(rows, indent=2) if as_json else table)
    failed = [result for result in results if "error" in result]
    for result in failed:
        complain(f"{result['method']}, {result['backbone']}, noise {result['noise']:g}: {result['error']}")
    if failed:
        raise typer.Exit(1)
