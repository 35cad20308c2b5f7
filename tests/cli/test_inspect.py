"""`pairsift inspect`: what a file holds, without a service."""

import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import ROOT

# As Conceptual Captions come: no header, no quoting.
LINES = [
    "a dog\thttp://example.com/1.jpg",
    'a "cat\thttp://example.com/2.jpg',
    "no url here",
    "\x1b[31mred [bold]\thttp://example.com/3.jpg",
]


def inspect(*arguments: object, code: int = 0) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "cli.main", "inspect", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, done.stderr
    return done


def found(*arguments: object) -> dict[str, Any]:
    return dict(json.loads(inspect(*arguments, "--json").stdout))


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{line}\n" for line in LINES))
    return path


class TestInspect:
    def test_tells_format_columns_counts_pairs_and_rejects(self, pairs: Path) -> None:
        told = found(pairs)
        assert (told["format"], told["images"]) == ("tsv", "urls")
        assert (told["caption_column"], told["url_column"], told["header"]) == (0, 1, None)
        assert (told["read"], told["accepted"], told["rejected"]) == (4, 3, 1)
        assert [pair["caption"] for pair in told["first_pairs"]][:2] == ["a dog", 'a "cat']
        reject = told["first_rejects"][0]
        assert (reject["row"], reject["offset"]) == (3, sum(len(line) + 1 for line in LINES[:2]))
        assert told["reject_reasons"] == {reject["reason"]: 1}

    def test_text_for_people_carries_no_control_characters(self, pairs: Path) -> None:
        shown = inspect(pairs).stdout
        assert "\x1b" not in shown
        assert "red [bold]" in shown
        assert "too_few_columns" in shown

    def test_columns_can_be_set(self, pairs: Path) -> None:
        told = found(pairs, "--url-col", 1, "--caption-col", 0, "--rows", 1, "--limit", 2)
        assert (told["read"], len(told["first_pairs"])) == (2, 1)

    def test_folder_of_features_shows_the_truth(self, tmp_path: Path) -> None:
        np.save(tmp_path / "train_ims.npy", np.ones((2, 3, 4), np.float32))
        np.save(tmp_path / "noise.npy", np.array([0, 1, 1, 1]))
        (tmp_path / "train_caps.txt").write_text("a\nb\nc\nd\n")
        told = found(tmp_path, "--noise-index", "noise.npy")
        assert (told["format"], told["images"], told["accepted"]) == ("precomp", "features", 4)
        assert [pair["is_match"] for pair in told["first_pairs"]] == [True, False, True, True]

    def test_compressed_archive_leaves_nothing_behind(self, pairs: Path, tmp_path: Path) -> None:
        (tmp_path / "1.jpg").write_bytes(b"not looked at")
        table = tmp_path / "inner.tsv"
        table.write_text("a dog\t1.jpg\n")
        with tarfile.open(tmp_path / "all.tar.gz", "w:gz") as tar:
            for path in (tmp_path / "1.jpg", table):
                tar.add(path, path.name)
        before = sorted(tmp_path.iterdir())
        told = found(tmp_path / "all.tar.gz")
        assert (told["format"], told["accepted"]) == ("images", 1)
        assert sorted(tmp_path.iterdir()) == before

    def test_unreadable_file_fails_with_the_reason(self, tmp_path: Path) -> None:
        path = tmp_path / "empty.tsv"
        path.touch()
        assert "empty" in inspect(path, code=1).stderr

    def test_wrong_format_fails_with_the_choices(self, pairs: Path) -> None:
        assert "webdataset" in inspect(pairs, "--input-format", "xml", code=1).stderr

    def test_missing_file_is_wrong_use(self) -> None:
        assert "there is no file or folder nowhere" in inspect("nowhere", code=2).stderr
