"""Uploaded file or folder -> pairs and rejects, every row accounted for, in one transaction: all of it or nothing."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from model.data.rows import FileError, Pair, Reject
from model.data.source import Source
from service.db.states import CollectionState
from service.db.tables import Collection
from worker.stages.context import StageContext, StageFailed, lift_time_limit
from worker.stages.source import open_collection_source

BLOCK_CHARACTERS = 1 << 20
COPY_PAIRS = "COPY pairs (collection_id, row, uid, url, caption, extra, label, place, is_match) FROM STDIN"
COPY_REJECTS = "COPY rejects (collection_id, row, byte_offset, reason, detail, text) FROM STDIN"
_NULL = "\\N"
_TRUTH = {True: "t", False: "f", None: _NULL}


@dataclass
class Block:
    """Some rows as COPY wants them."""

    pairs: list[str] = field(default_factory=list)
    rejects: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)  # by reason, with the accepted under ""
    labelled: int = 0


def run(context: StageContext) -> None:
    try:
        source = open_collection_source(context)
        with context.lease.completing() as session:
            lift_time_limit(session)
            counts, labelled = _copy(context, session, source)
            _record(session, context.collection_id, source, counts, labelled)
    except FileError as error:
        # Messages name the file as the user knows it, not as it lies in the storage.
        named = str(error).replace(str(context.collection_id), context.collection().file_name or "the upload")
        raise StageFailed(error.reason, "The file cannot be read", named) from error


def _copy(context: StageContext, session: Session, source: Source) -> tuple[Counter[str], int]:
    """COPY what is read, block by block; return the counts, and how many of the accepted have a label."""
    counts: Counter[str] = Counter()
    labelled = 0
    cursor = session.connection().connection.cursor()
    blocks = make_blocks(source.rows(), context.collection_id)
    with ThreadPoolExecutor(1, "ingest-read") as reader:
        coming = reader.submit(next, blocks, None)
        while block := coming.result():
            coming = reader.submit(next, blocks, None)  # read on while the database writes
            context.lease.check()
            # Two tables over one connection: they take turns.
            for statement, lines in ((COPY_PAIRS, block.pairs), (COPY_REJECTS, block.rejects)):
                if lines:
                    with cursor.copy(statement) as copy:
                        copy.write("".join(lines))
            counts.update(block.counts)
            labelled += block.labelled
            context.lease.progress(counts.total(), 0, f"{counts.total():,} lines read")
    if not counts[""]:
        found = ", ".join(f"{reason} ({count:,})" for reason, count in counts.most_common() if count)
        raise FileError("nothing_usable", f"None of the {counts.total():,} lines could be used: {found}.")
    return counts, labelled


def make_blocks(rows: Iterator[Pair | Reject], collection_id: UUID) -> Iterator[Block]:
    id = str(collection_id)  # once: of a million rows it takes a second
    while True:
        block, size = Block(), 0
        for item in rows:
            if isinstance(item, Pair):
                line = _pair_line(id, item)
                block.pairs.append(line)
                block.labelled += item.label is not None
            else:
                line = _reject_line(id, item)
                block.rejects.append(line)
                block.counts[item.reason] += 1
            size += len(line)
            if size >= BLOCK_CHARACTERS:
                break
        if not size:
            return
        block.counts[""] = len(block.pairs)
        yield block


def _pair_line(id: str, pair: Pair) -> str:
    return (
        f"{id}\t{pair.row}\t{pair.uid}\t{_text(pair.url)}\t{_text(pair.caption)}\t{_text(pair.extra)}"
        f"\t{_text(pair.label)}\t{_text(pair.place)}\t{_TRUTH[pair.is_match]}\n"
    )


def _reject_line(id: str, reject: Reject) -> str:
    return f"{id}\t{reject.row}\t{reject.offset}\t{reject.reason}\t{_text(reject.detail)}\t{_text(reject.text)}\n"


def _text(value: str | None) -> str:
    """A value in COPY's text format."""
    if value is None:
        return _NULL
    return value.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def _record(session: Session, id: UUID, source: Source, counts: Counter[str], labelled: int) -> None:
    reasons: dict[str, Any] = {reason: count for reason, count in sorted(counts.items()) if reason}
    stored = session.get_one(Collection, id, with_for_update=True)
    stored.format = source.describe()
    stored.accepted, stored.labelled = counts[""], labelled
    stored.rejected = sum(reasons.values())
    stored.lines_read = stored.accepted + stored.rejected
    stored.reject_reasons = reasons
    stored.state, stored.error = CollectionState.READY, None
