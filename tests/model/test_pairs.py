"""Which pairs are the same, and which are learned from."""

from dataclasses import replace

import numpy as np

from model.pairs import Pairs


def listed(images: list[int], captions: list[int]) -> Pairs:
    sides = (np.asarray(ids, np.float32)[:, None] for ids in (images, captions))
    return Pairs(*sides, np.array(images), np.array(captions))


class TestContents:
    def test_same_image_with_same_caption_has_one_number(self) -> None:
        found = listed([5, 5, 9, 5], [1, 2, 1, 1]).contents()
        assert found[0] == found[3]
        assert len(set(found.tolist())) == 3


class TestLearnable:
    def test_a_repeated_pair_is_learned_once(self) -> None:
        assert listed([5, 5, 9, 5], [1, 2, 1, 1]).learnable().tolist() == [True, True, True, False]

    def test_the_same_with_another_label_is_something_else(self) -> None:
        pairs = replace(listed([5, 5, 5], [1, 1, 1]), labels=np.array([0, 1, 0]))
        assert pairs.learnable().tolist() == [True, True, False]

    def test_what_a_person_called_a_mismatch_is_not_learned(self) -> None:
        pairs = replace(listed([5, 6, 7], [1, 2, 3]), anchors=np.array([-1, 0, 1], np.int8))
        assert pairs.learnable().tolist() == [False, True, True]

    def test_nor_does_it_stand_for_its_repeats(self) -> None:
        pairs = replace(listed([5, 5], [1, 1]), anchors=np.array([-1, 0], np.int8))
        assert pairs.learnable().tolist() == [False, True]
