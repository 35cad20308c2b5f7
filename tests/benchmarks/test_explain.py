"""The benchmark of reasons: what it is given, its report, its exit code. No time is asserted."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import explain


def size(pairs: int, seconds: float, peak: float) -> dict[str, Any]:
    return {"pairs": pairs, "seconds": seconds, "before_rss_mb": 100.0, "peak_rss_mb": peak, "index_mb": pairs / 1000}


class TestMadeUp:
    def test_matching_sides_are_nearer_than_mismatched_ones(self, tmp_path: Path) -> None:
        given = explain.made_up(tmp_path, 400)
        images, captions = given.vectors or (np.zeros(0), np.zeros(0))
        cosines = (images * captions).sum(axis=1) / np.linalg.norm(images, axis=1) / np.linalg.norm(captions, axis=1)
        assert given.is_flagged.sum() == 120
        assert np.median(cosines[~given.is_flagged]) > np.median(cosines[given.is_flagged]) + 0.2

    def test_two_captions_share_an_image(self, tmp_path: Path) -> None:
        pairs = explain.made_up(tmp_path, 100).pairs
        assert pairs.image_ids[0] == pairs.image_ids[50]
        np.testing.assert_array_equal(pairs.images[0], pairs.images[50])


class TestMain:
    def test_every_pair_is_explained_and_the_exit_code_follows_the_limits(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        code = explain.main(["--pairs", "300"])
        report = json.loads(capsys.readouterr().out)
        (measured,) = report["sizes"]
        assert measured["pairs"] == 300
        assert measured["bytes_written"] > 300 * 100
        assert measured["peak_rss_mb"] >= measured["before_rss_mb"] > 0
        assert code == int(not report["is_within"])


class TestCompared:
    def test_time_is_told_for_100_000_pairs(self) -> None:
        report = explain.compared([size(1000, 2.0, 300.0), size(50_000, 200.0, 349.0)])
        assert report["seconds_100k"] == 400.0
        assert report["growth"] == 1.0
        assert report["is_within"]

    @pytest.mark.parametrize("last", [size(100_000, 601.0, 399.0), size(100_000, 1.0, 500.0)])
    def test_slow_or_large_is_beyond_the_limits(self, last: dict[str, Any]) -> None:
        assert not explain.compared([size(1000, 2.0, 300.0), last])["is_within"]
