"""Where the features of a run are: written down once, found again by later stages, shared between machines."""

from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine

from model.features.store import content_key, stack_keys
from service.config import Settings
from service.db.session import transaction
from service.storage import Storage
from tests.factories import make_collection, make_run
from tests.service.machine import claimed, first_stage
from worker.lease import Lease
from worker.stages.context import StageContext
from worker.stages.run_features import UPLOADED, RunFeatures, SideFeatures, open_store

KEYS = stack_keys([content_key(b"one"), content_key(b"two")])
ROWS = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
SIDE = SideFeatures("lite-0123", (3,))


def context_of(engine: Engine, storage: Path, features_url: str | None) -> StageContext:
    with transaction(engine) as session:
        run_id = make_run(session, make_collection(session, 2)).id
    settings = Settings(features_url=features_url)
    return StageContext(Lease(engine, claimed(engine, first_stage(engine, run_id)), settings), Storage(storage))


class TestRunFeatures:
    def test_loaded_is_what_was_saved(self, tmp_path: Path) -> None:
        given = RunFeatures(SideFeatures("clip-1", (49, 384), "int8"), UPLOADED)
        given.save(tmp_path)
        assert RunFeatures.load(tmp_path) == given


class TestOpenStore:
    def test_machines_share_features_at_a_url(self, quiet_engine: Engine, tmp_path: Path) -> None:
        shared = (tmp_path / "bucket").as_uri()
        first, second = (context_of(quiet_engine, tmp_path / name, shared) for name in ("a", "b"))
        open_store(first, "images", SIDE).add(KEYS, ROWS)
        found = open_store(second, "images", SIDE).view(KEYS)[np.arange(2)]
        assert np.array_equal(found, ROWS)
        assert list((tmp_path / "bucket" / "lite-0123" / "images").glob("*.shard"))
        assert not (tmp_path / "b" / "features").exists()

    @pytest.mark.parametrize("url", [None, ""])
    def test_without_a_url_they_are_in_the_storage(self, quiet_engine: Engine, tmp_path: Path, url: str | None) -> None:
        context = context_of(quiet_engine, tmp_path, url)
        open_store(context, "captions", SIDE).add(KEYS, ROWS)
        assert list((tmp_path / "features" / "lite-0123" / "captions").glob("*.shard"))

    def test_uploaded_features_are_in_no_store(self, quiet_engine: Engine, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="came with the upload"):
            open_store(context_of(quiet_engine, tmp_path, None), "images", UPLOADED)
