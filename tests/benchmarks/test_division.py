"""The benchmark of the division: its report, and an exit code that follows from it. No time is asserted here."""

import json

import pytest

from benchmarks import division


class TestMain:
    def test_exit_code_follows_the_ratio(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(division, "_LOSSES", 5000)
        code = division.main()
        report = json.loads(capsys.readouterr().out)
        assert code == int(report["ratio"] < report["least_ratio"])
        assert report["same_side_of_half"] > 0.999
        assert report["seconds"].keys() == {"ours", "beta", "scikit_learn"}
