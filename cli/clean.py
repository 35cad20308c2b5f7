"""pairsift clean"""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from cli import reading
from cli.export import CostRatio, Keep, KeepShare, MinPrecision, chosen_cut, cut_text, format_of
from cli.output import JsonFlag, give, say
from cli.session import (
    Method,
    Options,
    Seed,
    connected,
    export_file,
    follow_kept_run,
    run_options,
    upload_file,
)
from cli.stack import StackError, running_stack
from cli.upload import describe
from service.client import ApiProblem, Client
from service.config import Settings
from service.cut_shapes import Cut
from service.schemas import Run


@reading.with_reading
def clean(
    file: reading.Source,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the clean subset goes: .tsv, .jsonl or .parquet.")],
    flagged: Annotated[Path | None, typer.Option(help="Where the flagged pairs go, if wanted.")] = None,
    image_root: reading.ImageRoot = None,
    method: Method = None,
    seed: Seed = None,
    settings: Options = None,
    min_precision: MinPrecision = None,
    keep_share: KeepShare = None,
    keep: Keep = None,
    cost_ratio: CostRatio = None,
    as_json: JsonFlag = False,
    *,
    reads: dict[str, Any],
) -> None:
    """Clean a file in one go: upload, train, judge, download the clean subset.

    Uses the service in PAIRSIFT_URL; without one, everything runs on this machine and ends with the command.
    Paths in the URL column are looked up next to the file, or below --image-root."""
    if not file.exists():
        raise typer.BadParameter(f"there is no file or folder {file}")
    wanted = Settings()
    options = run_options(method, seed, settings)
    wish = chosen_cut(min_precision, keep_share, keep, cost_ratio)
    formats = format_of(out), format_of(flagged or out)  # a wrong ending is said before the training
    reads |= reading.image_root(file, image_root, is_local=not wanted.url)
    with ExitStack() as stack:
        client = _client(stack, wanted)
        collection = upload_file(client, file, None, reads)
        say(describe(collection))
        run = follow_kept_run(client, client.start_run(collection.id, options))
        cut = _cut(client, run, wish)
        export_file(client, run.id, out, formats[0], split="clean", **wish)
        if flagged:
            export_file(client, run.id, flagged, formats[1], split="noisy", **wish)
    summary = (run.summary or {}) | {"clean": cut.kept, "noisy": cut.flagged}
    text = (
        f"{out}: {cut.kept:,} clean of {summary['pairs']:,} pairs; {cut.flagged:,} flagged, "
        f"{summary['unscored']:,} without a readable image, estimated noise {summary['noise_estimate']:.1%}\n"
        f"{cut_text(cut)}"
    )
    told = {"run_id": str(run.id), "collection_id": str(collection.id), "out": str(out)}
    give({**told, **summary, "cut": cut.model_dump(mode="json")}, as_json, text)


def _client(stack: ExitStack, wanted: Settings) -> Client:
    if not wanted.url:
        say("starting the embedded servers")
        local = stack.enter_context(running_stack(wanted.model_copy(update={"port": 0})))
        wanted = wanted.model_copy(update={"url": local.url, "key": local.key})
    return stack.enter_context(connected(wanted))


def _cut(client: Client, run: Run, wish: dict[str, Any]) -> Cut:
    """A wish that the scores cannot meet is known only now; the training must not be lost for it."""
    try:
        return client.cut(run.id, **wish)
    except ApiProblem as problem:
        again = f"The scores are kept: pairsift export {run.id} -o FILE, with another cut."
        raise StackError(f"{problem.detail} {again}") from problem
