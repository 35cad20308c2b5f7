"""Arrays in files and members: mapped, stacked, and nothing pickled."""

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.data.folders import arrays
from model.data.folders.arrays import Part, Stacked, map_array, read_header
from model.data.folders.extent import Extent
from model.data.rows import FileError
from tests.model.folders.making import npy


def part(array: np.ndarray, name: str = "a.npy") -> Part:
    return Part(name, read_header(io.BytesIO(npy(array)), name), lambda: array)


class TestReadHeader:
    def test_pickled_objects_are_refused(self) -> None:
        data = npy(np.array([{"a": 1}], dtype=object), allow_pickle=True)
        with pytest.raises(FileError, match="pickled"):
            read_header(io.BytesIO(data), "x.npy")

    def test_records_are_refused(self) -> None:
        with pytest.raises(FileError, match="records"):
            read_header(io.BytesIO(npy(np.zeros(2, [("a", "f4")]))), "x.npy")

    @pytest.mark.parametrize("data", [b"", b"nothing", b"\x93NUMPY\x01\x00\x05\x00hello", b"\x93NUMPY\x09\x00"])
    def test_what_is_no_array_is_named(self, data: bytes) -> None:
        with pytest.raises(FileError, match=r"x\.npy is not a readable"):
            read_header(io.BytesIO(data), "x.npy")


class TestMapArray:
    @pytest.mark.parametrize("order", ["C", "F"])
    def test_array_in_the_middle_of_a_file_is_mapped_not_loaded(self, tmp_path: Path, order: str) -> None:
        array = np.asarray(np.arange(12, dtype=np.float32).reshape(4, 3), order=order)  # type: ignore[call-overload]
        data = npy(array)
        (tmp_path / "file").write_bytes(b"before" + data + b"after")
        found = map_array(Extent(tmp_path / "file", 6, len(data)), "a.npy")
        assert isinstance(found, np.memmap)
        np.testing.assert_array_equal(found, array)

    def test_array_that_claims_more_than_there_is_is_refused(self, tmp_path: Path) -> None:
        data = npy(np.zeros((100, 3), np.float32))[:-1]
        (tmp_path / "file").write_bytes(data)
        with pytest.raises(FileError, match=r"1,199 bytes.*needs 1,200"):
            map_array(Extent(tmp_path / "file", 0, len(data)), "a.npy")

    def test_empty_array_has_its_shape(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(npy(np.zeros((0, 3), np.float32)))
        assert map_array(Extent.of_file(tmp_path / "file"), "a.npy").shape == (0, 3)


class TestStacked:
    @settings(max_examples=50, deadline=None)
    @given(
        lengths=st.lists(st.integers(0, 5), min_size=1, max_size=6).filter(lambda lengths: sum(lengths) > 0),
        data=st.data(),
    )
    def test_rows_are_those_of_the_arrays_put_together(self, lengths: list[int], data: st.DataObject) -> None:
        whole = np.arange(2 * sum(lengths), dtype=np.float16).reshape(-1, 2)
        stacked = Stacked([part(piece) for piece in np.split(whole, np.cumsum(lengths)[:-1])])
        rows = np.array(data.draw(st.lists(st.integers(0, len(whole) - 1))), np.int64)
        np.testing.assert_array_equal(stacked[rows], whole[rows])
        assert (len(stacked), stacked.shape, stacked.dtype) == (len(whole), whole.shape, whole.dtype)

    def test_row_outside_is_an_index_error(self) -> None:
        stacked = Stacked([part(np.zeros((2, 2), np.float32))])
        for row in (-1, 2):
            with pytest.raises(IndexError):
                stacked[np.array([row])]

    def test_arrays_of_different_widths_are_named(self) -> None:
        with pytest.raises(FileError, match=r"a\.npy.*\(2,\).*b\.npy.*\(3,\)"):
            Stacked([part(np.zeros((1, 2), np.float32)), part(np.zeros((1, 3), np.float32), "b.npy")])

    @pytest.mark.parametrize("array", [np.zeros((2, 2), np.int64), np.zeros(2, np.float32), np.zeros((2, 2), ">f4")])
    def test_only_floats_with_rows_are_features(self, array: np.ndarray) -> None:
        with pytest.raises(FileError, match="float16, float32 or float64"):
            Stacked([part(array)])

    def test_no_more_maps_are_open_than_allowed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(arrays, "MAX_OPEN_MAPS", 1)
        opened: list[int] = []
        header = read_header(io.BytesIO(npy(np.zeros((1, 1), np.float32))), "a")

        def load(number: int) -> np.ndarray:
            opened.append(number)
            return np.full((1, 1), number, np.float32)

        stacked = Stacked([Part("a", header, lambda number=number: load(number)) for number in range(2)])  # type: ignore[misc]
        for _ in range(2):
            assert stacked[np.array([0, 1])].tolist() == [[0], [1]]
        assert opened == [0, 1, 0, 1]
