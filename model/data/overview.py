"""What a source holds, at a glance: what was detected, counts, and the first pairs and rejects."""

from collections import Counter
from itertools import islice
from typing import Any

from model.data.rows import Pair
from model.data.source import Source

SHOWN_REJECTS = 5
_OF_PAIR = ("row", "uid", "url", "caption", "label", "place", "is_match")
_OF_REJECT = ("row", "offset", "reason", "detail", "text")


def overview(source: Source, pairs: int, limit: int | None = None) -> dict[str, Any]:
    """As JSON, from reading all rows, or the first `limit`."""
    counts: Counter[str] = Counter()
    first_pairs: list[dict[str, Any]] = []
    first_rejects: list[dict[str, Any]] = []
    labelled = mismatched = 0
    for item in islice(source.rows(), limit):
        if isinstance(item, Pair):
            counts[""] += 1
            labelled += item.label is not None
            mismatched += item.is_match is False
            if len(first_pairs) < pairs:
                first_pairs.append({name: getattr(item, name) for name in _OF_PAIR})
        else:
            counts[item.reason] += 1
            if len(first_rejects) < SHOWN_REJECTS:
                first_rejects.append({name: getattr(item, name) for name in _OF_REJECT})
    accepted = counts.pop("", 0)
    return {
        **source.describe(),
        "read": accepted + counts.total(),
        "accepted": accepted,
        "labelled": labelled,
        "known_mismatches": mismatched,
        "rejected": counts.total(),
        "reject_reasons": dict(sorted(counts.items())),
        "first_pairs": first_pairs,
        "first_rejects": first_rejects,
    }
