"""pairsift bench job: a whole job on servers of its own, its stages, and what the matrix products alone would take."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.output import JsonFlag, give, say
from cli.session import Options, connected, follow_run, run_options
from cli.stack import running_stack, temporary_data_folder
from service.config import Settings

Data = Annotated[
    Path | None, typer.Option(help="Folder with the Flickr8k features; made-up ones of the same sizes when absent.")
]
Pairs = Annotated[int, typer.Option(min=100, help="How many pairs are made up.")]


def job(data: Data = None, pairs: Pairs = 30_000, settings: Options = None, as_json: JsonFlag = False) -> None:
    """How long a collection whose features are there takes from upload to published scores, with `auto`."""
    from benchmarks.job import make_pairs, measure, write_folder
    from benchmarks.protocol.flickr8k import DataError

    options = run_options(None, None, settings)
    if options.get("backbone", "head") != "head":
        raise typer.BadParameter("only the backbone head is measured", param_hint="--set")
    try:
        made, is_mismatch = make_pairs(data, pairs)
    except DataError as error:
        raise typer.BadParameter(str(error), param_hint="--data") from None
    with ExitStack() as stack:
        folder = stack.enter_context(temporary_data_folder())
        embeddings = write_folder(made, folder / "embeddings")
        say("starting PostgreSQL, Valkey, the service and a worker")
        local = stack.enter_context(running_stack(_settings(folder)))
        reached = local.settings.model_copy(update={"url": local.url, "key": local.key})
        client = stack.enter_context(connected(reached))
        report = measure(
            client, embeddings, is_mismatch, options, lambda run: follow_run(client, run), local.worker.pid
        )
    give(report, as_json, _text(report))
    if not report["is_within"]:
        raise typer.Exit(1)


def _settings(folder: Path) -> Settings:
    """Servers that end with the command, whatever is configured: a benchmark leaves nothing in a database."""
    own = {"data": folder, "storage": folder / "storage", "image_roots": (folder,), "port": 0, "worker_concurrency": 1}
    return Settings().model_copy(update={**own, "database_url": None, "broker_url": None})


def _text(report: dict[str, Any]) -> str:
    lines = ["| stage | seconds |", "|---|---|"]
    lines += [f"| {name} | {seconds} |" for name, seconds in report["seconds"].items()]
    lines.append(f"| all | {report['total_seconds']} |")
    limits = ", ".join(f"{name} {seconds:g} s" for name, seconds in report["limit_seconds"].items())
    lines.append(f"\n{'Within' if report['is_within'] else 'Beyond'} the limits: {limits}.")
    bound = report["bound"]
    products = f"{bound['gigaflops']:,} GFLOP at {bound['sgemm_gigaflops_per_second']} a second and core"
    lines.append(f"\nTraining took {bound['ratio']} times as long as its matrix products ({products}).")
    lines.append(f"AUROC {report['auroc']}. Load of the machine before it: {report['load_before']}.")
    lines.append(f"The worker took {report['worker_peak_mb']:,.0f} MB at most, mapped files included.")
    return "\n".join(lines)
