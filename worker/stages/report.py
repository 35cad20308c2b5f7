"""Rows of a run -> the parts of its report that need the pairs themselves: how often pairs are flagged by host, caption
length, language guess and label, and the most and least trusted ones. One streaming pass in constant memory."""

from math import sqrt
from typing import Any
from uuid import UUID

from sqlalchemy import and_, select
from sqlalchemy.orm import Session

from service.db.states import Verdict
from service.db.tables import Pair, Review, Score
from worker.stages.language import guess_language

CHUNK = 5_000
LISTED = 30  # rows of a slice by host or label; the rest is one row
MOST_KEYS = 100_000  # hosts or labels counted one by one; what is new after that is counted as the rest
LONGEST_NAME, LONGEST_URL, LONGEST_CAPTION = 200, 1000, 500  # characters that are kept
SHOWN = 20  # most and least trusted pairs
WORD_BINS = ((2, "1–2"), (4, "3–4"), (7, "5–7"), (11, "8–11"), (17, "12–17"), (29, "18–29"), (59, "30–59"))
LAST_BIN = "60 and more"
LOCAL = "(no host)"
REST = "other"
_Z = 1.959964  # of a 95 % interval


class Tally:
    """How many pairs there are under a name, and how many of them are flagged."""

    def __init__(self) -> None:
        self.counts: dict[str, list[int]] = {}
        self.rest = [0, 0]

    def add(self, name: str, is_flagged: bool) -> None:
        found = self.counts.get(name)
        if found is None:
            found = self.counts.setdefault(name, [0, 0]) if len(self.counts) < MOST_KEYS else self.rest
        found[0] += 1
        found[1] += is_flagged

    def listed(self, overall: float, most: int = LISTED) -> list[dict[str, Any]]:
        """The most frequent names, then one row for all others."""
        ordered = sorted(self.counts.items(), key=lambda item: (-item[1][0], item[0]))
        pairs, flagged = (self.rest[i] + sum(counts[i] for _, counts in ordered[most:]) for i in (0, 1))
        rows = [flag_rate(name, counts[0], counts[1], overall) for name, counts in ordered[:most]]
        return [*rows, {**flag_rate(REST, pairs, flagged, overall), "is_rest": True}] if pairs else rows


def build_report(
    session: Session,
    run_id: UUID,
    collection_id: UUID,
    calibration: dict[str, Any] | None,
    described: dict[str, Any],
    recipe: dict[str, Any],
) -> dict[str, Any]:
    """What is kept with the run. `described` is what `model.report.describe` gave."""
    return {
        "calibration": calibration,
        "histograms": described["histograms"],
        "agreement": described["agreement"],
        "slices": slices(session, run_id, collection_id),
        "extremes": extremes(session, run_id, collection_id),
        "recipe": recipe,
    }


def slices(session: Session, run_id: UUID, collection_id: UUID) -> dict[str, Any]:
    """Flag rates of the judged pairs, overall and by what they have in common."""
    judged = (
        select(Pair.url, Pair.caption, Pair.label, Score.is_clean)
        .join(Score, and_(Score.run_id == run_id, Score.row == Pair.row))
        .where(Pair.collection_id == collection_id)
    )
    hosts, words, languages, labels = Tally(), Tally(), Tally(), Tally()
    pairs = flagged = 0
    for url, caption, label, is_clean in session.execute(judged, execution_options={"yield_per": CHUNK}):
        is_flagged = not is_clean
        pairs += 1
        flagged += is_flagged
        hosts.add(host_of(url), is_flagged)
        words.add(word_bin(caption), is_flagged)
        languages.add(guess_language(caption), is_flagged)
        if label is not None:
            labels.add(label[:LONGEST_NAME], is_flagged)
    overall = flagged / pairs if pairs else 0.0
    by_length = {row["name"]: row for row in words.listed(overall)}
    return {
        "overall": flag_rate("all pairs", pairs, flagged, overall),
        "host": hosts.listed(overall),
        "caption_words": [
            by_length[name] for name in (*(name for _, name in WORD_BINS), LAST_BIN) if name in by_length
        ],
        "language": languages.listed(overall),
        "label": labels.listed(overall),
    }


