"""The train stage ends at once where reviews leave too little to learn from; probes are no pairs to learn from."""

from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from sqlalchemy import Engine

from model.config import MIN_PAIRS
from model.data.rows import pair_uid
from model.features.store import content_key, stack_keys
from model.probes import Probes
from service.config import Settings
from service.db.session import transaction
from service.db.states import ImageStatus, ReviewReason, Verdict
from service.db.tables import Image, Review
from service.storage import Storage
from tests.factories import Line, lines, make_collection, make_run
from tests.service.machine import claimed, first_stage
from worker.lease import Lease
from worker.stages import train
from worker.stages.context import StageContext, StageFailed
from worker.stages.run_features import RunFeatures, SideFeatures, open_store

SPARE = 6
LINES = lines(MIN_PAIRS + SPARE)
QUICK = {"method": "crcl", "method_options": {"piece_epochs": [1], "freeze_epochs": 0}, "score_draws": 1}
SIDE = SideFeatures("lite-0123", (8,))


def context_of(engine: Engine, folder: Path, mismatches: int) -> StageContext:
    """A run that is about to train; people called the first pairs a mismatch, and the last one a match."""
    with transaction(engine) as session:
        collection = make_collection(session, LINES)
        for row, line in enumerate(LINES, start=1):
            key = content_key(line.url.encode())
            session.add(Image(collection_id=collection.id, row=row, status=ImageStatus.SUCCESS, sha256=key))
        session.add_all(review(collection.id, line, Verdict.MISMATCH) for line in LINES[:mismatches])
        if mismatches < len(LINES):
            session.add(review(collection.id, LINES[-1], Verdict.MATCH))
        run_id = make_run(session, collection, QUICK).id
    lease = Lease(engine, claimed(engine, first_stage(engine, run_id)), Settings(threads=1))
    context = StageContext(lease, Storage(folder))
    encode(context)
    return context


def review(collection_id: UUID, line: Line, verdict: Verdict) -> Review:
    said = {"verdict": verdict, "reason": ReviewReason.CHOSEN, "reviewer": "me"}
    return Review(collection_id=collection_id, uid=UUID(pair_uid(line.url, line.caption)), **said)


def encode(context: StageContext) -> None:
    """Features that are alike on both sides, as if the encode stage had made them."""
    vectors = np.random.default_rng(0).normal(size=(len(LINES), 8)).astype(np.float32)
    open_store(context, "images", SIDE).add(stack_keys([content_key(line.url.encode()) for line in LINES]), vectors)
    captions = stack_keys([content_key(line.caption.encode()) for line in LINES])
    open_store(context, "captions", SIDE).add(captions, vectors)
    folder = context.storage.run(context.run_id)
    folder.mkdir(parents=True)
    RunFeatures(SIDE, SIDE).save(folder)


class TestRun:
    @pytest.mark.parametrize("mismatches", [SPARE + 1, len(LINES)], ids=["one too many", "all"])
    def test_mismatches_that_leave_too_few_end_it_with_the_reason(
        self, quiet_engine: Engine, tmp_path: Path, mismatches: int
    ) -> None:
        context = context_of(quiet_engine, tmp_path, mismatches)
        with pytest.raises(StageFailed) as failed:
            train.run(context)
        problem = failed.value.problem
        assert problem["code"] == "too_few_pairs"
        assert f"Reviews call {mismatches} of {len(LINES)} pairs" in problem["detail"]
        assert f"leaves {len(LINES) - mismatches}; training needs at least {MIN_PAIRS}" in problem["detail"]
        assert not (context.storage.run(context.run_id) / "checkpoints").exists()

    def test_mismatches_that_leave_enough_are_left_out(self, quiet_engine: Engine, tmp_path: Path) -> None:
        context = context_of(quiet_engine, tmp_path, SPARE)
        train.run(context)
        folder = context.storage.run(context.run_id)
        assert len(Probes.load(folder / train.PROBES_FILE)) > MIN_PAIRS
        assert list((folder / "checkpoints").iterdir())
