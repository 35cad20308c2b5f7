"""Runs the cells of a table, one after the other or in processes of their own, and files each result when it is there.

A table of hours survives an interruption: what the file already holds is not run again.
"""

import json
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import torch

from benchmarks.protocol.cells import Cell, Result, measure, opened

_IDENTITY = ("method", "backbone", "pairs", "noise", "hard", "seed", "config")


@dataclass(frozen=True)
class Event:
    """How far the table is: `finished` of `total` cells, `share` of those being trained."""

    finished: int
    total: int
    share: float
    message: str
    eta_seconds: float | None


class Store:
    """Results as JSON lines; without a file, kept in memory only."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._found: dict[tuple[object, ...], Result] = {}
        if file is not None and file.exists():
            text = file.read_text(encoding="utf-8")
            for line in text.splitlines():
                self._keep(_parsed(line))
            if text and not text.endswith("\n"):  # cut off in the middle of a line
                with file.open("a", encoding="utf-8") as stream:
                    stream.write("\n")

    def find(self, identity: Result, *, with_retrieval: bool) -> Result | None:
        """The result filed under it, if all that is wanted was measured."""
        found = self._found.get(_key(identity))
        wanted = ("auroc", "rsum") if with_retrieval else ("auroc",)
        return found if found is not None and all(name in found for name in wanted) else None

    def add(self, result: Result) -> None:
        self._keep(result)
        if self._file is not None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(result) + "\n")

    def _keep(self, result: Result) -> None:
        # One that failed is not kept: it is tried again.
        if "error" not in result and all(name in result for name in _IDENTITY):
            self._found[_key(result)] = result


class Runner:
    def __init__(
        self, folder: Path, store: Store, jobs: int, device: str, on_event: Callable[[Event], None], retrieval: bool
    ) -> None:
        self._folder = folder
        self._store = store
        self._jobs = jobs
        self._device = device
        self._on_event = on_event
        self._retrieval = retrieval

    def run(self, cells: Sequence[Cell]) -> list[Result]:
        """The results in the order of the cells."""
        data = opened(self._folder)
        results: dict[int, Result] = {}
        for number, cell in enumerate(cells):
            if known := self._store.find(cell.identity(data), with_retrieval=self._retrieval):
                results[number] = known
        waiting = {number: cell for number, cell in enumerate(cells) if number not in results}
        self._began, self._before, self._total = time.monotonic(), len(results), len(cells)
        if waiting:
            self._report(len(results), 0.0, f"{len(results)} of {len(cells)} cells were there already")
            self._alone(waiting, results) if self._jobs == 1 else self._together(waiting, results)
        return [results[number] for number in range(len(cells))]

    def _alone(self, waiting: dict[int, Cell], results: dict[int, Result]) -> None:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            for number, cell in waiting.items():

                def progress(share: float, name: str = cell.name) -> None:
                    self._report(len(results), share, name)

                result = measure(
                    cell, self._folder, with_retrieval=self._retrieval, device=self._device, on_progress=progress
                )
                self._finish(number, cell, result, results)
        finally:
            torch.set_num_threads(threads)

    def _together(self, waiting: dict[int, Cell], results: dict[int, Result]) -> None:
        spawn = multiprocessing.get_context("spawn")
        jobs = min(self._jobs, len(waiting))
        pool = ProcessPoolExecutor(jobs, mp_context=spawn, initializer=_start_process)
        try:
            running = {
                pool.submit(measure, cell, self._folder, with_retrieval=self._retrieval, device=self._device): number
                for number, cell in waiting.items()
            }
            for done in as_completed(running):
                number = running[done]
                self._finish(number, waiting[number], done.result(), results)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _finish(self, number: int, cell: Cell, result: Result, results: dict[int, Result]) -> None:
        self._store.add(result)
        results[number] = result
        told = f"failed: {result['error']}" if "error" in result else f"AUROC {result['auroc']}"
        if "rsum" in result:
            told += f", rSum {result['rsum']:.1f}"
        self._report(len(results), 0.0, f"{cell.name}: {told}")

    def _report(self, finished: int, share: float, message: str) -> None:
        done = finished - self._before + share
        left = self._total - finished - share
        eta = (time.monotonic() - self._began) / done * left if done > 0 and left > 0 else None
        self._on_event(Event(finished, self._total, share, message, eta))


def _start_process() -> None:
    torch.set_num_threads(1)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A process of the pool would wait for work for ever where the one that started it was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


def _key(identity: Result) -> tuple[object, ...]:
    return tuple(identity[name] for name in _IDENTITY)


def _parsed(line: str) -> Result:
    """A line of the file; one cut off by an interruption holds nothing."""
    try:
        result = json.loads(line)
    except ValueError:
        return {}
    return result if isinstance(result, dict) else {}
