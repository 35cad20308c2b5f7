"""Images per second, fetched from local hosts, decoded, made into thumbnails and stored, with the polite defaults.

Prints JSON; the exit code is 1 below 300 images/s or where memory grows. Processor time that other work took during the
run is left out of the rate that is judged, time in which a core was idle is not. The hosts (127.0.0.1 and neighbours)
are a process on the same cores. Fetcher, decoders and storage are those of the stage; the database is left out.
"""

import argparse
import asyncio
import io
import json
import multiprocessing
import resource
import sys
import tempfile
import time
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from aiohttp import web
from PIL import Image

from service.config import Settings
from service.storage import Storage
from worker.fetch.intake import Intake

LEAST_IMAGES_PER_SECOND = 300.0
MOST_MEMORY_RATIO = 1.1  # peak at the end to peak after the first fifth
HOSTS = 48  # with 20 requests a second to each, the default, more than the aim
UNDER_WAY = 1000
BODIES = 50  # different pictures; a number at the end of the file makes each image's content its own
SIZE = (320, 240)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=5000)
    count = parser.parse_args().images
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    server = context.Process(target=_serve, args=(theirs,))
    server.start()
    try:
        port = ours.recv()
        with tempfile.TemporaryDirectory(prefix="pairsift-bench-") as folder:
            report = _measure(count, port, psutil.Process(server.pid), Path(folder))
            report["stored_files"] = sum(path.is_file() for path in Path(folder).rglob("*"))
    finally:
        server.terminate()
        server.join()
    print(json.dumps(report, indent=2))
    is_slow = report["images_per_second_without_other_work"] < LEAST_IMAGES_PER_SECOND
    return int(is_slow or report["memory_ratio"] > MOST_MEMORY_RATIO)


def _measure(count: int, port: int, server: Any, folder: Path) -> dict[str, Any]:
    machine, own, began = _machine_seconds(), _own_seconds(server), time.perf_counter()
    classes, peaks = asyncio.run(_fetch(count, port, folder))
    seconds, own = time.perf_counter() - began, _own_seconds(server) - own
    cores = psutil.cpu_count()
    of_others = min(max(0.0, _machine_seconds() - machine - own), cores * seconds - own)
    alone = seconds - of_others / cores
    early, late = peaks[count // 5], peaks[count]
    return {
        "benchmark": "fetch",
        "images": count,
        "images_per_second": round(classes["success"] / seconds, 1),
        "images_per_second_without_other_work": round(classes["success"] / alone, 1),
        "least_images_per_second": LEAST_IMAGES_PER_SECOND,
        "share_of_other_work": round(of_others / (cores * seconds), 3),
        "cpu_milliseconds_per_image": round(1000 * own / count, 2),
        "peak_megabytes_at_a_fifth": round(early, 1),
        "peak_megabytes_at_the_end": round(late, 1),
        "memory_ratio": round(late / early, 3),
        "most_memory_ratio": MOST_MEMORY_RATIO,
        "classes": dict(classes),
    }


async def _fetch(count: int, port: int, folder: Path) -> tuple[Counter[str], dict[int, float]]:
    """How many of each class, and the peak memory after a fifth and at the end."""
    peaks: dict[int, float] = {}
    classes: Counter[str] = Counter()
    numbers = iter(range(count))

    async def work(intake: Intake) -> None:
        for number in numbers:
            outcome = await intake.take(f"http://127.0.0.{1 + number % HOSTS}:{port}/{number}.jpg")
            classes[outcome.error_class or "success"] += 1
            if classes.total() in (count // 5, count):
                peaks[classes.total()] = _peak_megabytes()

    async with Intake(Settings(fetch_private_addresses=True), Storage(folder)) as intake:
        await asyncio.gather(*(work(intake) for _ in range(UNDER_WAY)))
    return classes, peaks


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _own_seconds(server: Any) -> float:
    """Processor time of this process, its decoders (which have ended) and the server."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    times = server.cpu_times()
    return sum(usage.ru_utime + usage.ru_stime for usage in usages) + float(times.user + times.system)


def _machine_seconds() -> float:
    """Processor time that anybody took."""
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0))


def _serve(connection: Connection) -> None:
    asyncio.run(_run_server(connection))


async def _run_server(connection: Connection) -> None:
    bodies = [_jpeg(seed) for seed in range(BODIES)]

    async def answer(request: web.BaseRequest) -> web.Response:
        name = request.path.removeprefix("/").removesuffix(".jpg")
        if not name.isdigit():
            return web.Response(status=404)
        return web.Response(body=bodies[int(name) % BODIES] + name.encode(), content_type="image/jpeg")

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    port = 0
    for number in range(1, HOSTS + 1):
        await web.TCPSite(runner, f"127.0.0.{number}", port, backlog=1024).start()
        port = runner.addresses[0][1]
    connection.send(port)
    await asyncio.Event().wait()


def _jpeg(seed: int) -> bytes:
    """About 15 kB: broad shapes with some grain, like a photograph."""
    rng = np.random.default_rng(seed)
    broad = Image.fromarray(rng.integers(0, 256, (6, 8, 3), dtype=np.uint8)).resize(SIZE, Image.Resampling.BICUBIC)
    grain = rng.normal(0, 9, (*SIZE[::-1], 1))
    file = io.BytesIO()
    Image.fromarray(np.clip(np.asarray(broad) + grain, 0, 255).astype(np.uint8)).save(file, "JPEG", quality=75)
    return file.getvalue()


if __name__ == "__main__":
    sys.exit(main())
