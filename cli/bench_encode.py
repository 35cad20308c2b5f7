"""pairsift bench encode: pairs a second from files to vectors, beside the bare networks in the same run."""

import re
from typing import Annotated, Any

import typer

from cli.output import JsonFlag, give

Encoders = Annotated[
    list[str] | None,
    typer.Option("--encoder", help="lite, or open_clip:<architecture>:<tag, file, or random>; may be repeated."),
]
Size = Annotated[str, typer.Option(help="Width and height of the images that are made for it.")]
Seconds = Annotated[float, typer.Option(min=0.1, help="About how long one measurement takes.")]


def encode(encoder: Encoders = None, size: Size = "500x375", seconds: Seconds = 3.0, as_json: JsonFlag = False) -> None:
    """How fast images and captions become vectors, and how much of the networks' own speed that is."""
    from benchmarks.encode import ENCODERS, measure
    from model.encoders.base import EncoderError

    if re.fullmatch(r"[1-9]\d{0,3}x[1-9]\d{0,3}", size) is None:
        raise typer.BadParameter("must look like 500x375", param_hint="--size")
    try:
        report = measure(encoder or ENCODERS, size, seconds)
    except EncoderError as error:
        raise typer.BadParameter(str(error), param_hint="--encoder") from None
    give(report, as_json, _text(report))
    if not report["is_reached"]:
        raise typer.Exit(1)


def _text(report: dict[str, Any]) -> str:
    lines = ["| encoder | of | files to vectors, /s | bare network, /s | ratio |", "|---|---|---|---|---|"]
    for result in report["encoders"]:
        for side in ("images", "captions", "pairs"):
            rates = result[side]
            figures = f"{rates['end_to_end_per_second']} | {rates['forward_per_second']} | {rates['ratio']}"
            lines.append(f"| {result['encoder']} | {side} | {figures} |")
    text = report["short_text"]
    speed = f"{text['speed_up']} times as fast, largest difference {text['largest_difference']:.1e}"
    lines.append(f"\nShort captions at context {text['context']} of {text['architecture']}: {speed}.")
    lines.append(f"Limit for the ratio of images: {report['least_ratio']}.")
    return "\n".join(lines)
