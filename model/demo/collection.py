"""A demo collection on disk: image files, a CC-style TSV, and the truth about every pair, all from one seed."""

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import current_process, get_context
from pathlib import Path
from typing import Literal, get_args

from model.demo.drawing import draw
from model.demo.pairs import DemoPair, Plan, Truth, pair_of, truth_line

ColumnOrder = Literal["caption_url", "url_caption"]
Progress = Callable[[int, int], None]

TSV_NAME, TRUTH_NAME, IMAGE_FOLDER = "pairs.tsv", "truth.jsonl", "images"
_CHUNK = 64  # pairs a process makes before it reports
_JPEG_QUALITY = 88

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class DemoCollection:
    """Where the parts of a generated collection are, and how many of its pairs are wrong."""

    folder: Path
    pairs: int
    mismatches: int
    near_misses: int

    @property
    def tsv(self) -> Path:
        return self.folder / TSV_NAME

    @property
    def truth(self) -> Path:
        return self.folder / TRUTH_NAME

    @property
    def images(self) -> Path:
        return self.folder / IMAGE_FOLDER


@dataclass(frozen=True)
class _Work:
    """All that another process needs to make any part of the collection."""

    folder: Path
    pairs: int
    noise: float
    near_miss: float
    seed: int
    column_order: ColumnOrder
    url_prefix: str | None
    captions: int

    def make(self, first_row: int) -> list[tuple[str, str]]:
        """Draw one chunk; its lines of the TSV and of the truth."""
        plan = _plan(self.pairs, self.noise, self.near_miss, self.seed, self.captions)
        rows = range(first_row, min(first_row + _CHUNK, self.pairs + 1))
        return [self._make_one(plan.pair(row), is_drawn=row <= plan.scenes) for row in rows]

    def _make_one(self, pair: DemoPair, *, is_drawn: bool) -> tuple[str, str]:
        """Later rows of the same scene share the image that its first row has drawn."""
        path = self.folder / IMAGE_FOLDER / pair.image
        if is_drawn:
            draw(pair.scene).save(path, "JPEG", quality=_JPEG_QUALITY)
        url = path.as_uri() if self.url_prefix is None else self.url_prefix + pair.image
        columns = (pair.caption, url) if self.column_order == "caption_url" else (url, pair.caption)
        return "\t".join(columns), truth_line(pair)


@lru_cache(maxsize=2)
def _plan(pairs: int, noise: float, near_miss: float, seed: int, captions: int) -> Plan:
    return Plan(pairs, noise, near_miss, seed, captions)


def generate(
    folder: Path,
    pairs: int = 4000,
    noise: float = 0.3,
    near_miss: float = 0.2,
    seed: int = 0,
    column_order: ColumnOrder = "caption_url",
    url_prefix: str | None = None,
    on_progress: Progress | None = None,
    processes: int | None = None,
    captions: int = 1,
) -> DemoCollection:
    """Write images/, pairs.tsv and truth.jsonl; `round(noise * pairs)` pairs are mismatched, and
    `round(near_miss * mismatched)` of those in one element only. Every scene is drawn once and told of in
    `captions` pairs. The two files appear when all is done."""
    plan = _plan(pairs, noise, near_miss, seed, captions)
    if column_order not in get_args(ColumnOrder):
        raise ValueError(f"column_order must be one of {', '.join(get_args(ColumnOrder))}, not {column_order!r}")
    if processes is not None and processes < 1:
        raise ValueError(f"processes must be at least 1, not {processes}")
    folder = Path(folder).resolve()
    done = DemoCollection(folder, pairs, len(plan.near_misses) + len(plan.random_ones), len(plan.near_misses))
    done.images.mkdir(parents=True, exist_ok=True)
    for stale in (done.tsv, done.truth):
        stale.unlink(missing_ok=True)  # it would speak of images that are being replaced
    work = _Work(folder, pairs, noise, near_miss, seed, column_order, url_prefix, captions)
    _write(done, _chunks(work, processes or _processors()), on_progress)
    return done


def _write(collection: DemoCollection, chunks: Iterator[list[tuple[str, str]]], on_progress: Progress | None) -> None:
    parts = [path.with_name(path.name + ".part") for path in (collection.tsv, collection.truth)]
    written = 0
    with (
        parts[0].open("w", encoding="utf-8", newline="") as tsv,
        parts[1].open("w", encoding="utf-8", newline="") as truth,
    ):
        for chunk in chunks:
            tsv.writelines(line + "\n" for line, _ in chunk)
            truth.writelines(line + "\n" for _, line in chunk)
            written += len(chunk)
            if on_progress is not None:
                on_progress(written, collection.pairs)
    parts[0].replace(collection.tsv)
    parts[1].replace(collection.truth)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _chunks(work: _Work, processes: int) -> Iterator[list[tuple[str, str]]]:
    """All chunks in order. Spawned processes are safe where the caller has threads."""
    starts = range(1, work.pairs + 1, _CHUNK)
    processes = min(processes, len(starts))
    done = 0
    if processes > 1 and not current_process().daemon:  # a daemon may not have children
        for chunk in _spawned(work, starts, processes):
            done += 1
            yield chunk
    for start in starts[done:]:
        yield work.make(start)


def _spawned(work: _Work, starts: Sequence[int], processes: int) -> Iterator[list[tuple[str, str]]]:
    """Chunks from other processes, as many as can be had: where none can be started, none."""
    executor = ProcessPoolExecutor(processes, mp_context=get_context("spawn"))
    try:
        yield from executor.map(work.make, starts)
    except BrokenProcessPool:
        log.warning("the drawing processes died; going on in this one")
    finally:
        executor.shutdown(cancel_futures=True)


def read_pairs(folder: Path) -> Iterator[DemoPair]:
    """Every pair with its scene, in the order of the TSV."""
    with (Path(folder) / TRUTH_NAME).open(encoding="utf-8") as lines:
        for line in lines:
            yield pair_of(line)


def read_truth(folder: Path) -> dict[int, Truth]:
    """Row (line number of the TSV, from 1) to what is true of its pair."""
    return {pair.row: pair.truth for pair in read_pairs(folder)}
