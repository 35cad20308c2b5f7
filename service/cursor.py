"""Opaque cursors: where a page ended. They say what they were made for and are refused for anything else."""

import base64
import binascii
import json
from typing import Any

from service.problems import Problem


def encode(kind: str, *position: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps([kind, *position]).encode()).decode().rstrip("=")


def decode(kind: str, cursor: str, *types: type) -> list[Any]:
    """The position; `kind` names the list and its order."""
    try:
        given, *position = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if given == kind and [type(value) for value in position] == list(types):
            return list(position)
    except (ValueError, TypeError, binascii.Error, UnicodeDecodeError):
        pass
    detail = "cursor: use the `next` of a page with the same filter and order, unchanged."
    raise Problem(422, "invalid_cursor", "The cursor is not valid", detail)
