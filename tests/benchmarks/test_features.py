"""The benchmark of the feature store: its report, and an exit code that follows from it. No time is asserted here."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import features


class TestMain:
    @pytest.mark.parametrize(("most_spread", "code"), [(1e6, 0), (-1.0, 1)])
    def test_exit_code_follows_the_spread_of_memory(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], most_spread: float, code: int
    ) -> None:
        monkeypatch.setattr(features, "_MOST_SPREAD_MB", most_spread)
        assert features.main(["--rows", "300"]) == code
        report = json.loads(capsys.readouterr().out)
        (size,) = report["sizes"]
        assert (size["rows"], size["shards"]) == (300, 1)
        assert size["bytes_on_disk"] == 72 + 300 * (16 + 4 + 128)
        assert size["peak_rss_mb"] > 0
        for peer in ("np_memmap", "np_memmap_given_back"):
            assert size[f"ratio_to_{peer}"] == pytest.approx(
                size[peer]["cpu_ms_a_batch"] / size["cpu_ms_a_batch"], abs=0.01
            )


class TestMeasureStore:
    def test_rows_of_many_chunks_are_checked_and_merged(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(features, "_CHUNK", 100)
        assert features.measure_store(tmp_path, 1_050)["shards"] == 1

    def test_wrong_rows_are_noticed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        rng = np.random.default_rng(7)
        monkeypatch.setattr(features, "vectors_of", lambda keys: rng.normal(0, 50, (len(keys), 128)))
        with pytest.raises(RuntimeError, match="other rows"):
            features.measure_store(tmp_path, 300)
