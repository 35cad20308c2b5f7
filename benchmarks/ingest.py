"""How fast a CC-style TSV becomes rows of PostgreSQL, beside a raw COPY of the same rows, and how much memory it takes.

The real stage reads the file into a real database; before, the rows in COPY's own form go into an identical table.
Prints JSON; the exit code is 1 above 200 MB, and below 50,000 rows/s unless the raw COPY is hardly faster, as on a busy
machine. Conceptual Captions has 3,300,000 rows.
"""

import argparse
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import Engine, text

from model.data.source import ReadOptions
from model.data.tables import open_table
from service.config import Settings
from service.db import jobs, submissions
from service.db.migrate import upgrade
from service.db.session import make_engine, transaction
from service.db.states import CollectionState
from service.db.tables import Collection, Workspace
from service.embedded import embedded_servers
from service.storage import Storage
from worker.lease import Lease
from worker.stages import ingest
from worker.stages.context import StageContext, lift_time_limit

_LEAST_ROWS_PER_SECOND = 50_000
_LEAST_RATIO = 0.8  # to the raw COPY, where that is the limit
_MOST_MEGABYTES = 200
_TEXT = (
    "a person in the city at night with a red dog and a white cat running on the beach before the beautiful sunset "
    "actor attends the premiere of a film illustration of a young woman sitting under a green tree vector background"
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=330_000)
    rows = parser.parse_args(arguments).rows
    with tempfile.TemporaryDirectory(prefix="pairsift-bench-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # as root, PostgreSQL runs under another account, which must pass through
        with embedded_servers(folder / "data") as servers:
            report = measure(servers.database_url, folder, rows)
    print(json.dumps(report, indent=2))
    is_slow = report["rows_per_second"]["ingest"] < _LEAST_ROWS_PER_SECOND and report["ratio"] < _LEAST_RATIO
    return int(is_slow or report["peak_megabytes"] > _MOST_MEGABYTES)


def measure(database_url: str, folder: Path, rows: int) -> dict[str, Any]:
    """Both ways, one after the other, each in a process of its own."""
    engine = make_engine(database_url)
    upgrade(engine)
    collection_id, stage_id = _submit(engine)
    upload = Storage(folder).upload(collection_id)
    upload.parent.mkdir(parents=True)
    _write_tsv(upload, rows)
    ready = folder / "rows.copy"
    _write_ready(upload, ready, collection_id)
    before = _in_child(_raw_copy, database_url, ready)
    ours = _in_child(_ingest, database_url, folder, stage_id)
    after = _in_child(_raw_copy, database_url, ready)  # the first one met a server that had yet to lay out its log
    raw_seconds = min(before["seconds"], after["seconds"])
    with transaction(engine) as session:
        accepted = session.get_one(Collection, collection_id).accepted
    engine.dispose()
    if accepted != rows:
        raise RuntimeError(f"{accepted} of {rows} rows were accepted")
    return {
        "benchmark": "ingest",
        "rows": rows,
        "file_megabytes": round(upload.stat().st_size / 1e6, 1),
        "rows_per_second": {"ingest": round(rows / ours["seconds"]), "raw_copy": round(rows / raw_seconds)},
        "least_rows_per_second": _LEAST_ROWS_PER_SECOND,
        "ratio": round(raw_seconds / ours["seconds"], 3),
        "least_ratio": _LEAST_RATIO,
        "cpu_microseconds_a_row": round(1e6 * ours["cpu_seconds"] / rows, 2),
        "peak_megabytes": round(ours["peak_megabytes"], 1),
        "most_megabytes": _MOST_MEGABYTES,
    }


def _submit(engine: Engine) -> tuple[UUID, int]:
    """A collection whose ingest is ready to start."""
    with transaction(engine) as session:
        workspace = Workspace(name="benchmark")
        session.add(workspace)
        session.flush()
        collection = Collection(workspace_id=workspace.id, name="benchmark", state=CollectionState.INGESTING)
        session.add(collection)
        session.flush()
        submissions.submit_ingest(session, collection)
        return collection.id, jobs.take_wakeups(session)[0].stage_id


def _write_tsv(path: Path, rows: int) -> None:
    rng, words = random.Random(0), _TEXT.split()
    with path.open("w", encoding="utf-8") as file:
        for number in range(rows):
            caption = " ".join(rng.choices(words, k=rng.randint(6, 16)))
            file.write(f"{caption}\thttps://img{number % 997}.example.org/{rng.getrandbits(96):x}/{number}.jpg\n")


def _write_ready(upload: Path, ready: Path, collection_id: UUID) -> None:
    with ready.open("w", encoding="utf-8", newline="") as file:
        for block in ingest.make_blocks(open_table(upload, ReadOptions()).rows(), collection_id):
            file.writelines(block.pairs)


def _in_child(work: Any, *arguments: Any) -> dict[str, float]:
    """The peak is that of the whole process, so each measurement has its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return dict(pool.submit(work, *arguments).result())


def _raw_copy(database_url: str, ready: Path) -> dict[str, float]:
    engine = make_engine(database_url)
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE IF EXISTS raw_pairs"))
        connection.execute(text("CREATE TABLE raw_pairs (LIKE pairs INCLUDING ALL)"))
    began = _now()
    with transaction(engine) as session:
        lift_time_limit(session)
        cursor = session.connection().connection.cursor()
        with cursor.copy(ingest.COPY_PAIRS.replace("pairs", "raw_pairs", 1)) as copy, ready.open("rb") as file:
            while block := file.read(1 << 20):
                copy.write(block)
    return _measured(began)


def _ingest(database_url: str, storage: Path, stage_id: int) -> dict[str, float]:
    engine = make_engine(database_url)
    settings = Settings(database_url=database_url, storage=storage)
    with transaction(engine) as session:
        claim = jobs.claim(session, stage_id, "benchmark", settings.lease_seconds)
    if claim is None:
        raise RuntimeError("the stage could not be claimed")
    lease = Lease(engine, claim, settings)
    began = _now()
    with lease.held():
        ingest.run(StageContext(lease, Storage(storage)))
    return _measured(began)


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def _measured(began: tuple[float, float]) -> dict[str, float]:
    ended = _now()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": ended[0] - began[0], "cpu_seconds": ended[1] - began[1], "peak_megabytes": peak}


if __name__ == "__main__":
    sys.exit(main())
