"""Reviews from a file, TSV or JSONL: every line is checked, here and by the service, before the first one is stored. An
item of the plan with a verdict added is such a line of JSONL."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from pydantic import ValidationError

from cli.stack import StackError
from service.client import ApiProblem, Client
from service.schemas_reviews import Proposal, ReviewBatch, ReviewOfPair

MAX_LINES = 100_000
MAX_LINE_BYTES = 65_536
BATCH = 80  # with the longest notes, still below the cap on bodies
TSV_COLUMNS = ["uid", "verdict", "note"]  # unless a first line that starts with `uid` names them
ONLY_IN_PLAN = Proposal.model_fields.keys() - ReviewOfPair.model_fields.keys()  # what a reviewer was shown
JSONL_ENDINGS = (".jsonl", ".json", ".ndjson")


def import_file(client: Client, run_id: Any, path: Path, reviewer: str | None) -> int:
    """How many reviews were stored: all of the file, or none and an error that names the line."""
    found = _read(path, reviewer)
    for is_trial in (True, False):
        for start in range(0, len(found), BATCH):
            part = found[start : start + BATCH]
            batch = ReviewBatch(reviews=[review for _, review in part], dry_run=is_trial)
            try:
                client.review_many(run_id, batch)
            except ApiProblem as problem:
                if problem.code != "invalid_reviews" or not is_trial:
                    raise
                told = _with_lines(problem.detail, [line for line, _ in part])
                raise StackError(f"{path}: {told}; nothing was stored") from None
    return len(found)


def _with_lines(detail: str, lines: Sequence[int]) -> str:
    """The service names a place in the batch, which means nothing to the user."""
    return re.sub(r"reviews\.(\d+)\.", lambda place: f"line {lines[int(place[1])]}, ", detail)


def _read(path: Path, reviewer: str | None) -> list[tuple[int, ReviewOfPair]]:
    """Line numbers with what they say."""
    found: list[tuple[int, ReviewOfPair]] = []
    lines: dict[str, int] = {}
    for line, fields in _fields(path):
        try:
            review = ReviewOfPair.model_validate({"reviewer": reviewer, **fields})
        except ValidationError as error:
            first = error.errors()[0]
            _refuse(path, line, f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
        earlier = lines.setdefault(review.uid.lower(), line)
        if earlier != line:
            _refuse(path, line, f"uid: line {earlier} has the same pair; keep one of them")
        if len(found) == MAX_LINES:
            _refuse(path, line, f"a file may have {MAX_LINES:,} reviews; split it")
        found.append((line, review))
    if not found:
        raise StackError(f"{path}: there is no review in it")
    return found


def _fields(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    columns, is_jsonl = TSV_COLUMNS, path.suffix.lower() in JSONL_ENDINGS
    for line, text in _lines(path):
        if is_jsonl:
            yield line, _object(path, line, text)
            continue
        values = text.split("\t")
        if line == 1 and values[0] == "uid":
            columns = values
        elif len(values) > len(columns):
            _refuse(path, line, f"{len(values)} columns, expected {', '.join(columns)}")
        else:
            yield line, {name: value for name, value in zip(columns, values, strict=False) if value}


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Those that are not empty, with their numbers."""
    with path.open("rb") as file:
        line = 0
        while raw := file.readline(MAX_LINE_BYTES + 1):
            line += 1
            if len(raw) > MAX_LINE_BYTES:
                _refuse(path, line, f"longer than {MAX_LINE_BYTES:,} bytes")
            try:
                text = raw.decode("utf-8-sig" if line == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                _refuse(path, line, f"no UTF-8 at byte {error.start}")
            if text.strip():
                yield line, text


def _object(path: Path, line: int, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        _refuse(path, line, f"no JSON: {error}")
    if not isinstance(value, dict):
        _refuse(path, line, "a JSON object with uid and verdict is expected")
    return {name: said for name, said in value.items() if name not in ONLY_IN_PLAN}


def _refuse(path: Path, line: int, why: str) -> NoReturn:
    raise StackError(f"{path}: line {line}, {why}; nothing was stored")
