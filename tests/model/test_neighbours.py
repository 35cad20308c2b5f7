"""Nearest vectors: exact, by inverted lists, and vectors that point nowhere."""

import numpy as np
import pytest
import torch

from model.neighbours import Index, Units, Vectors, unit, use_cores


def clustered(count: int, seed: int = 0) -> Vectors:
    """Unit vectors around 50 centres, as features of images are."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(50, 16))
    return unit(centres[rng.integers(50, size=count)] + 0.5 * rng.normal(size=(count, 16)))


def brute_force(vectors: Vectors, queries: Vectors, count: int) -> np.ndarray:
    return np.argsort(-(queries @ vectors.T), axis=1, kind="stable")[:, :count]


class TestUnit:
    def test_length_is_one_and_direction_the_same(self) -> None:
        np.testing.assert_allclose(unit(np.array([[3.0, 4.0], [0.0, -2.0]])), [[0.6, 0.8], [0.0, -1.0]], atol=1e-7)

    def test_zero_stays_zero(self) -> None:
        assert not unit(np.zeros((2, 3))).any()


class TestUnits:
    def test_rows_are_those_of_the_places_at_length_one(self) -> None:
        source = np.array([[3.0, 4.0], [0.0, 2.0], [5.0, 0.0]], np.float32)
        found = Units(source, np.array([2, 0]))
        assert found.shape == (2, 2)
        np.testing.assert_allclose(found[np.array([1, 0])], [[0.6, 0.8], [1.0, 0.0]], atol=1e-7)
        np.testing.assert_allclose(found[:1], [[1.0, 0.0]], atol=1e-7)


class TestIndex:
    def test_exact_equals_brute_force(self) -> None:
        vectors, queries = clustered(2000), clustered(100, seed=1)
        places, cosines = Index(vectors).nearest(queries, 10)
        np.testing.assert_array_equal(places, brute_force(vectors, queries, 10))
        expected = np.take_along_axis(queries @ vectors.T, places, axis=1)
        np.testing.assert_allclose(cosines, expected, atol=1e-5)

    def test_a_vector_is_its_own_nearest(self) -> None:
        vectors = clustered(500)
        places, cosines = Index(vectors).nearest(vectors, 1)
        np.testing.assert_array_equal(places[:, 0], np.arange(500))
        np.testing.assert_allclose(cosines, 1.0, atol=1e-5)

    def test_vectors_read_in_blocks_are_searched_like_an_array(self) -> None:
        vectors, queries = clustered(20_000), clustered(50, seed=1)
        places, cosines = Index(Units(2 * vectors, np.arange(20_000))).nearest(queries, 5)
        expected, near = Index(vectors).nearest(queries, 5)
        np.testing.assert_array_equal(places, expected)
        np.testing.assert_allclose(cosines, near, atol=1e-5)

    def test_inverted_lists_find_nine_of_ten(self) -> None:
        vectors, queries = clustered(10_000), clustered(200, seed=1)
        places, cosines = Index(Units(vectors, np.arange(10_000)), exact_count=1000).nearest(queries, 20)
        true = brute_force(vectors, queries, 20)
        recall = np.mean([len(set(a) & set(b)) / 20 for a, b in zip(places, true, strict=True)])
        assert recall >= 0.9
        assert (np.diff(cosines, axis=1) <= 0).all()

    def test_lists_are_made_of_enough_vectors_for_faiss(self, capfd: pytest.CaptureFixture[str]) -> None:
        """It says on the standard error where they are not."""
        Index(clustered(150_000))
        assert "".join(capfd.readouterr()) == ""

    def test_lists_with_too_few_give_valid_places_that_do_not_count(self) -> None:
        """More are asked for than the lists near the query hold."""
        places, cosines = Index(clustered(3000), exact_count=1000).nearest(clustered(5, seed=1), 2900)
        assert places.min() >= 0
        assert places.max() < 3000
        assert (cosines[:, -1] == -1).all()

    @pytest.mark.parametrize("exact_count", [10_000, 1000])
    def test_vectors_without_direction_are_no_obstacle(self, exact_count: int) -> None:
        vectors = clustered(3000)
        vectors[::2] = 0.0
        queries = np.concatenate([np.zeros((3, 16), np.float32), vectors[1:2]])
        places, cosines = Index(vectors, exact_count).nearest(queries, 5)
        assert np.isfinite(cosines).all()
        assert ((places >= 0) & (places < 3000)).all()
        assert places[3, 0] == 1

    def test_nothing_but_zeros(self) -> None:
        zeros = np.zeros((2000, 8), np.float32)
        places, cosines = Index(zeros, exact_count=100).nearest(zeros[:4], 3)
        assert ((places >= 0) & (places < 2000)).all()
        assert np.isfinite(cosines).all()


@pytest.mark.parametrize("exact_count", [50, 1000])
def test_searches_on_many_cores_leave_the_threads_of_torch_alone(exact_count: int) -> None:
    vectors = unit(np.random.default_rng(0).normal(size=(400, 8)))
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        use_cores(2)
        Index(vectors, exact_count).nearest(vectors[:5], 3)
        assert torch.get_num_threads() == 1
    finally:
        use_cores(1)
        torch.set_num_threads(before)
