"""pairsift demo"""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.output import JsonFlag, give, say, seconds_text, show_table
from cli.session import Method, Seed, connected, export_file, follow_run, run_options, upload_file
from cli.stack import running_stack, temporary_data_folder
from service.client import Client
from service.config import Settings

# As in the usual benchmarks, a picture has several captions; each is a pair of its own.
CAPTIONS = 2


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the pictures and the results.", file_okay=False)] = Path("demo"),
    pairs: Annotated[int, typer.Option(min=64, help="How many pairs.")] = 4000,
    noise: Annotated[float, typer.Option(min=0, max=1, help="Share of mismatched pairs.")] = 0.3,
    near_miss: Annotated[float, typer.Option(min=0, max=1, help="Share of mismatches with one wrong element.")] = 0.2,
    seed: Seed = 0,
    method: Method = None,
    as_json: JsonFlag = False,
) -> None:
    """See it work: draw a collection with known mismatches, clean it, and compare with the truth.

    Starts everything it needs in a temporary folder, uses the REST API like any user, and ends everything."""
    clock = Stopwatch()
    with ExitStack() as stack:
        with clock.stage("start"):
            folder = stack.enter_context(temporary_data_folder())
            settings = Settings().model_copy(
                update={"data": folder, "storage": folder / "storage", "port": 0, "worker_concurrency": 1}
            )
            say("starting PostgreSQL, Valkey, the service and a worker")
            local = stack.enter_context(running_stack(settings))
            reached = settings.model_copy(update={"url": local.url, "key": local.key})
            client = stack.enter_context(connected(reached))
        with clock.stage("draw"):  # while the worker warms up
            truth = _draw(out / "collection", pairs, noise, near_miss, seed or 0)
        with clock.stage("upload"):
            collection = upload_file(client, out / "collection" / "pairs.tsv", "demo", {})
        say(f"uploaded {collection.lines_read:,} lines to {local.url}")
        run = follow_run(client, client.start_run(collection.id, run_options(method, seed, None)))
        clock.seconds |= {str(stage.name): stage.seconds or 0.0 for stage in run.stages}
        with clock.stage("export"):
            export_file(client, run.id, out / "clean.tsv", "tsv", split="clean")
            export_file(client, run.id, out / "flagged.tsv", "tsv", split="noisy")
            (out / "report.html").write_text(client.report_html(run.id), encoding="utf-8")
        judged = _judge(client, run.id, truth)
        clock.total()
    report = _report(collection.accepted, collection.rejected, run.summary or {}, judged, clock)
    (out / "report.json").write_text(json.dumps(report, indent=2) + "\n")
    _show(report, out)
    give(report, as_json, f"{out}/clean.tsv, {out}/flagged.tsv, {out}/report.json and {out}/report.html are written.")


class Stopwatch:
    def __init__(self) -> None:
        self.began = time.monotonic()
        self.seconds: dict[str, float] = {}
        self.whole = 0.0

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.seconds[name] = time.monotonic() - began

    def total(self) -> None:
        self.whole = time.monotonic() - self.began


def _draw(folder: Path, pairs: int, noise: float, near_miss: float, seed: int) -> Mapping[int, str]:
    from model.demo.collection import generate, read_truth

    scenes = -(-pairs // CAPTIONS)
    say(f"drawing {scenes:,} scenes with {CAPTIONS} captions each; {noise:.0%} of the pairs are wrong")
    generate(folder, pairs=pairs, noise=noise, near_miss=near_miss, seed=seed, captions=CAPTIONS)
    return read_truth(folder)


def _judge(client: Client, run_id: Any, truth: Mapping[int, str]) -> dict[str, Any]:
    """How well the scores found the mismatches; the truth is seen only here, after the run."""
    import numpy as np

    from model.metrics import auroc, detection

    scored = [(pair.row, pair.clean_confidence, pair.is_mismatch_issue) for pair in client.pairs(run_id)]
    rows = [row for row, confidence, _ in scored if confidence is not None]
    confidence = np.array([value for _, value, _ in scored if value is not None])
    flagged = np.array([bool(flag) for _, value, flag in scored if value is not None])
    kind = np.array([truth[row] for row in rows])
    is_wrong = kind != "match"
    result = {"flagged": int(flagged.sum()), "noise_true": float(is_wrong.mean())}
    result |= {"auroc": auroc(confidence, is_wrong), **asdict(detection(~flagged, is_wrong))}
    for name in ("random", "near_miss"):
        part = ~is_wrong | (kind == name)
        if (kind == name).any():
            result[f"auroc_{name}"] = auroc(confidence[part], is_wrong[part])
            result[f"recall_{name}"] = float(flagged[kind == name].mean())
    # Without a mismatch there is no AUROC, and JSON has no NaN.
    return {name: None if value != value else round(value, 4) for name, value in result.items()}


def _report(
    accepted: int, rejected: int, summary: dict[str, Any], judged: dict[str, Any], clock: Stopwatch
) -> dict[str, Any]:
    return {
        "pairs": accepted + rejected,
        "accepted": accepted,
        "rejected": rejected,
        **judged,
        "noise_estimate": summary["noise_estimate"],
        "seconds": round(clock.whole, 1),
        "stages": {name: round(seconds, 1) for name, seconds in clock.seconds.items()},
    }


def _show(report: dict[str, Any], out: Path) -> None:
    rows = [
        ("pairs", f"{report['pairs']:,} ({report['accepted']:,} accepted, {report['rejected']:,} rejected)"),
        ("flagged as mismatches", f"{report['flagged']:,}"),
        ("true mismatches", f"{report['noise_true']:.1%}"),
        ("estimated mismatches", f"{report['noise_estimate']:.1%}"),
        ("AUROC", "-" if report["auroc"] is None else f"{report['auroc']:.3f}"),
    ]
    for name in ("random", "near_miss"):
        if f"auroc_{name}" in report:
            label = name.replace("_", "-")
            rows.append(
                (
                    f"  {label} only",
                    f"AUROC {report[f'auroc_{name}']:.3f}, recall {report[f'recall_{name}']:.3f}",
                )
            )
    cut = f"precision {report['precision']:.3f}, recall {report['recall']:.3f}, F1 {report['f1']:.3f}"
    rows.append(("automatic cut", cut))
    rows += [(f"  {name}", seconds_text(seconds)) for name, seconds in report["stages"].items()]
    rows.append(("all", seconds_text(report["seconds"])))
    show_table(f"Demo collection, results in {out}/", rows)
