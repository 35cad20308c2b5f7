"""The benchmark of a whole job on few pairs: its report is complete, and nothing is left. No time is asserted."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest
from typer.testing import CliRunner

from benchmarks import job
from cli.bench import app
from cli.stack import temporary_data_folder
from model.config import parse_run_config
from model.data.folders.detect import open_folder
from model.data.rows import Pair
from model.data.source import ReadOptions
from service.config import Settings, child_environment
from tests.cli.test_stack import servers_of
from tests.conftest import ROOT

QUICK = ["method=crcl", "method_options.piece_epochs=[1]", "method_options.freeze_epochs=0", "score_draws=1"]


class TestCommand:
    def test_reports_every_stage_and_leaves_nothing(self) -> None:
        options = [part for setting in QUICK for part in ("--set", setting)]
        command = [sys.executable, "-m", "benchmarks.job", "--pairs", "300", *options]
        with temporary_data_folder() as folder:
            environment = child_environment(Settings()) | {"TMPDIR": str(folder)}
            process = subprocess.Popen(
                command, env=environment, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            assert process.stderr is not None
            said = [process.stderr.readline() for _ in range(2)]  # the servers start; the run is followed
            family = psutil.Process(process.pid).children(recursive=True)
            printed, rest = process.communicate(timeout=500)
            assert len(family) > 3, (said, rest)
            assert psutil.wait_procs(family, timeout=30)[1] == []
            assert servers_of(folder) == []
            assert list(folder.glob("pairsift-*")) == []
        report = json.loads(printed)
        assert process.returncode == int(not report["is_within"])
        assert (report["pairs"], report["noise_rate"], report["method"]) == (300, 0.4, "crcl")
        assert list(report["seconds"]) == ["ingest", "fetch", "encode", "train", "score", "explain", "publish", "rest"]
        assert report["limit_seconds"].keys() == {"explain", "everything else"}
        assert 0 <= report["auroc"] <= 1
        assert report["worker_peak_mb"] > 100
        assert report["bound"].keys() == {"gigaflops", "sgemm_gigaflops_per_second", "cores", "seconds", "ratio"}
        assert all(value > 0 for value in report["bound"].values())

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [(["--data", "/nowhere"], "holds no images.tsv"), (["--set", "backbone=scan"], "only the backbone head")],
    )
    def test_wrong_use_is_told_what_to_write(self, arguments: list[str], message: str) -> None:
        result = CliRunner().invoke(app, ["job", *arguments], env={"COLUMNS": "400"})
        assert result.exit_code == 2
        assert message in result.output


class TestWriteFolder:
    def test_is_read_as_features_of_two_widths(self, tmp_path: Path) -> None:
        pairs, is_mismatch = job.made_up(200)
        source = open_folder(job.write_folder(pairs, tmp_path / "written"), ReadOptions(), tmp_path / "scratch")
        features, rows = source.features(), np.arange(200)
        assert features.captions is not None
        assert [features.images.shape, features.captions.shape] == [(200, 1280), (200, 384)]
        assert np.array_equal(features.images[rows], pairs.images[rows].astype(np.float16))
        found = [row for row in source.rows() if isinstance(row, Pair)]
        assert [row.caption for row in found] == pairs.texts
        assert is_mismatch.sum() == 80


class TestFlops:
    def test_few_products_counted_by_hand(self) -> None:
        """256 pairs, batches of 64; widths 4 and 4, hidden 8, output 2. Forward: 2·(4·8)·2 + 2·(8·2)·2 + 2·64·2 = 448;
        backward: 128 + 2·(64 + 256) = 768. One network: 2 epochs learned, 1 + 3 surveys."""
        options = {
            "method": "crcl",
            "networks": 1,
            "batch_size": 64,
            "score_draws": 3,
            "method_options": {"piece_epochs": [1], "freeze_epochs": 1, "growth": 0},
            "backbone_options": {"input_size": 4, "hidden_size": 8, "output_size": 2},
        }
        config = parse_run_config(options)
        assert job.per_pair(config, 256) == (448, 768)
        assert job.flops(config, 256) == 256 * (2 * (448 + 768) + 4 * 448)
