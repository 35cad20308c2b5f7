"""Files that slipped on purpose, and how what was found is counted."""

import numpy as np

from benchmarks.protocol.shifts import BLOCKS, Slipped, against_truth, slip
from model.pairs import Pairs
from model.repair.shifts import Shift


def pairs(count: int) -> Pairs:
    rows = np.arange(count)
    features = np.arange(count, dtype=np.float32)[:, None]
    return Pairs(features, features, rows, rows, [f"caption {row}" for row in rows])


def found(first: int, last: int, offset: int) -> Shift:
    rows = last - first + 1
    return Shift(first, last, offset, rows, rows, confidence_before=0.1, confidence_after=0.9, score=50.0)


class TestSlip:
    def test_captions_move_within_their_blocks_by_the_offset(self) -> None:
        slipped = slip(pairs(6000), seed=3)
        rows = np.flatnonzero((slipped.offsets != 0) & slipped.is_telling)
        assert (slipped.pairs.caption_ids[rows] == rows + slipped.offsets[rows]).all()
        assert slipped.pairs.texts is not None
        assert slipped.pairs.texts[int(rows[0])] == f"caption {slipped.pairs.caption_ids[rows[0]]}"
        assert sorted(slipped.pairs.caption_ids) == list(range(6000))

    def test_blocks_are_as_many_as_said_and_the_rest_stays(self) -> None:
        slipped = slip(pairs(6000), seed=3)
        starts = (np.diff(np.concatenate([[0], slipped.offsets != 0])) == 1).sum()
        assert starts == BLOCKS
        kept = slipped.offsets == 0
        assert (slipped.pairs.caption_ids[kept] == np.flatnonzero(kept)).all()


class TestAgainstTruth:
    offsets = np.array([0, 0, 1, 1, 1, 1, 0, 0])
    slipped = Slipped(pairs(8), offsets, np.array([True] * 5 + [False] + [True] * 2))

    def test_a_whole_block_is_right(self) -> None:
        assert against_truth([found(2, 5, 1)], self.slipped) == {"precision": 1.0, "recall": 1.0}

    def test_too_long_a_block_costs_precision_and_too_short_a_one_recall(self) -> None:
        assert against_truth([found(1, 4, 1)], self.slipped) == {"precision": 0.75, "recall": 1.0}
        assert against_truth([found(3, 4, 1)], self.slipped) == {"precision": 1.0, "recall": 2 / 3}

    def test_a_wrong_offset_is_wrong(self) -> None:
        assert against_truth([found(2, 5, 2)], self.slipped) == {"precision": 0.0, "recall": 0.0}

    def test_nothing_found_is_no_recall(self) -> None:
        assert against_truth([], self.slipped)["recall"] == 0.0
