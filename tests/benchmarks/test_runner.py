"""Cells are trained once, filed at once, and found again; one that fails does not end the table."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.protocol.cells import DETECTION_KEYS, RETRIEVAL_KEYS, Cell, Result, make_config
from benchmarks.protocol.runner import Event, Runner, Store
from benchmarks.protocol.tables import rows

QUICK = {"score_draws": 1, "networks": 1, "method_options": {"piece_epochs": [1], "freeze_epochs": 0}}
CELLS = [Cell(make_config("crcl", "head", seed, QUICK), 0.4, is_quick=True) for seed in (0, 1)]


def run(folder: Path, file: Path | None, cells: list[Cell], jobs: int = 1, retrieval: bool = False) -> list[Result]:
    return Runner(folder, Store(file), jobs, "cpu", lambda event: None, retrieval).run(cells)


class TestRun:
    def test_rows_have_exactly_the_keys(self, folder: Path) -> None:
        (result,) = run(folder, None, CELLS[:1], retrieval=True)
        assert set(DETECTION_KEYS) <= set(result)
        assert set(RETRIEVAL_KEYS) <= set(result)
        assert (result["pairs"], result["noise_rate_true"], result["hard"]) == (80, 0.4, False)
        assert 0 <= result["auroc"] <= 1
        total = sum(result[key] for key in RETRIEVAL_KEYS if key[:3] in ("i2t", "t2i"))
        assert result["rsum"] == pytest.approx(total, abs=1e-4)

    def test_without_noise_there_is_no_auroc(self, folder: Path) -> None:
        (result,) = run(folder, None, [replace(CELLS[0], noise=0.0)])
        assert result["auroc"] is None

    def test_interrupted_table_goes_on_where_it_was(self, folder: Path, tmp_path: Path) -> None:
        file = tmp_path / "new" / "table.jsonl"
        first = run(folder, file, CELLS[:1])
        with file.open("a") as stream:
            stream.write('{"method": "crcl", "ba')  # killed while writing
        both = run(folder, file, CELLS)
        assert both[0] == first[0]
        assert [result["seed"] for result in both] == [0, 1]
        assert [json.loads(line)["seed"] for line in file.read_text().splitlines() if line.endswith("}")] == [0, 1]

    def test_detection_alone_does_not_count_as_retrieval(self, folder: Path, tmp_path: Path) -> None:
        file = tmp_path / "table.jsonl"
        run(folder, file, CELLS[:1])
        assert "rsum" in run(folder, file, CELLS[:1], retrieval=True)[0]
        assert "rsum" in run(folder, file, CELLS[:1])[0]
        assert len(file.read_text().splitlines()) == 2

    @pytest.mark.parametrize(
        "other",
        [
            replace(CELLS[0], noise=0.2),
            replace(CELLS[0], is_hard=True),
            replace(CELLS[0], is_quick=False),
            replace(CELLS[0], config=replace(CELLS[0].config, batch_size=64)),
        ],
        ids=["noise", "hard", "pairs", "config"],
    )
    def test_another_cell_is_not_taken_for_it(self, folder: Path, tmp_path: Path, other: Cell) -> None:
        file = tmp_path / "table.jsonl"
        run(folder, file, CELLS[:1])
        run(folder, file, [other])
        assert len(file.read_text().splitlines()) == 2

    def test_failed_cell_says_why_and_is_tried_again(self, folder: Path, tmp_path: Path) -> None:
        file = tmp_path / "table.jsonl"
        hopeless = Cell(make_config("mrl", "head", 0, {"method_options": {"clusters": 0}}), 0.4, is_quick=True)
        failed, fine = run(folder, file, [hopeless, CELLS[0]])
        assert "label" in failed["error"]
        assert "auroc" in fine
        assert rows([failed], DETECTION_KEYS)[0]["auroc"] is None
        run(folder, file, [hopeless, CELLS[0]])
        assert [("error" in json.loads(line)) for line in file.read_text().splitlines()] == [True, False, True]

    def test_processes_give_what_one_gives(self, folder: Path, tmp_path: Path) -> None:
        alone, together = run(folder, None, CELLS), run(folder, tmp_path / "table.jsonl", CELLS, jobs=2)
        without_time = [
            {key: value for key, value in result.items() if key != "seconds"} for result in alone + together
        ]
        assert without_time[:2] == without_time[2:]

    def test_progress_is_told_to_the_end(self, folder: Path) -> None:
        seen: list[Event] = []
        Runner(folder, Store(None), 1, "cpu", seen.append, False).run(CELLS)
        assert (seen[0].finished, seen[-1].finished, seen[-1].total) == (0, 2, 2)
        done = [event.finished + event.share for event in seen]
        assert done == sorted(done)
        assert seen[-1].eta_seconds is None
        assert any(event.eta_seconds for event in seen)