def extremes(session: Session, run_id: UUID, collection_id: UUID) -> dict[str, Any]:
    """The pairs at both ends of the index by confidence. What a person called a match or a mismatch before the training
    has a confidence of just 1 or 0 by that, would fill both lists, and tell nobody anything."""
    judged = (
        select(Pair.row)
        .join(Review, and_(Review.collection_id == Pair.collection_id, Review.uid == Pair.uid))
        .where(Pair.collection_id == collection_id, Review.verdict != Verdict.UNSURE)
    )
    left_out = set(session.scalars(judged))
    return {
        "most_trusted": _end(session, run_id, collection_id, left_out, is_falling=True),
        "least_trusted": _end(session, run_id, collection_id, left_out, is_falling=False),
    }


def _end(
    session: Session, run_id: UUID, collection_id: UUID, left_out: set[int], *, is_falling: bool
) -> list[dict[str, Any]]:
    # Equal confidences in the order of the index, backwards too, so that a million ties need not be sorted.
    columns = (Score.clean_confidence, Score.row)
    order = [column.desc() for column in columns] if is_falling else columns
    most = SHOWN + len(left_out)
    ends = session.scalars(select(Score.row).where(Score.run_id == run_id).order_by(*order).limit(most))
    shown = [row for row in ends if row not in left_out][:SHOWN]
    found = session.execute(
        select(Pair.uid, Pair.row, Pair.url, Pair.caption, Pair.label, Score.clean_confidence, Score.similarity)
        .join(Score, Score.row == Pair.row)
        .where(Pair.collection_id == collection_id, Score.run_id == run_id, Pair.row.in_(shown))
    )
    caps = {"url": LONGEST_URL, "caption": LONGEST_CAPTION, "label": LONGEST_NAME}
    # A join keeps no order, so the twenty are put in theirs again.
    ordered = sorted(found, key=lambda pair: (pair.clean_confidence, pair.row), reverse=is_falling)
    records = [pair._asdict() | {"uid": pair.uid.hex} for pair in ordered]
    return [record | {name: _shortened(record[name], most) for name, most in caps.items()} for record in records]


def _shortened(text: str | None, most: int) -> str | None:
    return text if text is None or len(text) <= most else text[: most - 1] + "…"


def flag_rate(name: str, pairs: int, flagged: int, overall: float) -> dict[str, Any]:
    """With Wilson's 95 % interval; `is_high` when even its lower end is above the overall rate."""
    low, high = wilson(flagged, pairs)
    return {
        "name": name,
        "pairs": pairs,
        "flagged": flagged,
        "rate": flagged / pairs if pairs else 0.0,
        "low": low,
        "high": high,
        "is_high": low > overall,
        "is_rest": False,
    }


def wilson(hits: int, count: int) -> tuple[float, float]:
    """Wilson's score interval: sound for small counts and for rates near 0 and 1."""
    if not count:
        return 0.0, 1.0
    rate, share = hits / count, _Z**2 / count
    middle = rate + share / 2
    reach = _Z * sqrt((rate * (1 - rate) + share / 4) / count)
    return max(0.0, (middle - reach) / (1 + share)), min(1.0, (middle + reach) / (1 + share))


def host_of(url: str) -> str:
    """By hand: urlsplit is slower and refuses some hostile URLs."""
    _, separator, rest = url.partition("://")
    if not separator:
        return LOCAL
    for end in "/?#\\":
        rest = rest.partition(end)[0]
    host = rest.rpartition("@")[2]
    # The colons within the brackets of an IPv6 address are no port.
    host = host.partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    return host.lower().lstrip("[")[:LONGEST_NAME] or LOCAL


def word_bin(caption: str) -> str:
    count = len(caption.split())
    return next((name for most, name in WORD_BINS if count <= most), LAST_BIN)
