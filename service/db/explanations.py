"""The form in which explanations are stored, and back. Lists in place of objects: the names in front of every value
would be more than half of what is written for every pair. Nothing is kept that the caption itself says."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, BigInteger, any_, literal, select
from sqlalchemy.orm import Session

from service.db.tables import Pair

# Of an element in the caption, of one in the image, of a suggestion: what stands at which place. New ones go behind.
CAPTION_FIELDS = ("lemma", "start", "end", "probability", "is_depicted", "wrong", "is_known")
IMAGE_FIELDS = ("lemma", "probability", "mention", "is_mentioned", "source")
SUGGESTION_FIELDS = ("row", "similarity", "confidence")
DIGITS = 3

Stored = Mapping[str, Sequence[Sequence[Any]]]


def pack(item: Any, fields: Sequence[str]) -> list[Any]:
    """The named attributes of anything."""
    values = (getattr(item, name) for name in fields)
    return [round(value, DIGITS) if isinstance(value, float) else value for value in values]


def pack_elements(caption: Iterable[Any], image: Iterable[Any]) -> dict[str, list[list[Any]]]:
    return {
        "caption": [pack(element, CAPTION_FIELDS) for element in caption],
        "image": [pack(element, IMAGE_FIELDS) for element in image],
    }


def unpack_elements(stored: Stored | None, caption: str) -> dict[str, list[dict[str, Any]]] | None:
    if stored is None:
        return None
    claimed = [dict(zip(CAPTION_FIELDS, values, strict=False)) for values in stored["caption"]]
    return {
        "caption": [{"text": caption[element["start"] : element["end"]], **element} for element in claimed],
        "image": [dict(zip(IMAGE_FIELDS, values, strict=False)) for values in stored["image"]],
    }


def unpack_repairs(
    session: Session, collection_id: UUID, stored: Sequence[Stored | None]
) -> list[dict[str, list[dict[str, Any]]] | None]:
    """With what stands in the suggested rows; one query for all of them."""
    wanted = {values[0] for repair in stored if repair for side in repair.values() for values in side}
    found = contents(session, collection_id, wanted)

    def listed(values: Sequence[Sequence[Any]], side: str) -> list[dict[str, Any]]:
        suggestions = [dict(zip(SUGGESTION_FIELDS, one, strict=False)) for one in values]
        return [
            {"uid": found[one["row"]].uid.hex, **one, side: getattr(found[one["row"]], side)} for one in suggestions
        ]

    return [
        None
        if repair is None
        else {"captions": listed(repair["captions"], "caption"), "images": listed(repair["images"], "url")}
        for repair in stored
    ]


def contents(session: Session, collection_id: UUID, rows: Iterable[int]) -> dict[int, Any]:
    """What stands in these rows."""
    wanted = sorted(rows)
    if not wanted:
        return {}
    # One parameter, however many rows.
    named = Pair.row == any_(literal(wanted, ARRAY(BigInteger)))
    chosen = select(Pair.row, Pair.uid, Pair.url, Pair.caption).where(Pair.collection_id == collection_id, named)
    return {found.row: found for found in session.execute(chosen)}
