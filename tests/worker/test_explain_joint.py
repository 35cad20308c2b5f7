"""The demo collection explained with an encoder of one space for both sides, which can be asked by prompts."""

from pathlib import Path
from uuid import UUID

import pytest
import torch
from safetensors.torch import save_file
from sqlalchemy import Engine

from model.encoders.clip_models import open_clip_package
from service.client import Client
from service.config import Settings
from service.db import jobs
from service.db.states import Scope, StageName
from service.storage import Storage
from tests.conftest import PAIRS, make_key, serving
from tests.probe_run import work
from tests.test_formats import QUICK, SMALL_CLIP
from worker.lease import Lease
from worker.stages.context import StageContext
from worker.stages.explain_inputs import opened


@pytest.fixture
def quiet_settings(settings: Settings, quiet_engine: Engine, tmp_path: Path) -> Settings:
    url = quiet_engine.url.render_as_string(hide_password=False)
    return settings.model_copy(update={"database_url": url, "storage": tmp_path / "storage"})


class TestJointEncoder:
    def test_scenes_are_explained_with_its_prompts(
        self, scenes: Path, quiet_engine: Engine, quiet_settings: Settings, tmp_path: Path
    ) -> None:
        torch.manual_seed(0)
        weights = tmp_path / "random.safetensors"
        save_file(open_clip_package().create_model(SMALL_CLIP).state_dict(), weights)
        with serving(quiet_settings) as url:
            client = Client(url, make_key(quiet_engine, Scope.WRITE, "joint"))
            collection = client.create_collection("scenes")
            client.upload(collection.id, scenes / "pairs.tsv")
            work(quiet_engine, quiet_settings)
            run = client.start_run(
                collection.id, QUICK | {"score_draws": 1, "encoder": f"open_clip:{SMALL_CLIP}:{weights}"}
            )
            work(quiet_engine, quiet_settings)
            pairs = list(client.pairs(run.id, elements=True))
            elements = client.report(run.id)["elements"]
            client.close()
        assert len(pairs) == PAIRS
        assert all(pair.elements is not None and pair.elements.caption for pair in pairs)
        assert (elements["language"], elements["judged"] + elements["unjudged"]) == ("English", PAIRS)
        claim = jobs.Claim(0, 0, StageName.EXPLAIN, UUID(str(collection.id)), UUID(str(run.id)), None)
        context = StageContext(Lease(quiet_engine, claim, quiet_settings), Storage(quiet_settings.required_storage))
        with opened(context) as given:
            assert given.encode_texts is not None
            assert given.encode_texts(["a photo of a dog"]).shape == (1, given.pairs.images.shape[1])
