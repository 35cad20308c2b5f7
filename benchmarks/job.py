"""How long a whole job takes when the features are there, beside what its matrix products alone would take.

`pairsift bench job` starts the product and hands it in as a client; running this module is the same with --json. The
limit is for 30,000 pairs on two idle cores, so the load of the machine is in the report.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from benchmarks.features import largest_peak_rss_mb
from benchmarks.protocol.flickr8k import CAPTIONS, Flickr8k, Taken
from benchmarks.protocol.noise import shuffled
from model.config import RunConfig, parse_run_config
from model.methods import METHODS
from model.metrics import auroc
from model.options.backbones import HeadConfig
from model.pairs import Pairs
from service.client import Client
from service.schemas import Run

PAIRS, LIMIT_SECONDS = 30_000, 180.0
# Reasons have a limit of their own: ten minutes for 100,000 pairs.
EXPLAIN_LIMIT_SECONDS = 600.0 * PAIRS / 100_000
NOISE, SEED = 0.4, 0
WIDTHS = IMAGE_WIDTH, CAPTION_WIDTH = 1280, 384  # of the Flickr8k features
_HIDDEN = 48
_CHUNK_ROWS = 4096
_SIDE, _ROUNDS = 1024, 10  # of the matrix products that tell how fast a core is

Bools = npt.NDArray[np.bool_]


def main() -> int:
    command = [sys.executable, "-m", "cli.main", "bench", "job", "--json", *sys.argv[1:]]
    return subprocess.run(command, check=False).returncode


def make_pairs(data: Path | None, count: int) -> tuple[Pairs, Bools]:
    """Pairs of the Flickr8k folder, or made-up ones of the same sizes; and which of them are mismatched."""
    return made_up(count) if data is None else Flickr8k(data).training(NOISE, SEED)


def made_up(count: int) -> tuple[Pairs, Bools]:
    """Both sides are views of one hidden vector for each picture, which has five captions."""
    rng = np.random.default_rng(SEED)
    own = np.arange(count) // CAPTIONS
    hidden = rng.standard_normal((int(own[-1]) + 1, _HIDDEN), np.float32)
    pooled = _view(hidden, IMAGE_WIDTH, rng)
    captions = _view(hidden[own], CAPTION_WIDTH, rng)
    given = shuffled(own, NOISE, SEED)
    rows = np.arange(count)
    texts = [f"caption number {row}" for row in rows]
    return Pairs(Taken(pooled, given), Taken(captions, rows), given, rows, texts), given != own


def _view(hidden: npt.NDArray[np.float32], width: int, rng: np.random.Generator) -> npt.NDArray[np.float16]:
    seen = hidden @ rng.standard_normal((_HIDDEN, width), np.float32)
    return (seen + 3 * rng.standard_normal(seen.shape, np.float32)).astype(np.float16)


def write_folder(pairs: Pairs, folder: Path) -> Path:
    """As clip-retrieval leaves it."""
    for name, source in (("img_emb", pairs.images), ("text_emb", pairs.captions)):
        (folder / name).mkdir(parents=True)
        path, shape = folder / name / f"{name}_0.npy", source.shape
        out = np.lib.format.open_memmap(path, mode="w+", dtype=np.float16, shape=shape)
        for start in range(0, len(source), _CHUNK_ROWS):
            rows = np.arange(start, min(start + _CHUNK_ROWS, len(source)))
            out[rows] = source[rows]
        out.flush()
    (folder / "metadata").mkdir()
    urls = [f"https://example.org/{picture}.jpg" for picture in pairs.image_ids]
    pq.write_table(pa.table({"caption": pairs.texts, "url": urls}), folder / "metadata" / "metadata_0.parquet")
    return folder


def measure(
    client: Client,
    folder: Path,
    is_mismatch: Bools,
    options: Mapping[str, Any],
    follow: Callable[[Run], Run],
    worker: int,
) -> dict[str, Any]:
    """Upload, run and judge; the service and its worker, a process, are ready. `follow` waits for the end of a run."""
    load, began = os.getloadavg()[0], time.monotonic()
    collection = client.wait_for_collection(client.create_collection("job", folder=str(folder)).id)
    ingested = time.monotonic()
    run = follow(client.start_run(collection.id, {"method": "auto", **options}))
    total = time.monotonic() - began
    stages = {"ingest": ingested - began, **{str(stage.name): stage.seconds or 0.0 for stage in run.stages}}
    # A stage's clock stops when its last transaction begins; publishing is almost nothing but that transaction.
    stages["rest"] = total - sum(stages.values())
    report = client.report(run.id)
    config = _config(report["recipe"])
    judged = [(pair.row, pair.clean_confidence) for pair in client.pairs(run.id) if pair.clean_confidence is not None]
    truth = is_mismatch[[row - 1 for row, _ in judged]]
    probes = sum(kind["count"] for kind in (report["calibration"] or {"probes": {}})["probes"].values())
    more = max(1.0, collection.accepted / PAIRS)
    limits = {"explain": more * EXPLAIN_LIMIT_SECONDS, "everything else": more * LIMIT_SECONDS}
    return {
        "benchmark": "job",
        "pairs": collection.accepted,
        "method": config.method,
        "auroc": round(auroc([confidence for _, confidence in judged], truth), 4),
        "noise_rate": round(float(truth.mean()), 4),
        "noise_estimate": (run.summary or {})["noise_estimate"],
        "seconds": {name: round(seconds, 2) for name, seconds in stages.items()},
        "total_seconds": round(total, 1),
        "limit_seconds": limits,
        "is_within": stages["explain"] <= limits["explain"] and total - stages["explain"] <= limits["everything else"],
        "load_before": round(load, 1),
        "worker_peak_mb": largest_peak_rss_mb(worker),
        "bound": _bound(config, collection.accepted + probes, stages["train"]),
    }


def _config(recipe: Mapping[str, Any]) -> RunConfig:
    """The run as it was, which is what `auto` came to."""
    return parse_run_config({item.name: recipe[item.name] for item in fields(RunConfig)})


def _bound(config: RunConfig, count: int, train_seconds: float) -> dict[str, Any]:
    speed, cores = sgemm_speed(), min(config.networks, len(os.sched_getaffinity(0)))
    products = flops(config, count)
    seconds = products / (speed * cores)
    return {
        "gigaflops": round(products / 1e9, 2),
        "sgemm_gigaflops_per_second": round(speed / 1e9, 1),
        "cores": cores,
        "seconds": round(seconds, 3),
        "ratio": round(train_seconds / seconds, 2),
    }


def flops(config: RunConfig, count: int) -> float:
    """Of the matrix products of a training on `count` pairs, probes included: every pair once an epoch, and surveys."""
    forward, backward = per_pair(config, count)
    size = min(config.batch_size, count)
    nothing = np.zeros((count, 1), np.float32)
    ids = np.arange(count)
    every = METHODS[config.method](config, Pairs(nothing, nothing, ids, ids)).phases()
    phases = [phase for phase in every if not phase.is_extra]  # here matches prevail
    learned = sum(phase.epochs for phase in phases) * (count // size * size)
    closing = 1 + sum(phase.takes_advice for phase in phases)
    surveys = sum(phase.epochs for phase in phases if phase.is_surveyed) + closing * config.score_draws
    looked_at = surveys * -(-count // size) * size
    return float(config.networks * (learned * (forward + backward) + looked_at * forward))


def per_pair(config: RunConfig, count: int) -> tuple[int, int]:
    """Forward and backward. Nobody needs the gradient of the features, so the first layers have half the work there."""
    head = config.backbone_options
    if not isinstance(head, HeadConfig):
        raise ValueError("the products are counted for the backbone head only")
    widths = [min(head.input_size, width, count - 1) for width in WIDTHS]
    first = sum(2 * width * head.hidden_size for width in widths)
    second = 2 * 2 * head.hidden_size * head.output_size
    compared = 2 * min(config.batch_size, count) * head.output_size
    return first + second + compared, first + 2 * (second + compared)


def sgemm_speed() -> float:
    """Floating point operations a second of one core: the best of several products."""
    threads, best = torch.get_num_threads(), float("inf")
    torch.set_num_threads(1)
    left, right = torch.rand(2, _SIDE, _SIDE)
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        torch.mm(left, right)
        best = min(best, time.perf_counter() - began)
    torch.set_num_threads(threads)
    return float(2 * _SIDE**3 / best)


if __name__ == "__main__":
    sys.exit(main())
