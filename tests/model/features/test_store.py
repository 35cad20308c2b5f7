"""The feature store, on real files: what goes in comes out, and a damaged file is named."""

import multiprocessing
import os
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.features import files, reader, shards
from model.features import keys as keys_module
from model.features.store import FeatureError, FeatureStore, content_key
from tests.model.features.samples import WIDTH, fill, keys_of, mapped_bytes, shards_in, vectors_of


def add_shards(folder: str, start: int) -> None:
    """What one of two writing processes does."""
    store = FeatureStore(folder, WIDTH)
    for first in range(start, start + 1_000, 100):
        fill(store, range(first, first + 100))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "lite"


@pytest.fixture
def store(folder: Path) -> FeatureStore:
    return FeatureStore(folder, WIDTH)


class TestAddAndView:
    def test_rows_come_back_in_the_order_asked(self, store: FeatureStore) -> None:
        fill(store, range(100))
        fill(store, range(100, 150))
        asked = [149, 0, 7, 7, 120]
        assert np.array_equal(store.view(keys_of(asked)).load(), vectors_of(asked))

    def test_random_access_to_50_000_rows_equals_the_dense_array(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(0)
        keys = rng.integers(0, 256, (50_000, 32), np.uint8)
        dense = rng.standard_normal((50_000, 16)).astype(np.float16)
        writer = FeatureStore(tmp_path, 16)
        for start in range(0, 50_000, 4_096):
            writer.add(keys[start : start + 4_096], dense[start : start + 4_096])
        view = FeatureStore(tmp_path, 16).view(keys)
        assert view.shape == (50_000, 16)
        index = rng.integers(0, 50_000, 3_000)
        assert np.array_equal(view[index], dense[index])
        assert np.array_equal(view[100:200], dense[100:200])
        assert np.array_equal(view.load(), dense)

    def test_view_gives_float32_and_its_length(self, store: FeatureStore) -> None:
        fill(store, range(3))
        view = store.view(keys_of(range(3)))
        assert view[np.array([1])].dtype == np.float32
        assert len(view) == 3

    def test_view_of_a_view_index_out_of_range_is_an_error(self, store: FeatureStore) -> None:
        fill(store, range(3))
        with pytest.raises(IndexError):
            store.view(keys_of(range(3)))[np.array([3])]

    def test_missing_key_is_named(self, store: FeatureStore) -> None:
        fill(store, range(3))
        with pytest.raises(KeyError, match=content_key(b"99").hex()):
            store.view(keys_of([1, 99]))

    def test_nothing_in_nothing_out(self, store: FeatureStore, folder: Path) -> None:
        store.add(keys_of([]), np.zeros((0, WIDTH)))
        assert shards_in(folder) == []
        assert store.view(keys_of([])).load().shape == (0, WIDTH)

    def test_same_key_in_two_shards_does_no_harm(self, store: FeatureStore) -> None:
        fill(store, range(10))
        fill(store, range(5, 15))
        assert np.array_equal(store.view(keys_of(range(15))).load(), vectors_of(range(15)))

    def test_same_key_twice_in_one_call_is_stored_once(self, store: FeatureStore) -> None:
        store.add(keys_of([1, 2, 1]), vectors_of([1, 2, 1]))
        assert store.verify() == 2

    def test_keys_that_end_in_zero_bytes_are_told_apart(self, store: FeatureStore) -> None:
        keys = np.zeros((3, 32), np.uint8)
        keys[1, 0] = keys[2, 0] = 1
        keys[2, 15] = 1
        store.add(keys, vectors_of(range(3)))
        assert np.array_equal(store.view(keys).load(), vectors_of(range(3)))

    def test_more_shards_than_may_be_open_are_all_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reader, "MAX_OPEN_SHARDS", 2)
        store = FeatureStore(tmp_path, WIDTH)
        for number in range(7):
            fill(store, range(number, number + 1))
        view = store.view(keys_of(range(7)))
        for index in np.random.default_rng(0).integers(0, 7, (5, 7)):
            assert np.array_equal(view[index], vectors_of(index.tolist()))

    def test_keys_may_come_from_a_mapped_file_in_pieces(
        self, store: FeatureStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(keys_module, "CHUNK_KEYS", 7)
        fill(store, range(100))
        np.save(tmp_path / "keys.npy", keys_of(range(99, -1, -1)))
        keys = np.load(tmp_path / "keys.npy", mmap_mode="r")
        assert np.array_equal(store.view(keys).load(), vectors_of(range(99, -1, -1)))
        with pytest.raises(KeyError, match=f"2 of 102 keys, first {content_key(b'200').hex()}"):
            store.view(keys_of([*range(100), 200, 201]))

    def test_what_was_written_to_a_private_map_of_keys_stays(self, store: FeatureStore, tmp_path: Path) -> None:
        fill(store, range(3))
        np.save(tmp_path / "keys.npy", keys_of([0, 1]))
        keys = np.load(tmp_path / "keys.npy", mmap_mode="c")
        keys[1] = keys_of([2])[0]
        assert np.array_equal(store.view(keys).load(), vectors_of([0, 2]))
        assert np.array_equal(keys, keys_of([0, 2]))

    def test_what_may_not_be_mapped_is_read_by_position(
        self, store: FeatureStore, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for start in (0, 1_000, 2_000):
            fill(store, range(start, start + 1_000))
        monkeypatch.setattr(shards, "MAPPED_BYTES", 40_000)  # one shard has 32 kB
        view = FeatureStore(folder, WIDTH).view(keys_of(range(3_000)))
        for index in np.random.default_rng(0).integers(0, 3_000, (5, 50)):
            assert np.array_equal(view[index], vectors_of(index.tolist()))
        assert np.array_equal(view.load(), vectors_of(range(3_000)))
        assert 0 < mapped_bytes(folder) < 40_000

    def test_closed_files_make_room_for_others_to_be_mapped(
        self, store: FeatureStore, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for start in (0, 1_000, 2_000):
            fill(store, range(start, start + 1_000))
        monkeypatch.setattr(shards, "MAPPED_BYTES", 70_000)  # the next is opened before the last is closed
        monkeypatch.setattr(reader, "MAX_OPEN_SHARDS", 1)
        view = FeatureStore(folder, WIDTH).view(keys_of(range(3_000)))
        for start in (0, 1_000, 2_000):
            assert np.array_equal(view[start : start + 1_000], vectors_of(range(start, start + 1_000)))
            assert 30_000 < mapped_bytes(folder) < 70_000

    @pytest.mark.parametrize("value", [np.nan, np.inf, 1e6])
    def test_value_the_type_cannot_hold_is_refused(self, store: FeatureStore, folder: Path, value: float) -> None:
        with pytest.raises(FeatureError, match="not finite in float16"):
            store.add(keys_of([1]), np.full((1, WIDTH), value))
        assert shards_in(folder) == []
        assert list(folder.glob("*.tmp")) == []

    def test_wrong_shapes_are_refused(self, store: FeatureStore) -> None:
        with pytest.raises(ValueError, match="expected"):
            store.add(keys_of([1]), np.zeros((1, WIDTH + 1)))
        with pytest.raises(ValueError, match="keys must be"):
            store.missing(np.zeros((4, 16), np.uint8))

    @settings(deadline=None, max_examples=30)
    @given(
        shards=st.lists(st.lists(st.integers(0, 60), max_size=20), max_size=5),
        asked=st.lists(st.integers(0, 60)),
    )
    def test_behaves_like_a_dict(
        self, tmp_path_factory: pytest.TempPathFactory, shards: list[list[int]], asked: list[int]
    ) -> None:
        store = FeatureStore(tmp_path_factory.mktemp("dict"), WIDTH)
        for numbers in shards:
            store.add(keys_of(numbers), vectors_of(numbers).reshape(-1, WIDTH))
        known = {number for numbers in shards for number in numbers}
        assert store.missing(keys_of(asked)).tolist() == [number not in known for number in asked]
        present = [number for number in asked if number in known]
        assert np.array_equal(store.view(keys_of(present)).load(), vectors_of(present).reshape(-1, WIDTH))


class TestMissing:
    def test_tells_what_is_still_to_encode(self, store: FeatureStore) -> None:
        fill(store, range(5))
        assert store.missing(keys_of([4, 5, 0])).tolist() == [False, True, False]

    def test_sees_what_another_store_adds_later(self, store: FeatureStore, folder: Path) -> None:
        other = FeatureStore(folder, WIDTH)
        assert store.missing(keys_of([1])).all()
        fill(other, range(3))
        assert not store.missing(keys_of([1])).any()

    def test_two_processes_writing_at_once_lose_nothing(self, store: FeatureStore, folder: Path) -> None:
        context = multiprocessing.get_context("spawn")
        writers = [context.Process(target=add_shards, args=(str(folder), start)) for start in (0, 500)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        assert [writer.exitcode for writer in writers] == [0, 0]
        assert len(shards_in(folder)) == 20
        assert np.array_equal(store.view(keys_of(range(1_500))).load(), vectors_of(range(1_500)))
        assert store.verify() == 2_000


class TestDamage:
    @pytest.mark.parametrize("size", [0, 10, 72, 200])
    def test_torn_shard_is_named(self, store: FeatureStore, folder: Path, size: int) -> None:
        fill(store, range(50))
        (path,) = shards_in(folder)
        os.truncate(path, size)
        with pytest.raises(FeatureError, match=path.name):
            FeatureStore(folder, WIDTH).view(keys_of([1]))

    def test_file_of_another_kind_is_named(self, store: FeatureStore, folder: Path) -> None:
        (folder / "stranger.shard").write_bytes(b"x" * 100)
        with pytest.raises(FeatureError, match=r"stranger\.shard"):
            store.missing(keys_of([1]))

    def test_flipped_byte_is_found_by_verify(self, store: FeatureStore, folder: Path) -> None:
        fill(store, range(50))
        (path,) = shards_in(folder)
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
        with pytest.raises(FeatureError, match="checksum"):
            FeatureStore(folder, WIDTH).verify()

    @pytest.mark.parametrize(("width", "dtype"), [(WIDTH + 1, "float16"), (WIDTH, "float32")])
    def test_other_width_or_type_is_refused(self, store: FeatureStore, folder: Path, width: int, dtype: str) -> None:
        fill(store, range(5))
        with pytest.raises(FeatureError, match=rf"shape \({width},\) in {dtype}"):
            FeatureStore(folder, width, dtype).missing(keys_of([1]))  # type: ignore[arg-type]

    def test_failed_write_leaves_nothing(
        self, store: FeatureStore, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full_disk(_: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full_disk)
        with pytest.raises(OSError, match="No space"):
            fill(store, range(5))
        assert shards_in(folder) == []
        assert list(folder.glob("*.tmp")) == []

    def test_temporary_file_is_ignored_and_goes_after_a_day(self, store: FeatureStore, folder: Path) -> None:
        fresh, stale = folder / "a.tmp", folder / "b.tmp"
        for path in (fresh, stale):
            path.write_bytes(b"half a shard")
        two_days_ago = time.time() - 2 * files.STALE_SECONDS
        os.utime(stale, (two_days_ago, two_days_ago))
        assert FeatureStore(folder, WIDTH).missing(keys_of([1])).all()
        assert list(folder.glob("*.tmp")) == [fresh]
