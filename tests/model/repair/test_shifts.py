"""Shifted blocks: found where they are, with their offset, and nowhere else."""

from collections.abc import Sequence

import numpy as np
import pytest

from model.repair.shifts import Shift, find_shifts
from tests.model.repair.cases import Case, Ints, make_case


def shifted(count: int, blocks: Sequence[tuple[int, int, int]]) -> tuple[Ints, Ints]:
    """Which caption stands in each row when those of some blocks are turned; and every row's offset."""
    order, offsets = np.arange(count), np.zeros(count, np.int64)
    for first, end, offset in blocks:
        order[first:end] = np.roll(order[first:end], -offset)
        offsets[first + max(0, -offset) : end - max(0, offset)] = offset
    return order, offsets


def find(case: Case, rows: Ints | None = None) -> list[Shift]:
    lines = np.arange(len(case.images)) if rows is None else rows
    return find_shifts(case.images, case.captions, lines, case.image_ids, case.caption_ids, case.confidence)


def found_offsets(shifts: Sequence[Shift], rows: Ints) -> Ints:
    offsets = np.zeros(len(rows), np.int64)
    for shift in shifts:
        offsets[(rows >= shift.first) & (rows <= shift.last)] = shift.offset
    return offsets


def precision_and_recall(found: Ints, true: Ints) -> tuple[float, float]:
    hits = int(((found == true) & (true != 0)).sum())
    return hits / max(1, int((found != 0).sum())), hits / int((true != 0).sum())


BLOCKS = [(300, 400, 1), (700, 850, -1), (1200, 1500, 2), (1800, 1900, -2), (2200, 2300, 3), (2700, 2950, -3)]


class TestFindShifts:
    @pytest.mark.parametrize("mismatched", [0.0, 0.2, 0.4])
    def test_blocks_are_found_with_their_offsets_among_mismatches(self, mismatched: float) -> None:
        order, offsets = shifted(4000, BLOCKS)
        shifts = find(make_case(4000, 1, mismatched, order=order))
        assert [shift.offset for shift in shifts] == [offset for *_, offset in BLOCKS]
        assert min(precision_and_recall(found_offsets(shifts, np.arange(4000)), offsets)) >= 0.95

    def test_a_block_says_what_it_gains(self) -> None:
        order, _ = shifted(2000, [(500, 700, 1)])
        (shift,) = find(make_case(2000, 1, 0.2, order=order))
        assert abs(shift.first - 500) <= 3
        assert abs(shift.last - 698) <= 3
        assert shift.rows == shift.telling == shift.last - shift.first + 1
        assert shift.confidence_before < 0.3
        assert shift.confidence_after > 0.6
        assert shift.score > 100
        assert shift.message.startswith(
            f"rows {shift.first}-{shift.last} look shifted: each caption belongs to the image one row further down"
        )
        assert shift.to_dict()["offset"] == 1

    @pytest.mark.parametrize("mismatched", [0.0, 0.4, 0.8])
    @pytest.mark.parametrize("seed", [1, 2, 3])
    def test_nothing_is_found_where_nothing_is_shifted(self, mismatched: float, seed: int) -> None:
        assert find(make_case(3000, seed, mismatched)) == []

    @pytest.mark.parametrize("seed", [1, 2, 3])
    def test_a_stretch_of_mismatches_is_no_shift(self, seed: int) -> None:
        order = np.arange(3000)
        order[500:1500] = np.random.default_rng(seed).permutation(order[500:1500])
        assert find(make_case(3000, seed, 0.1, order=order)) == []

    @pytest.mark.parametrize("mismatched", [0.0, 0.3])
    def test_captions_of_one_image_hide_no_shift(self, mismatched: float) -> None:
        """With five captions an image a shift by one changes one row in five."""
        blocks = [(500, 700, 1), (1500, 1800, -2), (3000, 3150, 3)]
        order, offsets = shifted(5000, blocks)
        shifts = find(make_case(5000, 1, mismatched, repeats=5, order=order))
        assert [shift.offset for shift in shifts] == [1, -2, 3]
        rows = np.arange(5000)
        found = found_offsets(shifts, rows)
        # What is shifted within its image's own captions is right where it is.
        is_changed = (rows // 5 != (rows + offsets) // 5) | ((offsets == 0) & (rows // 5 != (rows + found) // 5))
        assert min(precision_and_recall(found[is_changed], offsets[is_changed])) >= 0.95

    @pytest.mark.parametrize("mismatched", [0.0, 0.4])
    def test_captions_of_one_image_are_no_shift(self, mismatched: float) -> None:
        assert find(make_case(5000, 2, mismatched, repeats=5)) == []

    @pytest.mark.parametrize("step", [0.1, 0.3, 0.6])
    def test_neighbours_that_resemble_each_other_are_no_shift(self, step: float) -> None:
        """Like frames of a film: each image is the one before, changed a little."""
        rng = np.random.default_rng(5)
        hidden = rng.normal(size=(3000, 24))
        for row in range(1, 3000):
            hidden[row] = np.sqrt(1 - step**2) * hidden[row - 1] + step * hidden[row]
        assert find(make_case(3000, 1, 0.2, hidden=hidden)) == []

    def test_one_caption_for_a_stretch_of_images_is_no_shift(self) -> None:
        case = make_case(3000, 1)
        case.captions[1000:1200] = case.captions[1000]
        case.caption_ids[1000:1200] = case.caption_ids[1000]
        assert find(case) == []

    def test_rows_are_line_numbers_and_may_have_gaps(self) -> None:
        order, offsets = shifted(4000, BLOCKS)
        case = make_case(4000, 1, 0.2, order=order)
        kept = np.sort(np.random.default_rng(0).choice(4000, 3200, replace=False))
        shifts = find_shifts(
            case.images[kept],
            case.captions[kept],
            kept + 7,
            case.image_ids[kept],
            case.caption_ids[kept],
            case.confidence[kept],
        )
        assert min(precision_and_recall(found_offsets(shifts, kept + 7), offsets[kept])) >= 0.95

    def test_larger_offsets_are_found_when_asked_for(self) -> None:
        order, _ = shifted(2000, [(500, 800, 5)])
        case = make_case(2000, 1, 0.2, order=order)
        parts = (case.images, case.captions, np.arange(2000), case.image_ids, case.caption_ids, case.confidence)
        assert find_shifts(*parts) == []
        assert [shift.offset for shift in find_shifts(*parts, most_offset=5)] == [5]

    def test_without_trusted_pairs_nothing_is_found(self) -> None:
        order, _ = shifted(1000, [(200, 500, 1)])
        case = make_case(1000, 1, order=order)
        case.confidence[:] = 0.1
        assert find(case) == []

    def test_an_empty_collection_has_no_shift(self) -> None:
        none = np.empty(0, np.int64)
        assert find_shifts(np.empty((0, 4)), np.empty((0, 4)), none, none, none, np.empty(0)) == []

    def test_rows_out_of_order_are_refused(self) -> None:
        with pytest.raises(ValueError, match="ascending order"):
            find(make_case(200), np.arange(200)[::-1])
