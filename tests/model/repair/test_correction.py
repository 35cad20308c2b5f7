"""Undone shifts: who takes whose caption, and what is left at the edges of a block."""

import numpy as np

from model.repair.correction import Correction, corrected
from model.repair.shifts import Shift


def block(first: int, last: int, offset: int) -> Shift:
    return Shift(first, last, offset, last - first + 1, last - first + 1, 0.1, 0.9, 100.0)


def mapping(correction: Correction) -> dict[int, int]:
    return dict(zip(correction.rows.tolist(), correction.captions.tolist(), strict=True))


class TestCorrected:
    def test_images_take_the_captions_of_the_rows_before(self) -> None:
        """Captions of rows 3 to 5 belong one row down: image 3 has none left, nor caption 6 an image."""
        found = corrected(np.arange(1, 9), [block(3, 5, 1)])
        assert mapping(found) == {1: 1, 2: 2, 4: 3, 5: 4, 6: 5, 7: 7, 8: 8}
        assert found.images_left.tolist() == [3]
        assert found.captions_left.tolist() == [6]
        assert found.changed == 3

    def test_a_shift_upwards_leaves_the_other_edge(self) -> None:
        found = corrected(np.arange(1, 9), [block(4, 6, -2)])
        assert mapping(found) == {1: 1, 2: 4, 3: 5, 4: 6, 7: 7, 8: 8}
        assert found.images_left.tolist() == [5, 6]
        assert found.captions_left.tolist() == [2, 3]

    def test_missing_rows_give_and_take_nothing(self) -> None:
        """Row 4 is not there: caption 3 has no image, image 5 no caption."""
        found = corrected(np.array([1, 2, 3, 5, 6, 7]), [block(3, 5, 1)])
        assert mapping(found) == {1: 1, 2: 2, 6: 5, 7: 7}
        assert found.images_left.tolist() == [3, 5]
        assert found.captions_left.tolist() == [3, 6]

    def test_a_block_at_the_end_of_the_file_loses_its_last_captions(self) -> None:
        found = corrected(np.arange(1, 5), [block(3, 4, 1)])
        assert mapping(found) == {1: 1, 2: 2, 4: 3}
        assert found.captions_left.tolist() == [4]

    def test_of_two_blocks_that_claim_an_image_the_first_has_it(self) -> None:
        found = corrected(np.arange(1, 10), [block(2, 4, 2), block(5, 7, 1)])
        assert mapping(found) == {1: 1, 4: 2, 5: 3, 6: 4, 7: 6, 8: 7, 9: 9}
        assert found.images_left.tolist() == [2, 3]
        assert found.captions_left.tolist() == [5, 8]

    def test_without_shifts_everything_stays(self) -> None:
        found = corrected(np.array([2, 5, 9]), [])
        assert mapping(found) == {2: 2, 5: 5, 9: 9}
        assert found.changed == len(found.images_left) == len(found.captions_left) == 0
