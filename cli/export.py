"""pairsift export"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args
from uuid import UUID

import typer

from cli.output import JsonFlag, give
from cli.session import connected, export_file
from service.cut_shapes import Cut, Expected
from service.db.states import Split

Format = Literal["tsv", "jsonl", "parquet"]
WEIGHTS_ENDINGS = (".tsv", ".txt", "")

# A cut of one's own; at most one of them.
MinPrecision = Annotated[
    float | None, typer.Option(min=0, max=1, help="Keep as much as this expected share of matching pairs allows.")
]
KeepShare = Annotated[float | None, typer.Option(min=0, max=1, help="Keep exactly this share of the scored pairs.")]
Keep = Annotated[int | None, typer.Option(min=0, help="Keep exactly this many pairs, the most trusted ones.")]
CostRatio = Annotated[
    float | None, typer.Option(help="How many lost matching pairs one kept mismatch is worth; above 0, 1 by default.")
]


def export(
    run: Annotated[UUID, typer.Argument(help="As `pairsift run` printed it.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write.", dir_okay=False)],
    split: Annotated[
        Split | None, typer.Option(help="Which pairs. All of them by default; the kept ones where you choose a cut.")
    ] = None,
    min_confidence: Annotated[float | None, typer.Option(min=0, max=1, help="Only pairs trusted this much.")] = None,
    max_confidence: Annotated[float | None, typer.Option(min=0, max=1)] = None,
    min_precision: MinPrecision = None,
    keep_share: KeepShare = None,
    keep: Keep = None,
    cost_ratio: CostRatio = None,
    weights: Annotated[bool, typer.Option("--weights", help="Write uid, row and training weight as TSV.")] = False,
    corrected: Annotated[
        bool,
        typer.Option(
            "--corrected",
            help="All pairs, with rows that look shifted put right, as `pairsift report` lists them.",
        ),
    ] = False,
    format: Annotated[Format | None, typer.Option(help="By the file's ending when not given.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Download pairs of a run: the clean subset with --split clean, the flagged ones with --split noisy. Another cut
    needs no new run: see --min-precision, --keep-share, --keep and --cost-ratio."""
    if weights and format:
        raise typer.BadParameter("--weights is a format of its own; leave --format out")
    if weights and out.suffix.lower() not in WEIGHTS_ENDINGS:
        raise typer.BadParameter(f"{out}: weights are written as TSV; the ending must be .tsv, .txt or none")
    cut = chosen_cut(min_precision, keep_share, keep, cost_ratio)
    if cut and min_confidence is not None:
        raise typer.BadParameter(f"--min-confidence: leave it out, or {_flag(*cut)}")
    # Without a split a file of lines would not show which of them are kept.
    split = split or (Split.CLEAN if cut and not weights else None)
    chosen = {"split": split, "min_confidence": min_confidence, "max_confidence": max_confidence, **cut}
    filters = {name: value for name, value in chosen.items() if value is not None}
    if corrected and (filters or weights):
        raise typer.BadParameter("--corrected is a file of all pairs: leave --weights and all choices of pairs out")
    filters |= {"corrected": True} if corrected else {}
    with connected() as client:
        made = export_file(client, run, out, "weights" if weights else format or format_of(out), **filters)
    text = f"{out}: {made.rows:,} rows, sha256 {made.sha256}"
    if "cut" in made.filter:
        text += "\n" + cut_text(Cut.model_validate(made.filter["cut"]))
    if "correction" in made.filter:
        text += "\n" + correction_text(made.filter["correction"])
    give(made.model_dump(mode="json"), as_json, text)


def correction_text(counts: Mapping[str, int]) -> str:
    return (
        f"{counts['changed']:,} rows have another caption now; {counts['images_left_out']:,} images without a caption "
        f"and {counts['captions_left_out']:,} captions without an image are left out. Upload the file and start a run."
    )


def chosen_cut(
    min_precision: float | None, keep_share: float | None, keep: int | None, cost_ratio: float | None
) -> dict[str, Any]:
    """The one that was given, by its name in the API. Wrong use is said before anything long begins."""
    wishes = {"min_precision": min_precision, "keep_share": keep_share, "keep": keep, "cost_ratio": cost_ratio}
    given = {name: value for name, value in wishes.items() if value is not None}
    if len(given) > 1:
        raise typer.BadParameter(f"{_flag(*given)}: give at most one of them")
    if cost_ratio is not None and not 0 < cost_ratio < float("inf"):
        raise typer.BadParameter(f"--cost-ratio: {cost_ratio:g} is not above 0")
    return given


def cut_text(cut: Cut) -> str:
    """For people: what was kept, and what to expect of it."""
    kept = f"cut at confidence {cut.confidence:.4f}: {cut.kept:,} of {cut.kept + cut.flagged:,} scored pairs kept"
    if cut.expected is None:
        return f"{kept}; the run has no calibration, so no precision is known"
    return f"{kept}, expected {_interval(cut.expected, 'precision')}, {_interval(cut.expected, 'recall')}"


def _interval(expected: Expected, name: str) -> str:
    values: Mapping[str, float | None] = expected.model_dump()
    value, low, high = values[name], values[f"{name}_low"], values[f"{name}_high"]
    if value is None or low is None or high is None:
        return f"{name} unknown"
    return f"{name} {value:.1%} ({low:.1%} to {high:.1%})"


def _flag(*names: str) -> str:
    return ", ".join(f"--{name.replace('_', '-')}" for name in names)


def format_of(path: Path) -> str:
    ending = path.suffix.lower().removeprefix(".")
    format = {"json": "jsonl", "ndjson": "jsonl", "": "tsv", "txt": "tsv"}.get(ending, ending)
    if format not in get_args(Format):
        raise typer.BadParameter(f"{path}: the ending must be one of .{', .'.join(get_args(Format))}")
    return format
