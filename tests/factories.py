"""Rows for tests, made directly: collections with pairs, runs at any point, published scores. No training."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from uuid import UUID, uuid4

import httpx2 as httpx
from sqlalchemy import update
from sqlalchemy.orm import Session

from model.config import parse_run_config, run_config_to_dict
from model.data.rows import pair_uid
from model.data.tsv import TsvFormat
from service import keys
from service.db import jobs, submissions
from service.db.states import CollectionState, ImageStatus, JobState
from service.db.tables import Collection, Image, Pair, Run, Score, Stage, Workspace

CAPTION_FIRST = TsvFormat(columns=2, url_column=1, caption_column=0)


@dataclass(frozen=True)
class Line:
    url: str
    caption: str
    extra: str | None = None
    label: str | None = None


def lines(count: int) -> list[Line]:
    return [Line(f"http://127.0.0.1/{number}.png", f"caption number {number}") for number in range(1, count + 1)]


def make_workspace(session: Session) -> UUID:
    workspace = Workspace(name=uuid4().hex)
    session.add(workspace)
    session.flush()
    return workspace.id


def workspace_of(session: Session, http: httpx.Client) -> UUID:
    key = keys.find_key(session, http.headers["Authorization"].removeprefix("Bearer "))
    assert key is not None
    return key.workspace_id


def make_collection(
    session: Session,
    content: int | Sequence[Line] = 0,
    *,
    workspace_id: UUID | None = None,
    state: CollectionState = CollectionState.READY,
    layout: TsvFormat = CAPTION_FIRST,
) -> Collection:
    """Rows are numbered as in the file: from 1, or from 2 below a header."""
    given = lines(content) if isinstance(content, int) else content
    collection = Collection(
        workspace_id=workspace_id or make_workspace(session),
        name="made",
        state=state,
        format=layout.to_dict(),
        lines_read=len(given),
        accepted=len(given),
        labelled=sum(line.label is not None for line in given),
    )
    session.add(collection)
    session.flush()
    for row, line in enumerate(given, start=2 if layout.has_header else 1):
        uid = UUID(pair_uid(line.url, line.caption))
        session.add(
            Pair(
                collection_id=collection.id,
                row=row,
                uid=uid,
                url=line.url,
                caption=line.caption,
                extra=line.extra,
                label=line.label,
            )
        )
    session.flush()
    return collection


def make_run(session: Session, collection: Collection, options: Mapping[str, object] = MappingProxyType({})) -> Run:
    run = Run(
        workspace_id=collection.workspace_id,
        collection_id=collection.id,
        config=run_config_to_dict(parse_run_config(options)),
    )
    session.add(run)
    session.flush()
    submissions.submit_run(session, run, is_ready=collection.state == CollectionState.READY)
    return run


def publish_run(
    session: Session,
    collection: Collection,
    confidences: Mapping[int, float],
    cut: float = 0.5,
    report: dict[str, Any] | None = None,
) -> Run:
    """A succeeded run. Rows without a confidence have an image that could not be read, and no score."""
    run = make_run(session, collection)
    jobs.take_wakeups(session)
    session.execute(update(Stage).where(Stage.run_id == run.id).values(state=JobState.SUCCEEDED))
    clean = sum(value >= cut for value in confidences.values())
    run.state, run.report = JobState.SUCCEEDED, report
    run.summary = {
        "pairs": collection.accepted,
        "clean": clean,
        "noisy": len(confidences) - clean,
        "unscored": collection.accepted - len(confidences),
        "noise_estimate": 0.3,
        "threshold": cut,
    }
    for pair in session.query(Pair).where(Pair.collection_id == collection.id).order_by(Pair.row):
        confidence = confidences.get(pair.row)
        session.add(_image(pair, is_readable=confidence is not None))
        if confidence is not None:
            session.add(_score(run.id, pair, confidence, cut))
    session.flush()
    return run


def calibrated(confidences: Mapping[int, float]) -> dict[str, Any]:
    """A report whose curve takes the confidences at their word; a row for each that differs."""
    values = list(confidences.values())
    curve = [_curve_row(cut, values) for cut in sorted(set(values))]
    noise = {"estimate": 0.3, "low": 0.28, "high": 0.32}
    probes = {kind: {"count": 10, "flagged_share": 0.9} for kind in ("random", "near")}
    return {
        "calibration": {"noise_rate": noise, "has_evidence": True, "threshold": 0.5, "probes": probes, "curve": curve}
    }


def _curve_row(cut: float, values: Sequence[float]) -> dict[str, float | None]:
    kept, flagged = [v for v in values if v >= cut], [1 - v for v in values if v < cut]
    counts = {
        "precision": (sum(kept), len(kept)),
        "recall": (sum(kept), sum(values)),
        "flagged_precision": (sum(flagged), len(flagged)),
        "flagged_recall": (sum(flagged), len(values) - sum(values)),
    }
    row: dict[str, float | None] = {"cut": cut, "kept_share": len(kept) / len(values)}
    for name, (part, whole) in counts.items():
        value = part / whole if whole else None
        row |= {name: value, f"{name}_low": value and value * 0.9, f"{name}_high": value and min(1.0, value * 1.1)}
    return row


def _image(pair: Pair, *, is_readable: bool) -> Image:
    image = Image(collection_id=pair.collection_id, row=pair.row, status=ImageStatus.FAILED, error_class="404")
    image.error_message = "HTTP 404"
    if is_readable:
        image.status, image.error_class, image.error_message = ImageStatus.SUCCESS, None, None
        image.sha256, image.width, image.height = hashlib.sha256(pair.url.encode()).digest(), 64, 48
    return image


def _score(run_id: UUID, pair: Pair, confidence: float, cut: float) -> Score:
    """The other scores follow other orders than the confidence, so that every sort is a different one. Those that not
    every method gives are there for some pairs only."""
    row = pair.row
    return Score(
        run_id=run_id,
        row=row,
        clean_confidence=confidence,
        confidence_a=(row * 7 % 10) / 10,
        confidence_b=(row * 3 % 10) / 10,
        rectified_correspondence=1 - confidence,
        similarity=(row % 5) / 5 - 0.4,
        is_clean=confidence >= cut,
        uncertainty=(row * 9 % 8) / 8 if row % 2 else None,
        label_confidence=None if pair.label is None else (row * 5 % 7) / 7,
        predicted_label=None if pair.label is None else f"perhaps {pair.label}",
        weight=(row * 4 % 9) / 4,
        neighbour_agreement=(row * 5 % 6) / 6 if row % 3 else None,
        clip_similarity=(row * 2 % 7) / 20 if row % 2 else None,
        eme=(row * 3 % 4) / 4 if row % 4 else None,
        eme_soft=(row * 5 % 8) / 8 if row % 4 else None,
    )
