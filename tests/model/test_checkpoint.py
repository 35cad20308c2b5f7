"""Checkpoints: sealed, two kept, the one before when the newest is damaged, none of another run."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from model.checkpoint import CheckpointMismatch, load_newest, save


def state(number: int) -> dict[str, Any]:
    return {"config_hash": "abc", "pairs": 100, "done": number, "weights": torch.full((3,), float(number))}


class TestSave:
    def test_keeps_the_newest_two(self, tmp_path: Path) -> None:
        for number in (1, 2, 10):
            save(tmp_path, number, state(number))
        assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint-000002.pt", "checkpoint-000010.pt"]

    def test_makes_the_folder(self, tmp_path: Path) -> None:
        assert save(tmp_path / "a" / "b", 1, state(1)).exists()

    def test_same_number_is_replaced(self, tmp_path: Path) -> None:
        save(tmp_path, 1, state(1))
        save(tmp_path, 1, {**state(1), "weights": torch.zeros(3)})
        loaded = load_newest(tmp_path, "abc", 100)
        assert loaded is not None
        assert loaded["weights"].tolist() == [0.0, 0.0, 0.0]


class TestLoadNewest:
    def test_gives_back_what_was_saved(self, tmp_path: Path) -> None:
        save(tmp_path, 1, state(1))
        save(tmp_path, 2, state(2))
        loaded = load_newest(tmp_path, "abc", 100)
        assert loaded is not None
        assert loaded["done"] == 2
        assert loaded["weights"].tolist() == [2.0, 2.0, 2.0]

    @pytest.mark.parametrize("folder", ["", "missing"])
    def test_nothing_there_is_none(self, tmp_path: Path, folder: str) -> None:
        assert load_newest(tmp_path / folder, "abc", 100) is None

    @pytest.mark.parametrize("damage", ["cut", "flip", "empty"])
    def test_damaged_newest_falls_back_to_the_one_before(self, tmp_path: Path, damage: str) -> None:
        save(tmp_path, 1, state(1))
        path = save(tmp_path, 2, state(2))
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes({"cut": bytes(content[:-200]), "flip": bytes(content), "empty": b""}[damage])
        loaded = load_newest(tmp_path, "abc", 100)
        assert loaded is not None
        assert loaded["done"] == 1

    def test_all_damaged_is_none(self, tmp_path: Path) -> None:
        save(tmp_path, 1, state(1)).write_bytes(b"torn")
        assert load_newest(tmp_path, "abc", 100) is None

    def test_file_left_by_a_crash_is_ignored(self, tmp_path: Path) -> None:
        (tmp_path / ".checkpoint-000009.pt.123.tmp").write_bytes(b"half")
        assert load_newest(tmp_path, "abc", 100) is None

    def test_other_configuration_is_refused(self, tmp_path: Path) -> None:
        save(tmp_path, 1, state(1))
        with pytest.raises(CheckpointMismatch, match="another configuration"):
            load_newest(tmp_path, "xyz", 100)

    def test_other_number_of_pairs_is_refused(self, tmp_path: Path) -> None:
        save(tmp_path, 1, state(1))
        with pytest.raises(
            CheckpointMismatch, match=r"^checkpoint-000001\.pt belongs to a collection of another size;"
        ) as caught:
            load_newest(tmp_path, "abc", 99)
        # Probes are counted with the pairs.
        assert not {"99", "100"} & set(re.findall(r"\d+", str(caught.value)))
