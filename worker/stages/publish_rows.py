"""Scores in the form of PostgreSQL's binary COPY; array operations instead of a Python loop over a million rows."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

from model.training import Scores

# PostgreSQL's binary COPY: a header, then for each row the number of fields and each field behind its length.
COPY_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
COPY_TRAILER = b"\xff\xff"
FLOATS = ("clean_confidence", "confidence_a", "confidence_b", "rectified_correspondence", "similarity")
# NULL where the method or the run gives none.
OPTIONAL_FLOATS = ("uncertainty", "label_confidence", "weight", "neighbour_agreement", "clip_similarity")
# NULL in some rows.
EXPLAINED = ("eme", "eme_soft")
COLUMNS = ("run_id", "row", *FLOATS, "is_clean", *OPTIONAL_FLOATS, *EXPLAINED, "predicted_label")
NULL = -1  # the length of a field that is NULL; nothing follows it

Eme = Mapping[str, npt.NDArray[np.float32]]  # by column, NaN where there is none


def binary_rows(
    run_id: UUID,
    rows: npt.NDArray[np.int64],
    scores: Scores,
    part: slice,
    names: Sequence[str] | None = None,
    eme: Eme | None = None,
) -> bytes:
    """`names` are the texts of the categories in `scores.predicted_label`."""
    places = np.arange(len(rows))[part]
    if eme is None:
        return _tables(run_id, rows, scores, places, names, None)
    # A column of a table is NULL as a whole; both scores are missing in the same rows.
    is_known = ~np.isnan(eme["eme"][places])
    known, others = places[is_known], places[~is_known]
    return _tables(run_id, rows, scores, known, names, eme) + _tables(run_id, rows, scores, others, names, None)


def _tables(
    run_id: UUID,
    rows: npt.NDArray[np.int64],
    scores: Scores,
    places: npt.NDArray[np.int64],
    names: Sequence[str] | None,
    eme: Eme | None,
) -> bytes:
    if scores.predicted_label is None or names is None:
        return _table(run_id, rows, scores, places, None, eme)
    # Labels differ in length, but a table has one length: a table for every length, then.
    labels = [name.encode() for name in names]
    lengths = np.array([len(label) for label in labels])[scores.predicted_label[places]]
    tables = []
    for length in np.unique(lengths):
        some = places[lengths == length]
        numbers, places_of = np.unique(scores.predicted_label[some], return_inverse=True)
        texts = np.array([labels[number] for number in numbers], f"S{length}")
        tables.append(_table(run_id, rows, scores, some, texts.view(f"V{length}")[places_of], eme))
    return b"".join(tables)


def _table(
    run_id: UUID,
    rows: npt.NDArray[np.int64],
    scores: Scores,
    places: npt.NDArray[np.int64],
    labels: npt.NDArray[np.void] | None,
    eme: Eme | None,
) -> bytes:
    """Every column's length, then its value unless it is NULL."""
    columns: list[tuple[str, str, Any]] = [("run_id", "V16", np.void(run_id.bytes)), ("row", ">i8", rows[places])]
    columns += [(name, ">f4", getattr(scores, name)[places]) for name in FLOATS]
    columns.append(("is_clean", "?", scores.is_clean[places]))
    for name in OPTIONAL_FLOATS:
        values = getattr(scores, name)
        columns.append((name, ">f4", None if values is None else values[places]))
    columns += [(name, ">f4", None if eme is None else eme[name][places]) for name in EXPLAINED]
    columns.append(("predicted_label", "V0" if labels is None else f"V{labels.itemsize}", labels))
    layout: list[tuple[str, str]] = [("fields", ">i2")]
    for name, kind, values in columns:
        layout += [(f"{name}_length", ">i4")] + ([] if values is None else [(name, kind)])
    table = np.zeros(len(places), layout)
    table["fields"] = len(columns)
    for name, kind, values in columns:
        table[f"{name}_length"] = NULL if values is None else np.dtype(kind).itemsize
        if values is not None:
            table[name] = values
    return table.tobytes()
