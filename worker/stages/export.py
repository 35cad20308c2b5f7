"""Pairs of a published run -> one file, from one snapshot of the database, with its rows and sha256."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from service.db.explanations import unpack_elements, unpack_repairs
from service.db.pairs import Boundary, PairSelection, select_pairs
from service.db.session import transaction
from service.db.states import JobState, Split
from service.db.tables import Collection, Export, Pair, Run
from service.storage import written_whole
from worker.stages.context import StageContext, lift_time_limit
from worker.stages.export_corrected import corrected_rows, correction_of, counts
from worker.stages.export_schema import CORRECTED_SCHEMA, SCHEMA
from worker.stages.export_tsv import WEIGHT_HEADER, Line, tsv_form, weight_line

CHUNK = 5_000
EXPLAINED = ("jsonl", "parquet")  # formats with all that is known of a pair

Rows = Iterable[Any]


@dataclass(frozen=True)
class Published:
    """What the pairs are of, within the snapshot they are read in."""

    session: Session
    run: Run
    described: dict[str, Any]  # the collection's format, as its source described it
    schema: pa.Schema


def run(context: StageContext) -> None:
    export = context.export()
    target = context.storage.export(export.id)
    with transaction(context.engine) as session:
        session.connection(execution_options={"isolation_level": "REPEATABLE READ"})
        lift_time_limit(session)
        source = session.get_one(Run, export.run_id)
        filters, described = dict(export.filter), session.get_one(Collection, source.collection_id).format or {}
        is_corrected = bool(filters.get("corrected"))
        published = Published(session, source, described, CORRECTED_SCHEMA if is_corrected else SCHEMA)
        chosen = select_pairs(
            source,
            _selection(export),
            judged_only=export.format == "weights",
            is_explained=export.format in EXPLAINED,
        )
        total = session.scalar(select(func.count()).select_from(chosen.subquery())) or 0
        rows: Rows = session.execute(chosen.order_by(Pair.row), execution_options={"yield_per": CHUNK})
        rows, expected = _watched(context, rows, total), total
        if is_corrected:
            correction = correction_of(session, source)
            rows = corrected_rows(session, source.collection_id, rows, correction)
            filters["correction"] = counts(correction)
            expected -= len(correction.images_left)
        with written_whole(target) as file:
            count = _WRITERS[export.format](file, rows, published)
    if count != expected:
        raise RuntimeError(f"{count} rows were written where {expected} were selected")
    with context.lease.completing() as session:
        stored = session.get_one(Export, export.id)
        stored.rows, stored.bytes, stored.sha256 = count, target.stat().st_size, _sha256(target)
        stored.filter, stored.state, stored.finished_at = filters, JobState.SUCCEEDED, func.now()


def _selection(export: Export) -> PairSelection:
    cut = export.filter.get("cut")
    return PairSelection.of(export.filter, Boundary.of(cut) if cut else None)


def _watched(context: StageContext, rows: Rows, total: int) -> Iterator[Any]:
    for number, row in enumerate(rows):
        if number % CHUNK == 0:
            context.lease.check()
            context.lease.progress(number, total)
        yield row


def _write_tsv(file: BinaryIO, rows: Rows, published: Published) -> int:
    return _write_lines(file, rows, *tsv_form(published.described))


def _write_weights(file: BinaryIO, rows: Rows, _: Published) -> int:
    return _write_lines(file, rows, WEIGHT_HEADER, weight_line)


def _write_lines(file: BinaryIO, rows: Rows, header: str | None, line: Line) -> int:
    if header is not None:
        file.write((header + "\n").encode())
    count = 0
    for row in rows:
        file.write((line(row) + "\n").encode())
        count += 1
    return count


def _write_jsonl(file: BinaryIO, rows: Rows, published: Published) -> int:
    count = 0
    for chunk in _records(rows, published):
        file.writelines(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in chunk)
        count += len(chunk)
    return count


def _write_parquet(file: BinaryIO, rows: Rows, published: Published) -> int:
    count = 0
    with pq.ParquetWriter(file, published.schema, compression="zstd") as writer:
        for chunk in _records(rows, published):
            writer.write_table(pa.Table.from_pylist(chunk, published.schema))
            count += len(chunk)
    return count


_WRITERS: dict[str, Callable[[BinaryIO, Rows, Published], int]] = {
    "tsv": _write_tsv,
    "jsonl": _write_jsonl,
    "parquet": _write_parquet,
    "weights": _write_weights,
}


def _records(rows: Rows, published: Published) -> Iterator[list[dict[str, Any]]]:
    """In chunks, as what stands in suggested rows is looked up for many at once."""
    stream, run = iter(rows), published.run
    while chunk := list(islice(stream, CHUNK)):
        repairs = unpack_repairs(published.session, run.collection_id, [row.repair for row in chunk])
        yield [_record(row, repair, published) for row, repair in zip(chunk, repairs, strict=True)]


def _record(row: Any, repair: dict[str, Any] | None, published: Published) -> dict[str, Any]:
    split = {True: Split.CLEAN, False: Split.NOISY, None: Split.UNSCORED}[row.is_clean]
    derived = {
        "uid": row.uid.hex,
        "sha256": row.sha256.hex() if row.sha256 else None,
        "is_mismatch_issue": None if row.is_clean is None else not row.is_clean,
        "split": str(split),
        "run_id": str(published.run.id),
        "elements": unpack_elements(row.elements, row.caption),
        "repair": repair,
    }
    return {name: derived[name] if name in derived else getattr(row, name) for name in published.schema.names}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
