"""pairsift review"""

import sys
import webbrowser
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit
from uuid import UUID

import typer

from cli.output import JsonFlag, give
from cli.review_file import import_file
from cli.session import connected
from service.client import Client
from service.db.states import ReviewReason, Verdict
from service.schemas_reviews import Estimate, Measure, Plan, Planned, Proposal, ReviewGiven

VERDICTS = {"m": Verdict.MATCH, "x": Verdict.MISMATCH, "u": Verdict.UNSURE}
KEYS = "m match  x mismatch  u unsure  s skip  o open in a browser  q quit"
SHOWN_CHARACTERS = 1_000  # of a caption or URL


def review(
    run: Annotated[UUID, typer.Argument(help="As `pairsift run` printed it.")],
    limit: Annotated[int, typer.Option(min=1, max=500, help="How many pairs.")] = 30,
    reason: Annotated[
        Planned | None, typer.Option(help="Pairs of one kind only. By default half of them are an audit.")
    ] = None,
    reviewer: Annotated[str | None, typer.Option(help="Who says so; the name of the key by default.")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Only print which pairs to review.")] = False,
    file: Annotated[
        Path | None,
        typer.Option(
            "--import",
            help="Store the reviews in a TSV, whose first line names its columns, or a JSONL: uid, verdict, note, "
            "reason (as the plan says it: the estimate rests on audits), reviewer. Items of the plan's JSON, each with "
            "a verdict added, are such lines.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    estimate: Annotated[bool, typer.Option("--estimate", help="Only print what the audits say.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Judge pairs by hand: the next run learns from it, and audits tell how good this one is."""
    if plan + estimate + (file is not None) > 1:
        raise typer.BadParameter("give one of --plan, --import and --estimate")
    with connected() as client:
        if plan:
            proposed = client.review_plan(run, limit=limit, reason=reason)
            give(proposed.model_dump(mode="json"), as_json, _plan_text(proposed))
            return
        stored = 0
        if file is not None:
            stored = import_file(client, run, file, reviewer)
        elif not estimate:
            stored = _loop(client, run, client.review_plan(run, limit=limit, reason=reason), reviewer)
        found = client.review_estimate(run)
    said = [] if estimate else [f"{stored:,} reviews stored; the next run of the collection learns from them."]
    result = {"stored": stored, "estimate": found.model_dump(mode="json")}
    give(result, as_json, "\n".join([*said, *_estimate_lines(found)]))


def _loop(client: Client, run: UUID, plan: Plan, reviewer: str | None) -> int:
    """Every answer is stored at once, so that nothing is lost when it ends early."""
    stored = 0
    if not plan.items:
        _tell("there is nothing left to review")
    for number, item in enumerate(plan.items, start=1):
        _tell(f"\n{number}/{len(plan.items)}  {_shown(item)}")
        answer = _answer(item)
        if answer == "q":
            break
        if answer in VERDICTS:
            given = ReviewGiven(verdict=VERDICTS[answer], reason=ReviewReason(item.reason), reviewer=reviewer)
            stored += client.review(run, item.uid, given).verdict == given.verdict
    return stored


def _answer(item: Proposal) -> str:
    """One of m, x, u, s and q."""
    while True:
        _tell(KEYS)
        pressed = _key()
        if pressed == "o":
            _open(item.url)
        elif pressed in VERDICTS or pressed in ("s", "q"):
            return pressed
        else:
            _tell(f"'{safe(pressed[:20])}' is none of these")


def _key() -> str:
    """A key on a terminal, else a line; at the end of the input, `q`."""
    if not sys.stdin.isatty():
        line = sys.stdin.readline()
        return line.strip().lower() if line else "q"
    try:
        return typer.getchar().lower()
    except (EOFError, KeyboardInterrupt):
        return "q"


def _open(url: str) -> None:
    """Only what a browser fetches from the web: a `file:` or `javascript:` URL of a stranger is not opened."""
    if urlsplit(url).scheme.lower() not in ("http", "https"):
        _tell("only http and https URLs are opened")
    elif not webbrowser.open(url):
        _tell("no browser was found")


def safe(text: str) -> str:
    """Captions and URLs are hostile text: no control characters to the terminal."""
    shown = "".join(character if character.isprintable() else "\ufffd" for character in text[:SHOWN_CHARACTERS])
    return shown + "…" * (len(text) > SHOWN_CHARACTERS)


def _shown(item: Proposal) -> str:
    return (
        f"{item.reason}: {item.why}\n  {safe(item.caption)}\n  {safe(item.url)}\n"
        f"  {'kept' if item.is_clean else 'flagged'}, confidence {item.clean_confidence:.3f} "
        f"(networks {item.confidence_a:.3f} and {item.confidence_b:.3f}), row {item.row:,}"
    )


def _plan_text(plan: Plan) -> str:
    return "\n".join(f"{item.uid}  {_shown(item)}" for item in plan.items) or "there is nothing left to review"


def _estimate_lines(found: Estimate) -> list[str]:
    names = ("precision", "recall", "flagged_precision", "flagged_recall", "noise_rate")
    measures = [(name, getattr(found, name)) for name in names]
    return [*(_measure_text(name, measure) for name, measure in measures if measure), found.explanation]


def _measure_text(name: str, measure: Measure) -> str:
    text = (
        f"{name.replace('_', ' '):<17} {measure.estimate:6.1%}  ({measure.low:.1%} to {measure.high:.1%}; "
        f"{measure.hits:,} of {measure.of:,})"
    )
    if measure.expected is None:
        return text
    return (
        f"{text}  calibration says {measure.expected:.1%}{'' if measure.is_expected_within else ', which is outside'}"
    )


def _tell(text: str) -> None:
    typer.echo(text, err=True)
