"""New pairs judged with a run that exists, through the real service and worker, by the command line."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine
from typer.testing import CliRunner, Result

from cli.main import app
from service.client import Client
from service.config import Settings, child_environment
from service.db.states import Scope
from service.schemas import Run
from service.storage import Storage
from tests.conftest import PAIRS, make_key
from tests.test_end_to_end import QUICK, upload, write_lines

LEARNED = 70


@pytest.fixture(scope="module")
def client(service_url: str, engine: Engine, worker: object) -> Iterator[Client]:
    """One workspace for all of them: they share the run."""
    with pytest.MonkeyPatch.context() as patch:
        environment = child_environment(Settings(url=service_url, key=make_key(engine, Scope.WRITE)))
        for name in ("PAIRSIFT_URL", "PAIRSIFT_KEY"):
            patch.setenv(name, environment[name])
        client = Client(service_url, environment["PAIRSIFT_KEY"])
        yield client
        client.close()


@pytest.fixture(scope="module")
def trained(client: Client, scenes: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    lines = (scenes / "pairs.tsv").read_text().splitlines()[:LEARNED]
    path = write_lines(tmp_path_factory.mktemp("learned") / "pairs.tsv", lines)
    run = client.wait_for_run(client.start_run(upload(client, path), {"method": "crcl", **QUICK}).id)
    assert run.state == "succeeded", run.error
    return run


@pytest.fixture
def new(scenes: Path, tmp_path: Path) -> Path:
    return write_lines(tmp_path / "new.tsv", (scenes / "pairs.tsv").read_text().splitlines()[LEARNED:])


def score(run: Run, *arguments: Any) -> Result:
    return CliRunner().invoke(app, ["score", "--run", str(run.id), *map(str, arguments)])


class TestScore:
    def test_new_pairs_are_judged_published_and_exported(
        self, client: Client, trained: Run, new: Path, tmp_path: Path
    ) -> None:
        done = score(trained, new, "-o", tmp_path / "clean.tsv", "--json")
        assert done.exit_code == 0, done.output
        told = json.loads(done.stdout)
        run = client.run(told["run_id"])
        assert run.model_run_id == trained.id
        assert [(stage.name, stage.state) for stage in run.stages] == [
            (name, "succeeded") for name in ("fetch", "encode", "score", "explain", "publish")
        ]
        assert told["pairs"] == told["clean"] + told["noisy"] == PAIRS - LEARNED
        assert isinstance(told["drift"]["looks_different"], bool)

        pairs = list(client.pairs(run.id))
        assert len(pairs) == PAIRS - LEARNED
        assert all(pair.weight is not None and pair.neighbour_agreement is not None for pair in pairs)
        kept = (tmp_path / "clean.tsv").read_text().splitlines()
        assert len(kept) == told["cut"]["kept"] == sum(pair.split == "clean" for pair in pairs)
        assert set(kept) <= set(new.read_text().splitlines())
        report = client.report(run.id)
        assert report["drift"] == told["drift"]
        assert "nothing was trained" in " ".join(report["recipe"]["why"])
        assert "too few pairs to calibrate" in " ".join(report["recipe"]["why"])
        assert client.report_html(run.id)
        assert client.cut(run.id, keep=3).kept == 3

    def test_the_sentence_about_drift_is_printed(self, trained: Run, new: Path) -> None:
        done = score(trained, new)
        assert done.exit_code == 0, done.output
        assert f"of {PAIRS - LEARNED} pairs" in done.stdout
        assert "The new pairs look like those of the run" in done.stdout

    def test_a_cut_without_a_file_is_wrong_use(self, trained: Run, new: Path) -> None:
        done = score(trained, new, "--keep", 3)
        assert done.exit_code == 2
        assert "--out" in done.output

    def test_lost_networks_fail_the_run_with_the_reason(
        self, client: Client, trained: Run, new: Path, settings: Settings
    ) -> None:
        """Last: the run is of no use afterwards."""
        shutil.rmtree(Storage(settings.required_storage).run(trained.id) / "checkpoints")
        run = client.wait_for_run(client.score(trained.id, upload(client, new)).id)
        assert run.state == "failed"
        assert run.error is not None
        assert run.error.code == "model_gone"
        assert "no usable checkpoint" in run.error.detail
        assert str(settings.required_storage) not in run.error.detail
