"""Where categories come from, and what is refused with which words."""

from dataclasses import replace

import numpy as np
import pytest

from model.categories import cluster_captions, given_categories
from model.engine import TrainingError
from model.pairs import Pairs
from model.probes import Probes, with_probes
from tests.model.collections import make_pairs

PAIRS, _ = make_pairs(100, 0.0)


def with_all_probes(pairs: Pairs) -> Pairs:
    """As many probes as pairs: each pair's image with the caption before."""
    rows = np.arange(len(pairs))
    return with_probes(pairs, Probes(rows, np.roll(rows, 1), np.zeros(len(pairs), np.int8)))


class TestGivenCategories:
    def test_labels_are_taken_as_they_are(self) -> None:
        labels = np.arange(100) % 7
        assert np.array_equal(given_categories(replace(PAIRS, labels=labels)), labels)

    def test_no_label_column_says_what_to_do(self) -> None:
        with pytest.raises(TrainingError, match=r"no label column.*method_options\.clusters=K"):
            given_categories(PAIRS)

    def test_pairs_without_a_label_are_counted(self) -> None:
        labels = np.arange(100) % 7
        labels[:3] = -1
        with pytest.raises(TrainingError, match="3 of 100 pairs have no label"):
            given_categories(replace(PAIRS, labels=labels))

    def test_probes_are_not_counted_among_them(self) -> None:
        labels = np.arange(100) % 7
        labels[:3] = -1
        with pytest.raises(TrainingError, match=r"^3 of 100 pairs have no label"):
            given_categories(with_all_probes(replace(PAIRS, labels=labels)))

    def test_probes_have_those_of_their_pairs(self) -> None:
        labels = np.arange(100) % 7
        found = given_categories(with_all_probes(replace(PAIRS, labels=labels)))
        assert np.array_equal(found, np.concatenate([labels, labels]))

    def test_number_beyond_the_pairs_is_refused_however_many_probes_there_are(self) -> None:
        labels = np.arange(100)
        labels[0] = 150
        with pytest.raises(TrainingError, match="without gaps, but one is 150"):
            given_categories(with_all_probes(replace(PAIRS, labels=labels)))

    def test_one_category_is_refused(self) -> None:
        with pytest.raises(TrainingError, match="same label"):
            given_categories(replace(PAIRS, labels=np.zeros(100, np.int64)))

    def test_number_beyond_the_pairs_is_refused(self) -> None:
        labels = np.arange(100)
        labels[0] = 5000
        with pytest.raises(TrainingError, match="without gaps, but one is 5,000"):
            given_categories(replace(PAIRS, labels=labels))


class TestClusterCaptions:
    def test_every_pair_gets_one_and_the_same_seed_the_same(self) -> None:
        found = cluster_captions(PAIRS, 8, seed=3)
        assert found.shape == (100,)
        assert 2 <= len(np.unique(found)) <= 8
        assert np.array_equal(found, cluster_captions(PAIRS, 8, seed=3))

    def test_captions_of_one_kind_stay_together(self) -> None:
        """Ten far-apart points with ten captions each."""
        kinds = np.repeat(np.arange(10), 10)
        captions = (100 * np.eye(10)[kinds] + np.random.default_rng(0).normal(size=(100, 10))).astype(np.float32)
        found = cluster_captions(replace(PAIRS, captions=captions), 10, seed=0)
        assert all(len(set(found[kinds == kind])) == 1 for kind in range(10))

    def test_fewer_different_captions_than_clusters_is_no_error(self) -> None:
        captions = np.eye(3, dtype=np.float32)[np.arange(100) % 3]
        assert len(np.unique(cluster_captions(replace(PAIRS, captions=captions), 20, seed=0))) == 3

    @pytest.mark.parametrize("clusters", [1, 51])
    def test_number_that_makes_no_sense_is_refused(self, clusters: int) -> None:
        with pytest.raises(TrainingError, match="between 2 and 50 for 100 pairs"):
            cluster_captions(PAIRS, clusters, seed=0)

    @pytest.mark.parametrize("clusters", [51, 100, 101])
    def test_limit_is_of_the_collections_own_pairs(self, clusters: int) -> None:
        with pytest.raises(TrainingError, match="between 2 and 50 for 100 pairs"):
            cluster_captions(with_all_probes(PAIRS), clusters, seed=0)

    def test_probes_have_those_of_their_captions(self) -> None:
        found = cluster_captions(with_all_probes(PAIRS), 50, seed=0)
        assert np.array_equal(found[100:], np.roll(found[:100], 1))
