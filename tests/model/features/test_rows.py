"""Rows of every shape and type: what comes back, and how near it is to what went in."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from model.features.rows import RowForm
from model.features.store import FeatureError, FeatureStore
from model.pairs import gather
from tests.model.features.samples import keys_of

FINITE = st.floats(-(2.0**100), 2.0**100, width=32)


class TestInt8:
    @given(vectors=arrays.arrays(np.float32, arrays.array_shapes(min_dims=2, max_dims=3, max_side=6), elements=FINITE))
    def test_error_is_at_most_half_a_step_of_each_vector(self, vectors: np.ndarray) -> None:
        form = RowForm(vectors.shape[1:], "int8")
        found = form.decode(form.encode(vectors))
        step = np.abs(vectors).max(axis=-1, keepdims=True) / 127
        # The least float32 covers scales too small for that type.
        assert (np.abs(found - vectors) <= 0.501 * step + 1e-43).all()

    def test_largest_value_comes_back_and_signs_are_alike(self) -> None:
        form = RowForm(3, "int8")
        vectors = np.array([[-12.7, 0.1, 12.7], [0.5, -1, 0.25]], np.float32)
        found = form.decode(form.encode(vectors))
        assert found == pytest.approx(np.array([[-12.7, 0.1, 12.7], [64 / 127, -1, 32 / 127]]), rel=1e-6)
        assert np.array_equal(form.decode(form.encode(-vectors)), -found)

    def test_zeros_stay_zeros_beside_others(self) -> None:
        form = RowForm((2, 2), "int8")
        vectors = np.array([[[0, 0], [127, 1]], [[0, 0], [0, 0]]], np.float32)
        assert np.array_equal(form.decode(form.encode(vectors)), vectors)

    def test_row_takes_a_byte_a_value_and_four_a_vector(self) -> None:
        assert (RowForm(128, "int8").bytes, RowForm((36, 64), "int8").bytes) == (132, 36 * 68)

    @pytest.mark.parametrize("value", [np.nan, np.inf, 1e39])
    def test_what_has_no_scale_is_refused(self, tmp_path: Path, value: float) -> None:
        with pytest.raises(FeatureError, match="not finite in int8"):
            FeatureStore(tmp_path, 2, "int8").add(keys_of([1]), np.array([[0, value]]))


class TestShapes:
    @pytest.mark.parametrize("shape", [(5,), (3, 5), (2, 3, 5)])
    @pytest.mark.parametrize("dtype", ["float16", "float32", "int8"])
    def test_rows_come_back_in_their_shape(self, tmp_path: Path, shape: tuple[int, ...], dtype: str) -> None:
        vectors = np.random.default_rng(0).integers(-126, 127, (40, *shape)).astype(np.float32)
        vectors[..., 0] = 127  # makes the scale 1, so that int8 is exact
        FeatureStore(tmp_path, shape, dtype).add(keys_of(range(40)), vectors)  # type: ignore[arg-type]
        view = FeatureStore(tmp_path, shape, dtype).view(keys_of(range(40)))  # type: ignore[arg-type]
        rows = np.array([39, 0, 0, 17])
        assert (view.shape, view.dtype) == ((40, *shape), np.float32)
        assert np.array_equal(view[rows], vectors[rows])
        assert np.array_equal(gather(view, rows).numpy(), vectors[rows])

    @pytest.mark.parametrize("other", [(15,), (5, 3), (3, 5, 1)])
    def test_as_many_numbers_in_another_shape_are_refused(self, tmp_path: Path, other: tuple[int, ...]) -> None:
        FeatureStore(tmp_path, (3, 5)).add(keys_of([1]), np.zeros((1, 3, 5)))
        with pytest.raises(FeatureError, match="not a feature shard of shape"):
            FeatureStore(tmp_path, other).missing(keys_of([1]))

    @pytest.mark.parametrize("shape", [(), (0,), (3, -1), (1, 1, 1, 1, 1)])
    def test_shape_that_cannot_be_is_refused(self, tmp_path: Path, shape: tuple[int, ...]) -> None:
        with pytest.raises(ValueError, match="shape of a row"):
            FeatureStore(tmp_path, shape)

    def test_type_that_is_not_known_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="float16, float32, int8"):
            FeatureStore(tmp_path, 3, "int4")  # type: ignore[arg-type]
