"""`pairsift export` with a cut of one's own, on made-up scores."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine
from typer import BadParameter
from typer.testing import CliRunner, Result

from cli.export import chosen_cut, cut_text
from cli.main import app
from service.client import ApiProblem
from service.config import Settings, child_environment
from service.cut_shapes import Cut
from service.db.session import transaction
from service.db.states import Scope
from service.db.tables import Run, Workspace
from tests.conftest import make_key
from tests.factories import calibrated, make_collection, publish_run

CONFIDENCES = {1: 0.9, 2: 0.9, 3: 0.2, 4: 0.9, 5: 0.1}
Export = Callable[..., Result]


@pytest.fixture(scope="module")
def run(engine: Engine) -> Run:
    with transaction(engine) as session:
        return publish_run(session, make_collection(session, 6), CONFIDENCES, report=calibrated(CONFIDENCES))


@pytest.fixture
def export(
    engine: Engine, settings: Settings, service_url: str, run: Run, monkeypatch: pytest.MonkeyPatch, worker: object
) -> Export:
    with transaction(engine) as session:
        key = make_key(engine, Scope.WRITE, session.get_one(Workspace, run.workspace_id).name)
    environment = child_environment(settings.model_copy(update={"url": service_url, "key": key}))
    for name in ("PAIRSIFT_URL", "PAIRSIFT_KEY"):
        monkeypatch.setenv(name, environment[name])

    def invoke(*arguments: object, of: Run = run) -> Result:
        return CliRunner().invoke(app, ["export", str(of.id), *map(str, arguments)])

    return invoke


def captions(out: Path) -> list[str]:
    return [line.split("\t")[0] for line in out.read_text().splitlines()]


class TestExport:
    def test_corrected_goes_with_no_choice_of_pairs(self, export: Export, tmp_path: Path) -> None:
        for other in (("--split", "clean"), ("--weights",), ("--keep", 2)):
            done = export("-o", tmp_path / "file.tsv", "--corrected", *other)
            assert done.exit_code == 2
            assert "all pairs" in done.output

    def test_corrected_is_refused_where_nothing_is_shifted(self, export: Export, tmp_path: Path) -> None:
        done = export("-o", tmp_path / "file.tsv", "--corrected")
        assert isinstance(done.exception, ApiProblem)
        assert "found no rows" in str(done.exception)

    def test_chosen_cut_gives_the_kept_pairs_and_says_what_to_expect(self, export: Export, tmp_path: Path) -> None:
        out = tmp_path / "kept.tsv"
        done = export("-o", out, "--min-precision", 0.8)
        assert done.exit_code == 0, done.output
        assert captions(out) == [f"caption number {row}" for row in (1, 2, 4)]
        assert "cut at confidence 0.9000: 3 of 5 scored pairs kept" in done.output
        assert "expected precision 90.0% (81.0% to 99.0%)" in done.output

    def test_precision_between_two_rows_of_the_curve_keeps_the_pairs_between_them(
        self, export: Export, engine: Engine, run: Run, tmp_path: Path
    ) -> None:
        """Ten pairs and rows that keep ten and five: precision .5 and .75. With .65 two of the five between join."""
        confidences = {row: (row - 0.5) / 10 for row in range(1, 11)}
        report = calibrated(confidences)
        report["calibration"]["curve"] = report["calibration"]["curve"][::5]
        with transaction(engine) as session:
            collection = make_collection(session, 10, workspace_id=run.workspace_id)
            coarse = publish_run(session, collection, confidences, report=report)
        out = tmp_path / "kept.tsv"
        done = export("-o", out, "--min-precision", 0.65, of=coarse)
        assert done.exit_code == 0, done.output
        assert captions(out) == [f"caption number {row}" for row in range(4, 11)]
        assert "7 of 10 scored pairs kept, expected precision 65.0%" in done.output

    def test_flagged_pairs_are_those_below_the_same_cut(self, export: Export, tmp_path: Path) -> None:
        out = tmp_path / "flagged.jsonl"
        assert export("-o", out, "--keep-share", 0.2, "--split", "noisy").exit_code == 0
        assert len(out.read_text().splitlines()) == 4

    def test_weights_of_all_scored_pairs(self, export: Export, tmp_path: Path) -> None:
        out = tmp_path / "weights.tsv"
        made = export("-o", out, "--weights", "--json")
        assert made.exit_code == 0, made.output
        assert json.loads(made.stdout)["rows"] == 5
        assert out.read_text().startswith("uid\trow\tweight\n")

    @pytest.mark.parametrize("name", ["weights.parquet", "weights.jsonl"])
    def test_weights_in_a_file_of_another_kind_are_wrong_use(self, export: Export, tmp_path: Path, name: str) -> None:
        failed = export("-o", tmp_path / name, "--weights")
        assert failed.exit_code == 2
        assert "weights are written as TSV" in " ".join(failed.output.split())
        assert not (tmp_path / name).exists()

    @pytest.mark.parametrize("name", ["weights.TXT", "weights"])
    def test_weights_may_have_another_ending_of_plain_text(self, export: Export, tmp_path: Path, name: str) -> None:
        assert export("-o", tmp_path / name, "--weights").exit_code == 0
        assert (tmp_path / name).read_text().startswith("uid\trow\tweight\n")

    def test_precision_out_of_reach_says_the_best(self, export: Export, tmp_path: Path) -> None:
        failed = export("-o", tmp_path / "kept.tsv", "--min-precision", 0.95)
        assert isinstance(failed.exception, ApiProblem)
        assert "0.9000" in failed.exception.detail

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("--keep", 3, "--cost-ratio", 2), "--keep, --cost-ratio"),
            (("--keep", 3, "--min-confidence", 0.5), "--min-confidence"),
            (("--weights", "--format", "jsonl"), "--weights"),
            (("--cost-ratio", 0), "--cost-ratio"),
        ],
    )
    def test_wrong_use_is_named(self, export: Export, tmp_path: Path, arguments: tuple[Any, ...], words: str) -> None:
        failed = export("-o", tmp_path / "kept.tsv", *arguments)
        assert failed.exit_code == 2
        assert words in failed.output


class TestChosenCut:
    def test_only_what_was_given(self) -> None:
        assert chosen_cut(None, None, 0, None) == {"keep": 0}
        assert chosen_cut(None, None, None, None) == {}

    def test_endless_cost_is_refused(self) -> None:
        with pytest.raises(BadParameter, match="cost-ratio"):
            chosen_cut(None, None, None, float("nan"))


class TestCutText:
    def test_run_without_calibration_is_said_so(self) -> None:
        text = cut_text(Cut(confidence=0.5, kept=1234, flagged=6))
        assert "1,234 of 1,240" in text
        assert "no calibration" in text
