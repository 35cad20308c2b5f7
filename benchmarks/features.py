"""What the feature store needs for 100 k, 1 M and 10 M rows: time, memory, and random batches a second beside a plain
np.memmap of one flat file, which keeps all it has touched in memory, or gives it back after each batch.

Prints JSON; the exit code is 1 where the peaks of memory lie more than 200 MB apart. Each size runs in a fresh process;
what is read lies in the system's page cache. `--rows 100000,1000000,10000000` needs about 5 GB of disk.
"""

import argparse
import json
import mmap
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from model.features.store import FeatureStore

_WIDTH = 128
_BATCH = 256
_BATCHES = 400
_ROUNDS = 5
_CHUNK = 10_000  # rows that are added at once
_MOST_SPREAD_MB = 200.0

Rows = npt.NDArray[np.int64]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="100000,1000000", help="sizes, with commas")
    sizes = [int(size) for size in parser.parse_args(arguments).rows.split(",")]
    found = [_measure(size) for size in sizes]
    peaks = [float(size["peak_rss_mb"]) for size in found]
    spread = max(peaks) - min(peaks)
    report = {
        "benchmark": "features",
        "row": f"int8, width {_WIDTH}, one float32 scale",
        "batch": _BATCH,
        "sizes": found,
        "peak_rss_spread_mb": round(spread, 1),
        "most_spread_mb": _MOST_SPREAD_MB,
    }
    print(json.dumps(report, indent=2))
    return int(spread > _MOST_SPREAD_MB)


def _measure(rows: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="pairsift-features-") as folder:
        ours = in_fresh_process(measure_store, Path(folder), rows)
        plain = in_fresh_process(measure_memmap, Path(folder), rows)
        frugal = in_fresh_process(measure_frugal_memmap, Path(folder), rows)
    peers = {"np_memmap": plain, "np_memmap_given_back": frugal}
    ratios = {f"ratio_to_{name}": _ratio(ours, peer) for name, peer in peers.items()}
    return {"rows": rows, **ours, **peers, **ratios}


def _ratio(ours: dict[str, Any], peer: dict[str, Any]) -> float:
    """Batches for the same CPU time, which other work on the machine does not change much."""
    return round(float(peer["cpu_ms_a_batch"] / ours["cpu_ms_a_batch"]), 2)


def in_fresh_process(measure: Callable[[Path, int], dict[str, Any]], folder: Path, rows: int) -> dict[str, Any]:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measure, (folder, rows))


def measure_store(folder: Path, rows: int) -> dict[str, Any]:
    began = time.perf_counter()
    store = FeatureStore(folder / "store", _WIDTH, "int8")
    rng = np.random.default_rng(0)
    with (folder / "keys").open("wb") as file:
        for start in range(0, rows, _CHUNK):
            keys = rng.integers(0, 256, (min(_CHUNK, rows - start), 32), np.uint8)
            file.write(keys.data)
            store.add(keys, vectors_of(keys))
    store.compact()
    written = time.perf_counter()
    keys = np.memmap(folder / "keys", np.uint8, "r", shape=(rows, 32))
    view = FeatureStore(folder / "store", _WIDTH, "int8").view(keys)
    viewed = time.perf_counter()
    chosen = rng.integers(0, rows, _BATCH)
    if np.abs(view[chosen] - vectors_of(keys[chosen])).max() > 0.51 * 128 / 127:  # half a step of int8
        raise RuntimeError("the store gave other rows than were put in")
    return {
        "shards": len(list((folder / "store").glob("*.shard"))),
        "bytes_on_disk": sum(path.stat().st_size for path in (folder / "store").iterdir()),
        "write_seconds": round(written - began, 2),
        "view_seconds": round(viewed - written, 2),
        **_read(lambda batch: view[batch], rows),
    }


def measure_memmap(folder: Path, rows: int) -> dict[str, Any]:
    """The peer: what anyone would write who has no keys, no checksums and memory to spare."""
    path = folder / "flat"
    with path.open("wb") as file:
        keys = np.memmap(folder / "keys", np.uint8, "r", shape=(rows, 32))
        for start in range(0, rows, _CHUNK):
            file.write(vectors_of(keys[start : start + _CHUNK]).astype(np.int8).data)
    flat = np.memmap(path, np.int8, "r", shape=(rows, _WIDTH))
    return _read(lambda batch: flat[batch].astype(np.float32), rows)


def measure_frugal_memmap(folder: Path, rows: int) -> dict[str, Any]:
    """The same with an eye on memory; of the file that is there already."""
    with (folder / "flat").open("rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    flat = np.frombuffer(content, np.int8).reshape(rows, _WIDTH)

    def read(batch: Rows) -> npt.NDArray[np.float32]:
        taken = flat[batch].astype(np.float32)
        content.madvise(mmap.MADV_DONTNEED)
        return taken

    return _read(read, rows)


def _read(read: Callable[[Rows], npt.NDArray[np.float32]], rows: int) -> dict[str, Any]:
    """Random batches, the best of several rounds."""
    rng = np.random.default_rng(1)
    walls, cpus = [], []
    for _ in range(_ROUNDS):
        batches = rng.integers(0, rows, (_BATCHES, _BATCH))
        wall, cpu = time.perf_counter(), time.process_time()
        for batch in batches:
            read(batch)
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return {
        "batches_per_second": round(_BATCHES / min(walls)),
        "cpu_ms_a_batch": round(min(cpus) / _BATCHES * 1000, 4),
        "peak_rss_mb": peak_rss_mb(),
    }


def vectors_of(keys: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """Features that can be told from the key: the bytes of it, over and over."""
    return np.tile(keys.view(np.int8), _WIDTH // keys.shape[1]).astype(np.float32)


def peak_rss_mb(process: int | str = "self") -> float:
    status = Path(f"/proc/{process}/status").read_text().splitlines()
    (peak,) = (line.split()[1] for line in status if line.startswith("VmHWM:"))
    return round(int(peak) / 1024, 1)


def largest_peak_rss_mb(process: int | str) -> float:
    """Of a process and all that it started and that still run."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return max([peak_rss_mb(process), *map(largest_peak_rss_mb, children)])


if __name__ == "__main__":
    sys.exit(main())
