"""What stands in a row among rows that share content, and lines fitted to values."""

import numpy as np
import pytest

from model.repair.evidence import Evidence, line, nominal


class TestNominal:
    def test_a_single_other_image_between_two_of_the_same_is_theirs(self) -> None:
        ids = np.array([1, 1, 9, 1, 1, 2, 2, 8, 7, 2])
        assert ids[nominal(ids)].tolist() == [1, 1, 1, 1, 1, 2, 2, 2, 2, 2]

    def test_rows_at_the_edge_of_a_run_stay(self) -> None:
        ids = np.array([9, 1, 1, 8, 2, 2, 7])
        assert ids[nominal(ids)].tolist() == ids.tolist()

    def test_what_returns_only_far_away_stays(self) -> None:
        ids = np.array([1, 2, 3, 4, 5, 1])
        assert nominal(ids).tolist() == [0, 1, 2, 3, 4, 5]


class TestEvidence:
    def test_every_offset_compares_with_the_image_so_many_rows_away(self) -> None:
        """Rows 1, 2 and 4; there is no row 3, and the captions of rows 1 and 2 are the same as images 2 and 4."""
        images = np.eye(3, dtype=np.float32)
        captions = images[[1, 2, 0]]
        ids = np.arange(3)
        values, is_telling = Evidence(images, captions, np.array([1, 2, 4]), ids, ids, 2).similarities(ids)
        # Offsets 0, 1, 2, -1, -2.
        assert values.tolist() == [[0, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 0]]
        assert is_telling.tolist() == [
            [False, True, False, False, False],
            [False, False, True, True, False],
            [False, False, False, False, True],
        ]


class TestLine:
    def test_even_spreads_give_the_slope_of_two_normal_distributions(self) -> None:
        """Means 2 and 0, spread 1: the log likelihood ratio is 2 x - 2."""
        rng = np.random.default_rng(0)
        slope, offset = line(rng.normal(2, 1, 20_000), rng.normal(0, 1, 40_000))
        assert slope == pytest.approx(2, abs=0.1)
        assert offset == pytest.approx(-2, abs=0.1)

    def test_equal_values_say_nothing(self) -> None:
        slope, _ = line(np.zeros(10), np.zeros(20))
        assert slope == pytest.approx(0, abs=1e-6)
