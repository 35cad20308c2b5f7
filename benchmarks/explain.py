"""Reasons for 25,000 and 100,000 pairs, as the explain stage finds them: time and peak memory.

Captions are those of the demo's scenes, never drawn; both sides are vectors of a common space in which captions that
share words are near, as trained networks would give them. Prints JSON; the exit code is 1 where 100,000 pairs would
take more than ten minutes, or where memory grows by more than its limit. Each size runs in a fresh process.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from functools import lru_cache
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

from benchmarks.features import in_fresh_process, peak_rss_mb
from model.config import parse_run_config
from model.demo.pairs import Plan
from model.neighbours import use_cores
from model.pairs import Pairs
from worker.stages.explain import explain
from worker.stages.explain_inputs import Inputs

PAIRS, LIMIT_SECONDS = 100_000, 600.0
# All contents of a side are compared exactly below 200,000, and lie in memory for that; nothing else may grow.
LIMIT_GROWTH = 1.25
WIDTH = 256
_NOISE, _NEAR_MISSES, _CAPTIONS = 0.3, 0.2, 2
_SPREAD = 0.25  # of what is not said in words, beside a word's own vector

Floats = npt.NDArray[np.float32]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", default=f"25000,{PAIRS}", help="sizes, with commas, the smallest first")
    found = []
    for size in map(int, parser.parse_args(arguments).pairs.split(",")):
        with tempfile.TemporaryDirectory(prefix="pairsift-explain-") as folder:
            found.append(in_fresh_process(measure, Path(folder), size))
    report = compared(found)
    print(json.dumps(report, indent=2))
    return int(not report["is_within"])


def compared(found: list[dict[str, Any]]) -> dict[str, Any]:
    first, last = found[0], found[-1]
    seconds = last["seconds"] / last["pairs"] * PAIRS
    growth = _added(last) / _added(first)
    return {
        "benchmark": "explain",
        "cores": len(os.sched_getaffinity(0)),
        "sizes": found,
        "seconds_100k": round(seconds, 1),
        "limit_seconds": LIMIT_SECONDS,
        "growth": round(growth, 3),
        "limit_growth": LIMIT_GROWTH,
        "is_within": seconds <= LIMIT_SECONDS and growth <= LIMIT_GROWTH,
    }


def _added(size: dict[str, Any]) -> float:
    """Memory beyond the pairs themselves, which lie in this process before it begins, and the index."""
    return float(size["peak_rss_mb"] - size["before_rss_mb"] - size["index_mb"])


def measure(folder: Path, count: int) -> dict[str, Any]:
    given = made_up(folder, count)
    use_cores(len(os.sched_getaffinity(0)))
    before = peak_rss_mb()
    wall, cpu = time.perf_counter(), time.process_time()
    explain(given, folder, UUID(int=0), lambda done, message: None)
    return {
        "pairs": count,
        "seconds": round(time.perf_counter() - wall, 1),
        "processor_seconds": round(time.process_time() - cpu, 1),
        "before_rss_mb": before,
        "peak_rss_mb": peak_rss_mb(),
        "index_mb": round(count * WIDTH * 4 / 2**20, 1),
        "bytes_written": sum(path.stat().st_size for path in folder.glob("explan*")),
    }


def made_up(folder: Path, count: int) -> Inputs:
    """An image shows what the caption of its own pair says; of a mismatch it is another caption that says so."""
    told, true = (Plan(count, noise, _NEAR_MISSES, 0, _CAPTIONS) for noise in (_NOISE, 0.0))
    scenes = told.scenes
    shape = (count, WIDTH)
    images, captions = (
        np.lib.format.open_memmap(folder / f"{name}.npy", mode="w+", dtype=np.float32, shape=shape)
        for name in ("images", "captions")
    )
    rng = np.random.default_rng(0)
    texts = []
    for row in range(count):
        texts.append(told.pair(row + 1).caption)
        captions[row] = _vector(texts[-1], rng)
        images[row] = _vector(true.pair(row + 1).caption, rng) if row < scenes else images[row % scenes]
    is_wrong = np.zeros(count, bool)
    is_wrong[[row - 1 for row in told.near_misses | told.random_ones]] = True
    confidence = np.where(is_wrong, 0.05, 0.95).astype(np.float32)
    rows = np.arange(count)
    pairs = Pairs(images, captions, rows % scenes, rows, texts)
    return Inputs(rows + 1, pairs, confidence, is_wrong, (images, captions), parse_run_config({}), None)


def _vector(text: str, rng: np.random.Generator) -> Floats:
    total = np.sum([_of_word(word) for word in text.split()], axis=0)
    return np.asarray(total / np.linalg.norm(total) + _SPREAD * rng.standard_normal(WIDTH) / WIDTH**0.5, np.float32)


@lru_cache(maxsize=100_000)
def _of_word(word: str) -> Floats:
    return np.random.default_rng(list(word.encode())).standard_normal(WIDTH, np.float32)


if __name__ == "__main__":
    sys.exit(main())
