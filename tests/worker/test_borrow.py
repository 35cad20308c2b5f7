"""Runs that lend their networks and runs that borrow them, by the real stages in this process."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlalchemy import Engine

from model.transfer import LEAST_CALIBRATED
from service.client import ApiProblem, Client
from service.config import Settings
from service.db.states import Scope
from service.storage import Storage
from tests.conftest import make_key, serving
from tests.probe_run import work
from worker.stages.borrow import JUDGE_FILE
from worker.stages.context import StageFailed

QUICK: dict[str, Any] = {
    "method": "crcl",
    "method_options": {"piece_epochs": [1, 1], "freeze_epochs": 0},
    "score_draws": 1,
}


@dataclass(frozen=True)
class Machine:
    client: Client
    storage: Storage
    work: Callable[[], None]
    folder: Path

    def collection(self, name: str, count: int, *, is_alike: bool, has_labels: bool = False) -> UUID:
        """Embeddings of both sides, a third of them mismatched; alike are those that all have one caption."""
        rng = np.random.default_rng(count)
        hidden = rng.normal(size=(count, 8)).astype(np.float32)
        images = hidden.copy()
        images[::3] = np.roll(images[::3], 1, axis=0)
        captions = np.tile(hidden[:1], (count, 1)) if is_alike else hidden
        words = ["a picture"] * count if is_alike else [f"picture {row}" for row in range(count)]
        records = [{"caption": word, "url": f"https://host.example/{row}.jpg"} for row, word in enumerate(words)]
        if has_labels:
            records = [record | {"label": f"kind {row % 3}"} for row, record in enumerate(records)]
        folder = self.folder / name
        for part in ("img_emb", "text_emb", "metadata"):
            (folder / part).mkdir(parents=True)
        np.save(folder / "img_emb" / "img_emb_0.npy", images)
        np.save(folder / "text_emb" / "text_emb_0.npy", captions)
        pq.write_table(pa.Table.from_pylist(records), folder / "metadata" / "metadata_0.parquet")
        made = self.client.create_collection(name, folder=str(folder))
        self.work()
        return made.id

    def trained(self, collection_id: UUID, options: dict[str, Any] = QUICK) -> UUID:
        run = self.client.start_run(collection_id, options)
        self.work()
        return run.id


@pytest.fixture(scope="module")
def machine(settings: Settings, quiet_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    url = quiet_engine.url.render_as_string(hide_password=False)
    changed = settings.model_copy(update={"database_url": url, "storage": tmp_path_factory.mktemp("storage")})
    with serving(changed) as address:
        client = Client(address, make_key(quiet_engine, Scope.WRITE, "borrowing"))
        yield Machine(
            client,
            Storage(changed.required_storage),
            lambda: work(quiet_engine, changed),
            tmp_path_factory.mktemp("uploads"),
        )
        client.close()


@pytest.fixture(scope="module")
def lender(machine: Machine) -> UUID:
    return machine.trained(machine.collection("learned", 150, is_alike=False))


class TestLend:
    def test_networks_of_pairs_that_are_too_much_alike_are_refused_at_once(self, machine: Machine) -> None:
        alike = machine.collection("alike", 80, is_alike=True)
        run = machine.client.run(machine.trained(alike))
        assert run.state == "succeeded"
        assert run.summary is not None
        assert "too much alike" in run.summary["cannot_judge"]
        with pytest.raises(ApiProblem, match="too much alike"):
            machine.client.score(run.id, alike)

    def test_other_runs_may_judge(self, machine: Machine, lender: UUID) -> None:
        assert "cannot_judge" not in (machine.client.run(lender).summary or {})


class TestRun:
    @pytest.mark.parametrize(
        ("count", "is_alike", "reason"),
        [
            (LEAST_CALIBRATED - 1, False, "too few pairs to calibrate (99, and at least 100 are needed)"),
            (LEAST_CALIBRATED, True, "too much alike to make mismatches of them"),
            (LEAST_CALIBRATED, False, "calibrated on the new pairs"),
        ],
    )
    def test_says_why_pairs_are_calibrated_as_they_are(
        self, machine: Machine, lender: UUID, count: int, is_alike: bool, reason: str
    ) -> None:
        scored = machine.client.score(lender, machine.collection(reason[:8], count, is_alike=is_alike))
        machine.work()
        assert reason in " ".join(machine.client.report(scored.id)["recipe"]["why"])

    def test_networks_that_learned_from_labels_judge_pairs_without(self, machine: Machine) -> None:
        learned = machine.collection("labelled", 150, is_alike=False, has_labels=True)
        lender = machine.trained(learned, {"method": "mrl", "method_options": {"epochs": 1}, "score_draws": 1})
        scored = machine.client.score(lender, machine.collection("not labelled", 120, is_alike=False))
        machine.work()
        run = machine.client.run(scored.id)
        assert (run.state, run.error) == ("succeeded", None)
        assert (run.summary or {})["unscored"] == 0

    @pytest.mark.parametrize("left", [0, 1_000])
    def test_a_damaged_file_fails_the_run_with_the_reason(self, machine: Machine, lender: UUID, left: int) -> None:
        machine.client.score(lender, machine.collection(f"torn {left}", 3, is_alike=False))
        file = machine.storage.run(lender) / JUDGE_FILE
        whole = file.read_bytes()
        file.write_bytes(whole[:left])
        with pytest.raises(StageFailed, match=re.escape(f"{JUDGE_FILE} is damaged")):
            machine.work()
        file.write_bytes(whole)

    def test_lost_networks_are_said_without_where_they_were(self, machine: Machine, lender: UUID) -> None:
        """Last: the run is of no use afterwards."""
        machine.client.score(lender, machine.collection("late", 3, is_alike=False))
        (machine.storage.run(lender) / JUDGE_FILE).unlink()
        with pytest.raises(StageFailed, match=re.escape(JUDGE_FILE)) as failed:
            machine.work()
        assert str(machine.storage.root) not in str(failed.value)
