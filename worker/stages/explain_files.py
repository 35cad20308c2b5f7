"""Explanations of a run as files in its folder: lines as PostgreSQL's COPY reads them, so that publishing them is to
pass them on; and beside them the scores and what a report says."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

from service.storage import written_whole

EXPLANATIONS_FILE = "explanations.copy"
SCORES_FILE = "eme.npy"
REPORT_FILE = "explained.json"  # written last: where it is, everything is
COLUMNS = ("run_id", "row", "elements", "repair")
PIECE = 1 << 20


def copy_line(run_id: UUID, row: int, elements: dict[str, Any], repair: dict[str, Any] | None) -> bytes:
    """In the text form of COPY: TAB between columns, \\N for NULL, backslashes doubled."""
    return f"{run_id}\t{row}\t{_text(elements)}\t{_text(repair) if repair else chr(92) + 'N'}\n".encode()


def _text(value: dict[str, Any]) -> str:
    # JSON writes TAB and line breaks in strings with a backslash, so nothing else is left to escape.
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("\\", "\\\\")


def save_explained(
    folder: Path, eme: npt.NDArray[np.float32], elements: dict[str, Any] | None, repair: dict[str, Any]
) -> None:
    """`eme` is (2, N), hard and soft, NaN where there is none."""
    with written_whole(folder / SCORES_FILE) as file:
        np.save(file, eme, allow_pickle=False)
    with written_whole(folder / REPORT_FILE) as file:
        file.write(json.dumps({"elements": elements, "repair": repair}, allow_nan=False).encode())


def is_explained(folder: Path) -> bool:
    """Not so in runs of a version that explained nothing."""
    return (folder / REPORT_FILE).exists()


def load_eme(folder: Path) -> dict[str, npt.NDArray[np.float32]]:
    hard, soft = np.load(folder / SCORES_FILE, allow_pickle=False)
    return {"eme": hard, "eme_soft": soft}


def load_explained(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / REPORT_FILE).read_bytes()))


def pieces(folder: Path) -> Iterator[bytes]:
    with (folder / EXPLANATIONS_FILE).open("rb") as file:
        while piece := file.read(PIECE):
            yield piece
