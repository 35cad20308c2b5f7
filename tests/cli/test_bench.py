"""pairsift bench as a user meets it, on a made-up folder of the form of the Flickr8k features."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.protocol.cells import DETECTION_KEYS, RETRIEVAL_KEYS
from benchmarks.protocol.newcomers import NEW_KEYS
from benchmarks.protocol.tables import ABLATION_KEYS
from cli.main import app
from tests.benchmarks.made_up import make_folder

FAST = ["--quick", "--set", "networks=1", "--set", "score_draws=1", "--seeds", "0"]
CRCL = ["--methods", "crcl", "--set", "method_options.piece_epochs=[1]", "--set", "method_options.freeze_epochs=0"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("flickr"))


def bench(*arguments: object, code: int = 0) -> tuple[str, str]:
    done = CliRunner().invoke(app, ["bench", *map(str, arguments)])
    assert done.exit_code == code, done.output
    # The box that errors are shown in breaks them into lines.
    return done.stdout, " ".join(done.stderr.replace("│", " ").split())


class TestDetection:
    def test_json_rows_have_exactly_the_keys(self, folder: Path) -> None:
        out, progress = bench("detection", "--data", folder, *CRCL, *FAST, "--noise", "0.2,0.4", "--json")
        rows = json.loads(out)
        assert [tuple(row) for row in rows] == [DETECTION_KEYS] * 2
        assert [row["noise_rate_true"] for row in rows] == [0.2, 0.4]
        assert "2 of 2" in progress

    def test_prints_a_markdown_table(self, folder: Path) -> None:
        out, _ = bench("detection", "--data", folder, *CRCL, *FAST, "--noise", "0.4", "--hard")
        assert out.splitlines()[2].startswith("| crcl | head | 80 | 0.4 | yes | 1 |")

    def test_backbone_of_regions_and_words_gets_them(self, folder: Path) -> None:
        words = ["--backbones", "vse_infinity", "--set", "backbone_options.least_word_count=1"]
        out, _ = bench("detection", "--data", folder, *CRCL, *FAST, *words, "--noise", "0.4", "--both", "--json")
        assert json.loads(out)[0]["backbone"] == "vse_infinity"


class TestTrust:
    def test_rows_hold_the_run_and_what_it_is_compared_with(self, folder: Path) -> None:
        out, _ = bench("trust", "--data", folder, *FAST, "--noise", "0.4", "--hard-noise", "", "--json")
        rows = json.loads(out)
        assert [row["method"] for row in rows] == ["auto", "neighbours alone"]
        assert set(DETECTION_KEYS) < set(rows[0])
        whole = rows[0]
        assert whole["noise_low"] <= whole["noise_rate_estimate"] <= whole["noise_high"]
        assert whole["noise_held"] == (whole["noise_low"] <= 0.4 <= whole["noise_high"])
        assert rows[1]["noise_held"] is None
        assert all(row["noise_rate_true"] == 0.4 for row in rows)

    def test_table_has_intervals_over_the_seeds(self, folder: Path) -> None:
        fast = [*CRCL, *FAST[:-1], "0,1"]
        out, _ = bench("trust", "--data", folder, *fast, "--noise", "0.4", "--hard-noise", "")
        assert out.splitlines()[2].startswith("| crcl | 80 | 0.4 | no | 2 |")
        assert "±" in out


class TestNew:
    def test_rows_have_exactly_the_keys(self, folder: Path) -> None:
        out, _ = bench("new", "--data", folder, "--noise", "0.4", "--seeds", "0", "--json")
        (row,) = json.loads(out)
        assert tuple(row) == NEW_KEYS
        assert (row["pairs"], row["new"], row["noise"]) == (325, 75, 0.4)
        assert row["auroc"] == row["few_auroc"]  # too few to be calibrated among themselves either way
        assert 0.5 < row["auroc"] <= 1

    def test_wrong_noise_is_named(self, folder: Path) -> None:
        _, error = bench("new", "--data", folder, "--noise", "2", code=2)
        assert "Invalid value for --noise" in error

    def test_folder_without_the_files_is_refused(self, tmp_path: Path) -> None:
        _, error = bench("new", "--data", tmp_path, code=2)
        assert "holds no images.tsv" in error


class TestRetrieval:
    def test_shares_the_trainings_of_detection(self, folder: Path, tmp_path: Path) -> None:
        common = ["--data", folder, *CRCL, *FAST, "--noise", "0.2", "--out", tmp_path / "table.jsonl"]
        bench("detection", *common, "--both")
        out, _ = bench("retrieval", *common, "--json")
        assert [tuple(row) for row in json.loads(out)] == [RETRIEVAL_KEYS]
        assert len((tmp_path / "table.jsonl").read_text().splitlines()) == 1


class TestAblation:
    def test_has_a_row_for_every_variant(self, folder: Path) -> None:
        fast = ["--tables", "lnc9", "--set", "method_options.epochs=1", "--set", "method_options.warmup_epochs=1"]
        out, _ = bench("ablation", "--data", folder, *FAST, *fast, "--noise", "0.2", "--json")
        rows = json.loads(out)
        assert [tuple(row) for row in rows] == [ABLATION_KEYS] * 4
        assert [row["variant"][:5] for row in rows] == ["Psi_1", "Psi_2", "Psi_3", "Psi_4"]


class TestWrongUse:
    @pytest.mark.parametrize(
        ("arguments", "named"),
        [
            (["--methods", "nonsense"], "--methods"),
            (["--noise", "2"], "--noise"),
            (["--seeds", "x"], "--seeds"),
            (["--backbones", "nonsense"], "--backbones"),
            (["--set", "nonsense=1"], "--set"),
        ],
    )
    def test_option_is_named(self, folder: Path, arguments: list[str], named: str) -> None:
        _, error = bench("detection", "--data", folder, *arguments, code=2)
        assert f"Invalid value for {named}" in error

    def test_missing_folder_is_named(self, tmp_path: Path) -> None:
        _, error = bench("detection", "--data", tmp_path / "nowhere", code=2)
        assert "--data: there is no folder" in error

    def test_folder_without_the_files_is_refused(self, tmp_path: Path) -> None:
        _, error = bench("retrieval", "--data", tmp_path, code=2)
        assert "holds no images.tsv" in error

    def test_cell_that_cannot_be_trained_ends_with_one(self, folder: Path) -> None:
        hopeless = ["--methods", "mrl", "--noise", "0.2", "--set", "method_options.clusters=0"]
        out, error = bench("detection", "--data", folder, *FAST, *hopeless, "--json", code=1)
        assert json.loads(out)[0]["auroc"] is None
        assert "error:" in error
