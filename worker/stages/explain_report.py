"""What a report says of explanations: counted on the way, in constant memory."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from model.elements.eme import Explanation
from model.repair.shifts import Shift
from worker.stages.explain_language import Language
from worker.stages.explain_repair import Repairs

LISTED = 20  # elements by name
MOST_NAMES = 100_000  # counted one by one; what is new after that is not
MOST_SHIFTS = 1_000
DIGITS = 4
SIDES = ("clean", "flagged")
LIMITS = (
    "The score counts what caption and image share. It cannot see contradictions or complements: “a dog chases a man” "
    "and “a man chases a dog” have the same elements, and what one side rightly adds to the other lowers the score."
)


class Tally:
    def __init__(self) -> None:
        self._pairs, self._judged = Counter[str](), Counter[str]()
        self._sums: dict[str, float] = defaultdict(float)
        self._claims, self._missing = Counter[str](), Counter[str]()
        self._shown, self._unmentioned = Counter[str](), Counter[str]()
        self._wrong = Counter[str]()

    def add(self, explanation: Explanation, is_flagged: bool) -> None:
        side = SIDES[is_flagged]
        self._pairs[side] += 1
        if explanation.eme is not None and explanation.eme_soft is not None:
            self._judged[side] += 1
            self._sums[side] += explanation.eme
            self._sums[f"soft {side}"] += explanation.eme_soft
        for claim in explanation.caption_elements:
            if claim.is_known:
                _count(claim.lemma, not claim.is_depicted, self._claims, self._missing)
                if claim.wrong is not None and not claim.is_depicted:
                    self._wrong[claim.wrong] += 1
        for seen in explanation.image_elements:
            _count(seen.lemma, not seen.is_mentioned, self._shown, self._unmentioned)

    def report(self, language: Language, detector: dict[str, Any] | None = None) -> dict[str, Any]:
        return {
            "tagger": language.read.name,
            "language": language.name,
            "language_share": round(language.share, DIGITS),
            "note": language.note,
            "judged": self._judged.total(),
            "unjudged": self._pairs.total() - self._judged.total(),
            "eme": {side: self._mean(side, side) for side in SIDES},
            "eme_soft": {side: self._mean(f"soft {side}", side) for side in SIDES},
            "missing": _most(self._missing, self._claims),
            "unmentioned": _most(self._unmentioned, self._shown),
            "wrong": dict(self._wrong.most_common()),
            "limits": LIMITS,
            "detector": detector,
        }

    def _mean(self, total: str, side: str) -> float | None:
        return round(self._sums[total] / self._judged[side], DIGITS) if self._judged[side] else None


def repair_report(shifts: Sequence[Shift], duplicates: dict[str, Any], repairs: Repairs) -> dict[str, Any]:
    return {
        "flagged": repairs.flagged,
        "searched": repairs.searched,
        "likely": repairs.likely,
        "shifts": [_shift(shift) for shift in shifts[:MOST_SHIFTS]],
        "shift_count": len(shifts),
        "duplicates": duplicates,
    }


def _shift(shift: Shift) -> dict[str, Any]:
    told = {
        name: round(value, DIGITS) if isinstance(value, float) else value for name, value in shift.to_dict().items()
    }
    return {"first_row": told.pop("first"), "last_row": told.pop("last"), **told, "message": shift.message}


def _count(name: str, is_hit: bool, all_of_it: Counter[str], hits: Counter[str]) -> None:
    if name in all_of_it or len(all_of_it) < MOST_NAMES:
        all_of_it[name] += 1
        hits[name] += is_hit


def _most(hits: Counter[str], all_of_it: Counter[str]) -> list[dict[str, Any]]:
    """Equal counts by name: the same report from the same collection."""
    ordered = sorted(((name, count) for name, count in hits.items() if count), key=lambda item: (-item[1], item[0]))
    return [{"lemma": name, "count": count, "of": all_of_it[name]} for name, count in ordered[:LISTED]]
