"""Shared images, shared captions and repeated pairs, counted by hand."""

import json

import numpy as np
import pytest

from model.repair.duplicates import duplicates

# Image 1 has the captions 5, 6 and 5 again; caption 5 has the images 1, 2 and 3.
ROWS = np.array([10, 11, 12, 13, 14, 15])
IMAGES = np.array([1, 1, 1, 2, 3, 4])
CAPTIONS = np.array([5, 6, 5, 5, 5, 7])
FLAGGED = np.array([False, True, False, True, True, False])


class TestDuplicates:
    def test_an_image_with_several_captions_is_one_group(self) -> None:
        found = duplicates(ROWS, IMAGES, CAPTIONS, FLAGGED)["images"]
        assert found["distinct"] == 4
        assert found["groups"] == 1
        assert found["pairs"] == 3
        assert found["largest"] == [
            {"size": 2, "pairs": 3, "flagged_share": pytest.approx(1 / 3), "rows": [10, 11, 12]}
        ]

    def test_a_caption_with_many_images_says_which_share_is_flagged(self) -> None:
        found = duplicates(ROWS, IMAGES, CAPTIONS, FLAGGED)["captions"]
        assert found["distinct"] == 3
        assert found["largest"] == [{"size": 3, "pairs": 4, "flagged_share": 0.5, "rows": [10, 12, 13, 14]}]
        assert found["flagged_share"] == 0.5

    def test_pairs_are_repeated_only_with_both_sides_the_same(self) -> None:
        found = duplicates(ROWS, IMAGES, CAPTIONS, FLAGGED)["pairs"]
        assert found["groups"] == 1
        assert found["largest"] == [{"size": 2, "pairs": 2, "flagged_share": 0.0, "rows": [10, 12]}]

    def test_groups_are_counted_by_size(self) -> None:
        captions = np.repeat(np.arange(5), [1, 2, 4, 30, 200])
        count = len(captions)
        found = duplicates(np.arange(count), np.arange(count), captions, np.zeros(count, bool))["captions"]
        assert found["sizes"] == {"2": 1, "3-5": 1, "6-10": 0, "11-100": 1, "101-1000": 1, "1001+": 0}

    def test_only_the_largest_groups_and_their_first_rows_are_listed(self) -> None:
        captions = np.repeat(np.arange(4), [5, 2, 9, 7])
        rows = np.arange(23)
        found = duplicates(rows, rows, captions, np.zeros(23, bool), most_groups=2, most_rows=3)["captions"]
        assert [(group["size"], group["rows"]) for group in found["largest"]] == [(9, [7, 8, 9]), (7, [16, 17, 18])]
        assert found["groups"] == 4

    def test_a_collection_without_duplicates_has_no_groups(self) -> None:
        rows = np.arange(3)
        found = duplicates(rows, rows, rows, np.zeros(3, bool))
        assert all(part["groups"] == part["pairs"] == 0 and part["flagged_share"] is None for part in found.values())

    def test_an_empty_collection_is_a_report_too(self) -> None:
        none = np.empty(0, np.int64)
        assert duplicates(none, none, none, np.empty(0, bool))["captions"]["distinct"] == 0

    def test_ids_may_be_any_numbers_and_the_report_is_plain(self) -> None:
        images = IMAGES * 10**17 - 5
        found = duplicates(ROWS, images, -CAPTIONS * 10**17, FLAGGED)
        assert json.loads(json.dumps(found)) == duplicates(ROWS, IMAGES, CAPTIONS, FLAGGED)
