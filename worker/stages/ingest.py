"""Uploaded file -> pairs and rejects, every line accounted for, in one transaction: all of it or nothing."""

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

from sqlalchemy.orm import Session

from model.data import tsv
from model.data.rows import FileError, Pair, Reject
from service.db.states import CollectionState
from service.db.tables import Collection
from worker.stages.context import StageContext, StageFailed, lift_time_limit

# Pairs and rejects go to two tables over one connection, so each takes its turn for this many lines.
CHUNK = 20_000


def run(context: StageContext) -> None:
    collection = context.collection()
    path = context.storage.upload(collection.id)
    try:
        options = dict(collection.read_options)
        allow_paths = options.pop("image_root", None) is not None
        layout = tsv.detect(path, allow_paths=allow_paths, **options)
        with context.lease.completing() as session:
            lift_time_limit(session)
            rows = tsv.read(path, layout, allow_paths=allow_paths)
            counts, labelled = _copy(context, session, collection, rows)
            _record(session, collection, layout, counts, labelled)
    except FileError as error:
        raise StageFailed(error.reason, "The file cannot be read", str(error)) from error


def _copy(
    context: StageContext, session: Session, collection: Collection, rows: Iterator[Pair | Reject]
) -> tuple[Counter[str], int]:
    """COPY what is read, chunk by chunk; return the counts by reason, with the accepted under '', and how many of
    these have a label."""
    counts: Counter[str] = Counter()
    labelled = 0
    cursor = session.connection().connection.cursor()
    while chunk := list(islice(rows, CHUNK)):
        context.lease.check()
        with cursor.copy("COPY pairs (collection_id, row, uid, url, caption, extra, label) FROM STDIN") as copy:
            for item in chunk:
                if isinstance(item, Pair):
                    values = (item.row, item.uid, item.url, item.caption, item.extra, item.label)
                    copy.write_row((collection.id, *values))
                    labelled += item.label is not None
        rejects = [item for item in chunk if isinstance(item, Reject)]
        with cursor.copy("COPY rejects (collection_id, row, byte_offset, reason, detail, text) FROM STDIN") as copy:
            for item in rejects:
                copy.write_row((collection.id, item.row, item.offset, item.reason, item.detail, item.text))
        counts[""] += len(chunk) - len(rejects)
        counts.update(item.reason for item in rejects)
        context.lease.progress(counts.total(), 0, f"{counts.total():,} lines read")
    if not counts[""]:
        found = ", ".join(f"{reason} ({count:,})" for reason, count in counts.most_common() if count)
        raise FileError("nothing_usable", f"None of the {counts.total():,} lines could be used: {found}.")
    return counts, labelled


def _record(
    session: Session, collection: Collection, layout: tsv.TsvFormat, counts: Counter[str], labelled: int
) -> None:
    reasons: dict[str, Any] = {reason: count for reason, count in sorted(counts.items()) if reason}
    stored = session.get_one(Collection, collection.id, with_for_update=True)
    stored.format = layout.to_dict()
    stored.accepted, stored.labelled = counts[""], labelled
    stored.rejected = sum(reasons.values())
    stored.lines_read = stored.accepted + stored.rejected
    stored.reject_reasons = reasons
    stored.state, stored.error = CollectionState.READY, None
