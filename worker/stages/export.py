"""Pairs of a published run -> one file, from one snapshot of the database, with its rows and sha256."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import Row, func, select

from service.db.pairs import Boundary, PairSelection, select_pairs
from service.db.session import transaction
from service.db.states import JobState, Split
from service.db.tables import Collection, Export, Pair, Run
from service.storage import written_whole
from worker.stages.context import StageContext, lift_time_limit
from worker.stages.export_tsv import WEIGHT_HEADER, Line, tsv_form, weight_line

CHUNK = 5_000

# The columns of jsonl and parquet, in this order.
SCHEMA = pa.schema(
    [
        ("uid", pa.string()),
        ("row", pa.int64()),
        ("url", pa.string()),
        ("caption", pa.string()),
        ("label", pa.string()),
        ("extra", pa.string()),
        ("status", pa.string()),
        ("error_class", pa.string()),
        ("error_message", pa.string()),
        ("width", pa.int32()),
        ("height", pa.int32()),
        ("sha256", pa.string()),
        ("similarity", pa.float32()),
        ("clean_confidence", pa.float32()),
        ("confidence_a", pa.float32()),
        ("confidence_b", pa.float32()),
        ("rectified_correspondence", pa.float32()),
        ("uncertainty", pa.float32()),
        ("label_confidence", pa.float32()),
        ("predicted_label", pa.string()),
        ("weight", pa.float32()),
        ("neighbour_agreement", pa.float32()),
        ("clip_similarity", pa.float32()),
        ("is_mismatch_issue", pa.bool_()),
        ("split", pa.string()),
        ("review", pa.string()),
        ("run_id", pa.string()),
    ]
)

Rows = Iterable[Row[Any]]
Described = dict[str, Any]  # the collection's format, as its source described it


def run(context: StageContext) -> None:
    export = context.export()
    target = context.storage.export(export.id)
    with transaction(context.engine) as session:
        session.connection(execution_options={"isolation_level": "REPEATABLE READ"})
        lift_time_limit(session)
        source = session.get_one(Run, export.run_id)
        described = session.get_one(Collection, source.collection_id).format or {}
        chosen = select_pairs(source, _selection(export), judged_only=export.format == "weights")
        total = session.scalar(select(func.count()).select_from(chosen.subquery())) or 0
        rows = session.execute(chosen.order_by(Pair.row), execution_options={"yield_per": CHUNK})
        with written_whole(target) as file:
            count = _WRITERS[export.format](file, _watched(context, rows, total), described, str(source.id))
    if count != total:
        raise RuntimeError(f"{count} rows were written where {total} were selected")
    with context.lease.completing() as session:
        stored = session.get_one(Export, export.id)
        stored.rows, stored.bytes, stored.sha256 = count, target.stat().st_size, _sha256(target)
        stored.state, stored.finished_at = JobState.SUCCEEDED, func.now()


def _selection(export: Export) -> PairSelection:
    cut = export.filter.get("cut")
    return PairSelection.of(export.filter, Boundary.of(cut) if cut else None)


def _watched(context: StageContext, rows: Rows, total: int) -> Iterator[Row[Any]]:
    for number, row in enumerate(rows):
        if number % CHUNK == 0:
            context.lease.check()
            context.lease.progress(number, total)
        yield row


def _write_tsv(file: BinaryIO, rows: Rows, described: Described, _: str) -> int:
    return _write_lines(file, rows, *tsv_form(described))


def _write_weights(file: BinaryIO, rows: Rows, _: Described, __: str) -> int:
    return _write_lines(file, rows, WEIGHT_HEADER, weight_line)


def _write_lines(file: BinaryIO, rows: Rows, header: str | None, line: Line) -> int:
    if header is not None:
        file.write((header + "\n").encode())
    count = 0
    for row in rows:
        file.write((line(row) + "\n").encode())
        count += 1
    return count


def _write_jsonl(file: BinaryIO, rows: Rows, _: Described, run_id: str) -> int:
    count = 0
    for row in rows:
        file.write(json.dumps(_record(row, run_id), ensure_ascii=False).encode() + b"\n")
        count += 1
    return count


def _write_parquet(file: BinaryIO, rows: Rows, _: Described, run_id: str) -> int:
    count, records = 0, (_record(row, run_id) for row in rows)
    with pq.ParquetWriter(file, SCHEMA, compression="zstd") as writer:
        while chunk := list(islice(records, CHUNK)):
            writer.write_table(pa.Table.from_pylist(chunk, SCHEMA))
            count += len(chunk)
    return count


_WRITERS: dict[str, Callable[[BinaryIO, Rows, Described, str], int]] = {
    "tsv": _write_tsv,
    "jsonl": _write_jsonl,
    "parquet": _write_parquet,
    "weights": _write_weights,
}


def _record(row: Row[Any], run_id: str) -> dict[str, Any]:
    split = {True: Split.CLEAN, False: Split.NOISY, None: Split.UNSCORED}[row.is_clean]
    derived = {
        "uid": row.uid.hex,
        "sha256": row.sha256.hex() if row.sha256 else None,
        "is_mismatch_issue": None if row.is_clean is None else not row.is_clean,
        "split": str(split),
        "run_id": run_id,
    }
    return {name: derived[name] if name in derived else getattr(row, name) for name in SCHEMA.names}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
