"""Known mismatches: how many, of which kinds, from where, and what joins them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from model.errors import TrainingError
from model.neighbours import unit
from model.pairs import Pairs, gather
from model.probes import NEAR, RANDOM, Probes, make_probes, with_probes
from tests.model.collections import make_pairs, make_scenes


class Untouched:
    """Features that may be asked for their shape and for nothing else."""

    def __init__(self, count: int) -> None:
        self.shape = (count, 3)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> None:
        raise AssertionError("features were read")


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    return make_pairs(6000, 0.2, repeats=5)[0]


@pytest.fixture(scope="module")
def probes(pairs: Pairs) -> Probes:
    return make_probes(pairs, 0.05, seed=0)


def resemblance(pairs: Pairs, probes: Probes, kind: int) -> npt.NDArray[np.float32]:
    """Cosine of the image each probe has with the one its caption came with."""
    vectors = unit(pairs.images - pairs.images.mean(axis=0))
    chosen = probes.kinds == kind
    return np.asarray((vectors[probes.images[chosen]] * vectors[probes.captions[chosen]]).sum(axis=1))


def assert_all_others(pairs: Pairs, probes: Probes) -> None:
    assert (pairs.image_ids[probes.images] != pairs.image_ids[probes.captions]).all()
    assert (pairs.caption_ids[probes.images] != pairs.caption_ids[probes.captions]).all()


class TestMakeProbes:
    def test_share_of_a_large_collection(self, probes: Probes) -> None:
        # A random draw may meet the same content again, and is left out then: one image in 1,200.
        assert 295 <= len(probes) <= 300

    def test_small_collection_has_two_hundred(self) -> None:
        pairs, _ = make_pairs(1000, 0.2)
        assert 198 <= len(make_probes(pairs, 0.05, seed=0)) <= 200

    def test_share_of_zero_gives_none(self, pairs: Pairs) -> None:
        assert len(make_probes(pairs, 0.0, seed=0)) == 0

    def test_kinds_are_half_and_half(self, probes: Probes) -> None:
        assert set(probes.kinds) == {RANDOM, NEAR}
        assert abs(int((probes.kinds == NEAR).sum()) - len(probes) / 2) <= 5

    def test_near_ones_are_never_lost(self, probes: Probes) -> None:
        """They are drawn among other images: where captions differ too, all of them are left."""
        assert (probes.kinds == NEAR).sum() == 150

    def test_captions_are_spread_over_the_whole_collection(self, pairs: Pairs, probes: Probes) -> None:
        share = np.histogram(probes.captions, bins=10, range=(0, len(pairs)))[0] / len(probes)
        np.testing.assert_allclose(share, 0.1, atol=0.02)

    def test_both_kinds_are_spread_alike(self, pairs: Pairs, probes: Probes) -> None:
        for kind in (RANDOM, NEAR):
            captions = probes.captions[probes.kinds == kind]
            share = np.histogram(captions, bins=5, range=(0, len(pairs)))[0] / len(captions)
            np.testing.assert_allclose(share, 0.2, atol=0.03)

    def test_same_seed_gives_the_same(self, pairs: Pairs, probes: Probes) -> None:
        again = make_probes(pairs, 0.05, seed=0)
        for name, value in vars(probes).items():
            np.testing.assert_array_equal(value, getattr(again, name), err_msg=name)

    def test_other_seed_gives_others(self, pairs: Pairs, probes: Probes) -> None:
        other = make_probes(pairs, 0.05, seed=1)
        assert set(zip(other.images, other.captions, strict=True)) != set(
            zip(probes.images, probes.captions, strict=True)
        )

    def test_never_the_content_of_their_source(self, pairs: Pairs, probes: Probes) -> None:
        assert_all_others(pairs, probes)

    @pytest.mark.parametrize("seed", range(5))
    def test_never_the_same_content_where_much_is_repeated(self, seed: int) -> None:
        """Twenty images and twelve captions make 300 pairs: many re-pairings are pairs of the collection."""
        pairs, _ = make_pairs(300, 0.0, repeats=15)
        pairs = replace(pairs, caption_ids=(pairs.image_ids + np.arange(300) % 5) % 12)
        probes = make_probes(pairs, 0.5, seed)
        assert len(probes) > 50
        assert_all_others(pairs, probes)
        known = set(zip(pairs.image_ids, pairs.caption_ids, strict=True))
        made = list(zip(pairs.image_ids[probes.images], pairs.caption_ids[probes.captions], strict=True))
        assert known.isdisjoint(made)
        assert len(set(made)) == len(made)

    @pytest.mark.parametrize(("contents", "least", "most"), [(63, 0, 0), (64, 150, 200)])
    def test_none_where_few_pairs_differ(self, contents: int, least: int, most: int) -> None:
        """However often each of them is listed."""
        pairs, _ = make_pairs(contents, 0.0)
        probes = make_probes(pairs.taken(np.arange(600) % contents), 0.05, seed=0)
        assert least <= len(probes) <= most

    def test_none_where_every_image_has_every_caption(self) -> None:
        pairs, _ = make_pairs(300, 0.0, repeats=38)
        assert len(make_probes(replace(pairs, caption_ids=np.arange(300) % 5), 0.5, seed=0)) == 0

    def test_near_ones_resemble_more_than_random_ones(self, pairs: Pairs, probes: Probes) -> None:
        near, random = resemblance(pairs, probes, NEAR), resemblance(pairs, probes, RANDOM)
        assert np.percentile(near, 10) > np.percentile(random, 90)
        assert abs(random.mean()) < 0.1

    def test_images_of_regions_are_compared_by_their_mean(self) -> None:
        pairs, _ = make_scenes(600, 0.0)
        probes = make_probes(pairs, 0.05, seed=0)
        pooled = replace(pairs, images=pairs.images.mean(axis=1))
        assert resemblance(pooled, probes, NEAR).mean() > 0.5 + resemblance(pooled, probes, RANDOM).mean()

    def test_smallest_collection(self) -> None:
        pairs, _ = make_pairs(64, 0.2)
        probes = make_probes(pairs, 0.05, seed=0)
        assert 180 <= len(probes) <= 200
        assert len(np.unique(probes.captions)) == 64
        assert_all_others(pairs, probes)

    def test_two_images_leave_one_choice(self) -> None:
        pairs, _ = make_pairs(64, 0.0, repeats=32)
        probes = make_probes(pairs, 0.05, seed=0)
        assert 55 <= len(probes) <= 64  # every caption with the other image, once
        assert (probes.kinds == NEAR).sum() >= 20
        np.testing.assert_array_equal(pairs.image_ids[probes.images], 1 - pairs.image_ids[probes.captions])

    def test_one_image_for_all_pairs_gives_none(self) -> None:
        pairs, _ = make_pairs(100, 0.0, repeats=100)
        assert len(make_probes(pairs, 0.05, seed=0)) == 0

    def test_one_caption_for_all_pairs_gives_none(self) -> None:
        pairs, _ = make_pairs(100, 0.0)
        assert len(make_probes(replace(pairs, caption_ids=np.zeros(100, np.int64)), 0.05, seed=0)) == 0

    def test_images_without_any_difference_still_give_probes(self) -> None:
        """Other files, the same picture: every direction is as near as any other."""
        pairs, _ = make_pairs(100, 0.0)
        probes = make_probes(replace(pairs, images=np.ones_like(pairs.images)), 0.05, seed=0)
        assert len(probes) > 190
        assert_all_others(pairs, probes)


class TestSave:
    def test_loaded_are_the_same(self, probes: Probes, tmp_path: Path) -> None:
        probes.save(tmp_path / "probes.npz")
        loaded = Probes.load(tmp_path / "probes.npz")
        for name, value in vars(probes).items():
            np.testing.assert_array_equal(value, getattr(loaded, name), err_msg=name)
            assert getattr(loaded, name).dtype == value.dtype

    def test_none_are_none_again(self, pairs: Pairs, tmp_path: Path) -> None:
        make_probes(pairs, 0.0, seed=0).save(tmp_path / "probes.npz")
        assert len(Probes.load(tmp_path / "probes.npz")) == 0


class TestWithProbes:
    def test_collection_comes_first_and_unchanged(self, pairs: Pairs, probes: Probes) -> None:
        both = with_probes(pairs, probes)
        rows = np.arange(len(pairs))
        assert len(both) == len(pairs) + len(probes)
        np.testing.assert_array_equal(both.images[rows], pairs.images)
        np.testing.assert_array_equal(both.captions[rows], pairs.captions)
        np.testing.assert_array_equal(both.image_ids[rows], pairs.image_ids)
        np.testing.assert_array_equal(both.caption_ids[rows], pairs.caption_ids)

    def test_probes_have_one_pairs_image_and_anothers_caption(self, pairs: Pairs, probes: Probes) -> None:
        both, behind = with_probes(pairs, probes), np.arange(len(pairs), len(pairs) + len(probes))
        np.testing.assert_array_equal(both.images[behind], pairs.images[probes.images])
        np.testing.assert_array_equal(both.captions[behind], pairs.captions[probes.captions])
        np.testing.assert_array_equal(both.image_ids[behind], pairs.image_ids[probes.images])
        np.testing.assert_array_equal(both.caption_ids[behind], pairs.caption_ids[probes.captions])

    def test_texts_labels_and_anchors_come_along(self) -> None:
        pairs, _ = make_scenes(100, 0.0)
        said = (np.arange(100) % 3 - 1).astype(np.int8)
        probes = make_probes(pairs, 0.05, seed=0)
        both = with_probes(replace(pairs, anchors=said), probes)
        assert pairs.texts is not None
        assert both.texts is not None
        assert list(both.texts) == [*pairs.texts, *(pairs.texts[caption] for caption in probes.captions)]
        assert both.labels is not None
        assert len(both.labels) == len(both)
        np.testing.assert_array_equal(both.labels[:100], pairs.labels)
        assert both.anchors is not None
        np.testing.assert_array_equal(both.anchors[:100], said)
        assert not both.anchors[100:].any()

    def test_what_is_missing_stays_missing(self, pairs: Pairs, probes: Probes) -> None:
        both = with_probes(pairs, probes)
        assert (both.texts, both.labels, both.anchors) == (None, None, None)

    def test_own_pairs_are_counted_without_them(self, pairs: Pairs, probes: Probes) -> None:
        both = with_probes(pairs, probes)
        assert (pairs.own, both.own, both.probes) == (len(pairs), len(pairs), len(probes))
        assert both.taken(np.arange(len(pairs) - 1, len(pairs) + 3)).own == 1

    def test_features_that_are_not_finite_are_those_of_a_pair(self) -> None:
        pairs, _ = make_pairs(10, 0.0)
        images = np.array(pairs.images)
        images[7, 3] = np.nan
        probes = Probes(np.array([1, 7]), np.array([2, 3]), np.array([RANDOM, NEAR], np.int8))
        both = with_probes(replace(pairs, images=images), probes)
        with pytest.raises(TrainingError, match=r"the features of pair 7 are not finite"):
            gather(both.images, np.array([10, 11]))

    def test_no_features_are_read(self) -> None:
        ids = np.arange(10)
        pairs = Pairs(Untouched(10), Untouched(10), ids, ids)
        both = with_probes(pairs, Probes(np.array([1, 2]), np.array([3, 4]), np.array([RANDOM, NEAR], np.int8)))
        assert both.images.shape == both.captions.shape == (12, 3)

    def test_no_probes_give_the_same_collection(self, pairs: Pairs) -> None:
        both = with_probes(pairs, make_probes(pairs, 0.0, seed=0))
        np.testing.assert_array_equal(both.images[np.arange(len(pairs))], pairs.images)
