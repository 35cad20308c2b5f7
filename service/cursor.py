"""Opaque cursors: where a page ended. They say what they were made for and are refused for anything else."""

import base64
import json
import math
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from service.db.pairs import as_float4
from service.problems import Problem

Row = TypeVar("Row")


def encode(kind: str, *position: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps([kind, *position]).encode()).decode().rstrip("=")


def decode(kind: str, cursor: str, *readers: Callable[[Any], Any]) -> list[Any]:
    """The position, each part read by its reader; `kind` names the list and its order. Whoever makes up a
    cursor must not get a value through that the database chokes on."""
    try:
        given, *position = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if given == kind and len(position) == len(readers):
            return [read(value) for read, value in zip(readers, position, strict=True)]
    except (ValueError, TypeError, OverflowError, RecursionError):
        pass
    detail = "cursor: use the `next` of a page with the same filter and order, unchanged."
    raise Problem(422, "invalid_cursor", "The cursor is not valid", detail)


def whole(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise ValueError("not a row number")
    return value


def score(value: Any) -> float:
    if type(value) is not float or not math.isfinite(value):
        raise ValueError("not a score")
    return as_float4(value)


def moment(value: Any) -> datetime:
    return datetime.fromisoformat(value)


def identity(value: Any) -> UUID:
    return UUID(str(value))


def cut(found: Sequence[Row], limit: int) -> tuple[Sequence[Row], Row | None]:
    """A page out of up to limit + 1 rows, and its last row when another page follows."""
    return (found[:limit], found[limit - 1]) if len(found) > limit else (found, None)
