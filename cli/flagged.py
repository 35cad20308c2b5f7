"""pairsift flagged"""

import json
from itertools import islice
from typing import Annotated
from uuid import UUID

import typer
from rich.console import Console
from rich.text import Text

from cli.output import JsonFlag
from cli.review import safe
from cli.session import connected
from service.db.states import Split
from service.schemas import Pair
from service.schemas_explanations import CaptionElement

MISSING, DEPICTED, ASIDE = "bold red", "green", "dim"
# Without colours: what stands around the words.
MARKS = {MISSING: ("[-", "-]"), DEPICTED: ("[+", "+]")}
LEGEND = "marked: [-not in the image-] [+in the image+]"
PAGE = 1_000


def flagged(
    run: Annotated[UUID, typer.Argument(help="As `pairsift run` printed it.")],
    limit: Annotated[int, typer.Option(min=1, help="How many pairs, the least trusted first.")] = 20,
    reviewed: Annotated[bool, typer.Option("--reviewed", help="Also pairs that a person judged already.")] = False,
    no_color: Annotated[bool, typer.Option("--no-color", help="Mark words with signs instead of colours.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """List flagged pairs with the reason: what the caption claims and the image does not show, what it shows instead,
    and the caption of the collection that fits it best."""
    with connected() as client:
        wanted = {"split": Split.NOISY, "sort": "clean_confidence", "elements": True, "limit": min(limit, PAGE)}
        # What a person called a mismatch is the least trusted of all: it would fill the list of a reviewed run.
        wanted |= {} if reviewed else {"review": "none"}
        found = list(islice(client.pairs(run, **wanted), limit))
    if as_json:
        typer.echo(json.dumps([pair.model_dump(mode="json") for pair in found], indent=2, ensure_ascii=False))
        return
    console = Console(highlight=False, no_color=no_color)
    is_plain = no_color or not console.is_terminal
    if not found:
        console.print("no pair is flagged" if reviewed else "no pair is flagged that nobody judged; see --reviewed")
    elif is_plain:
        console.print(LEGEND, markup=False, soft_wrap=True)
    for pair in found:
        console.print(described(pair, is_plain=is_plain), soft_wrap=True)


def described(pair: Pair, *, is_plain: bool) -> Text:
    """Captions and URLs are hostile text: no control characters, and never read as markup."""
    lines = [
        Text(f"row {pair.row:,}  confidence {pair.clean_confidence or 0:.3f}{_score(pair)}", style=ASIDE),
        Text("  ").append_text(_caption(pair, is_plain)),
        Text(f"  {safe(pair.url)}", style=ASIDE),
    ]
    if pair.elements is not None:
        wrong = [
            f"{safe(one.text)} ({safe(one.wrong)})" for one in pair.elements.caption if _is_missing(one) and one.wrong
        ]
        others = [safe(one.lemma) for one in pair.elements.image if not one.is_mentioned]
        lines += [Text(f"  wrong: {', '.join(wrong)}")] if wrong else []
        lines += [Text(f"  the image shows: {', '.join(others)}")] if others else []
    if pair.repair is not None and pair.repair.captions:
        best = pair.repair.captions[0]
        lines.append(Text(f"  may fit ({best.confidence:.0%}, row {best.row:,}): {safe(best.caption)}"))
    return Text("\n").join(lines)


def _score(pair: Pair) -> str:
    return "" if pair.eme is None else f"  eme {pair.eme:.2f}"


def _caption(pair: Pair, is_plain: bool) -> Text:
    """In pieces, because control characters are replaced and long captions cut."""
    shown, at = Text(), 0
    for element in pair.elements.caption if pair.elements else []:
        if element.start < at or not element.is_known:
            continue
        style = MISSING if _is_missing(element) else DEPICTED
        before, after = MARKS[style] if is_plain else ("", "")
        shown.append(safe(pair.caption[at : element.start]))
        shown.append(f"{before}{safe(element.text)}{after}", style="" if is_plain else style)
        at = element.end
    return shown.append(safe(pair.caption[at:]))


def _is_missing(element: CaptionElement) -> bool:
    return element.is_known and not element.is_depicted
