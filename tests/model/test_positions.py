import numpy as np

from model.positions import blocks, spread


class TestSpread:
    def test_few_are_taken_whole(self) -> None:
        assert spread(3, 5).tolist() == [0, 1, 2]

    def test_many_are_sampled_evenly_with_both_ends(self) -> None:
        assert spread(101, 5).tolist() == [0, 25, 50, 75, 100]


class TestBlocks:
    def test_blocks_put_together_are_the_rows(self) -> None:
        rows = np.array([4, 0, 9, 2, 7])
        assert [block.tolist() for block in blocks(rows, 2)] == [[4, 0], [9, 2], [7]]

    def test_nothing_has_no_block(self) -> None:
        assert list(blocks(np.array([], np.int64))) == []
