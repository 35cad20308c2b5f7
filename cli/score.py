"""pairsift score"""

from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer

from cli import reading
from cli.export import CostRatio, Keep, KeepShare, MinPrecision, chosen_cut, cut_text, format_of
from cli.output import JsonFlag, give, say
from cli.session import connected, export_file, follow_kept_run, upload_file
from cli.upload import describe
from service.config import Settings
from service.lenders import refusal


@reading.with_reading
def score(
    file: reading.Source,
    run: Annotated[UUID, typer.Option("--run", help="The run whose networks judge, as `pairsift run` printed it.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where the kept pairs go, if wanted: .tsv, .jsonl or .parquet.")
    ] = None,
    image_root: reading.ImageRoot = None,
    min_precision: MinPrecision = None,
    keep_share: KeepShare = None,
    keep: Keep = None,
    cost_ratio: CostRatio = None,
    as_json: JsonFlag = False,
    *,
    reads: dict[str, Any],
) -> None:
    """Judge new pairs with the networks of a run that exists, without training, and say whether they still look like
    what it learned from.

    Paths in the URL column are looked up next to the file, or below --image-root."""
    if not file.exists():
        raise typer.BadParameter(f"there is no file or folder {file}")
    wish = chosen_cut(min_precision, keep_share, keep, cost_ratio)
    if wish and out is None:
        raise typer.BadParameter("a cut of your own needs --out, a file for what it keeps")
    format = format_of(out) if out else ""  # a wrong ending is said before anything long begins
    reads |= reading.image_root(file, image_root, is_local=not Settings().url)
    with connected() as client:
        if problem := refusal(client.run(run)):  # said before anything is uploaded
            raise typer.BadParameter(f"--run: {problem.detail}")
        collection = upload_file(client, file, None, reads)
        say(describe(collection))
        scored = follow_kept_run(client, client.score(run, collection.id))
        say(f"scored as run {scored.id}")  # a cut that cannot be had must not lose it
        cut = client.cut(scored.id, **wish)
        if out:
            export_file(client, scored.id, out, format, split="clean", **wish)
    summary = scored.summary or {}
    drift = summary.get("drift") or {}
    lines = [
        f"run {scored.id}: {cut.kept:,} clean of {summary['pairs']:,} pairs; {cut.flagged:,} flagged, "
        f"{summary['unscored']:,} without a readable image, estimated noise {summary['noise_estimate']:.1%}",
        cut_text(cut),
        *([drift["explanation"]] if drift else []),
        *([f"{out}: {cut.kept:,} kept pairs"] if out else []),
    ]
    told = {"run_id": str(scored.id), "model_run_id": str(run), "collection_id": str(collection.id)}
    told |= {"out": str(out)} if out else {}
    give({**told, **summary, "cut": cut.model_dump(mode="json")}, as_json, "\n".join(lines))
