"""Many small shards become few large ones; whoever reads meanwhile, and whatever fails, nothing is lost."""

import multiprocessing
import os
import resource
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pytest

from model.features import catalogue, reader
from model.features import store as store_module
from model.features.catalogue import Catalogue
from model.features.store import FeatureError, FeatureStore
from tests.model.features.samples import WIDTH, fill, keys_of, shards_in, vectors_of

ROW_BYTES = 16 + 2 * WIDTH


@pytest.fixture
def store(tmp_path: Path) -> FeatureStore:
    """100 rows in 20 shards."""
    store = FeatureStore(tmp_path, WIDTH)
    for first in range(0, 100, 5):
        fill(store, range(first, first + 5))
    return store


def has_all(folder: Path) -> bool:
    found = FeatureStore(folder, WIDTH).view(keys_of(range(100))).load()
    return np.array_equal(found, vectors_of(range(100)))


def read_when_told(folder: str, pipe: Connection) -> None:
    """A reading process: opens a view, waits, reads, and says whether all was right."""
    view = FeatureStore(folder, WIDTH).view(keys_of(range(100)))
    pipe.send("open")
    pipe.recv()
    pipe.send(np.array_equal(view.load(), vectors_of(range(100))))


class TestCompact:
    def test_small_shards_become_one_with_the_same_rows(self, store: FeatureStore, tmp_path: Path) -> None:
        assert store.compact() == 20
        assert len(shards_in(tmp_path)) == 1
        assert sorted(path.suffix for path in tmp_path.iterdir()) == [".lock", ".lock", ".shard"]
        assert store.verify() == 100
        assert has_all(tmp_path)
        assert np.array_equal(store.view(keys_of([7, 99])).load(), vectors_of([7, 99]))

    def test_rows_stored_twice_are_kept_once(self, store: FeatureStore, tmp_path: Path) -> None:
        fill(store, range(3, 50))
        store.compact()
        assert store.verify() == 100
        assert has_all(tmp_path)

    def test_nothing_to_do_changes_nothing(self, store: FeatureStore, tmp_path: Path) -> None:
        store.compact()
        before = shards_in(tmp_path)
        assert store.compact() == 0
        assert shards_in(tmp_path) == before

    @pytest.mark.parametrize("limit", ["MERGED_BYTES", "MERGED_ROWS"])
    def test_merged_shards_stay_below_the_limit(
        self, store: FeatureStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
    ) -> None:
        monkeypatch.setattr(catalogue, limit, 40 * ROW_BYTES if limit == "MERGED_BYTES" else 40)
        store.compact()
        sizes = [path.stat().st_size for path in shards_in(tmp_path)]
        assert 3 <= len(sizes) <= 6
        assert max(sizes) <= 40 * ROW_BYTES
        assert has_all(tmp_path)

    def test_very_many_shards_are_merged_in_several_rounds(
        self, store: FeatureStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(catalogue, "MERGED_SHARDS", 3)
        assert store.compact() == 20 + 6 + 3
        assert len(shards_in(tmp_path)) == 1
        assert store.verify() == 100
        assert has_all(tmp_path)

    def test_large_shards_are_left_alone(
        self, store: FeatureStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.compact()
        (large,) = shards_in(tmp_path)
        monkeypatch.setattr(catalogue, "MERGED_BYTES", large.stat().st_size)
        for number in range(100, 104):
            fill(store, range(number, number + 1))
        assert store.compact() == 4
        assert large in shards_in(tmp_path)
        assert len(shards_in(tmp_path)) == 2

    def test_more_shards_than_may_be_open_are_merged(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reader, "MAX_OPEN_SHARDS", 3)
        monkeypatch.setattr(store_module, "_BLOCK_BYTES", 10 * 2 * WIDTH)
        store = FeatureStore(tmp_path, WIDTH)
        for number in range(100):
            fill(store, range(number, number + 1))
        usual = resource.getrlimit(resource.RLIMIT_NOFILE)
        # Four shards at two descriptors each (one is let go when the next is open), and four files more, fit in.
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 16, usual[1]))
        try:
            assert store.compact() == 100
            assert has_all(tmp_path)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, usual)

    def test_writer_of_many_shards_merges_by_itself(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(store_module, "COMPACT_AFTER", 10)
        store = FeatureStore(tmp_path, WIDTH)
        for first in range(0, 100, 4):
            fill(store, range(first, first + 4))
        assert len(shards_in(tmp_path)) == 6
        assert has_all(tmp_path)

    def test_damaged_shard_is_named_and_nothing_is_replaced(self, store: FeatureStore, tmp_path: Path) -> None:
        damaged = shards_in(tmp_path)[7]
        data = bytearray(damaged.read_bytes())
        data[-1] ^= 1
        damaged.write_bytes(data)
        with pytest.raises(FeatureError, match=damaged.name):
            store.compact()
        assert len(shards_in(tmp_path)) == 20


class TestReaders:
    def test_view_stays_readable_and_then_the_old_files_go(
        self, store: FeatureStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(reader, "MAX_OPEN_SHARDS", 2)
        view = FeatureStore(tmp_path, WIDTH).view(keys_of(range(100)))
        store.compact()
        assert len(shards_in(tmp_path)) == 21
        assert store.verify() == 100
        assert np.array_equal(view.load(), vectors_of(range(100)))
        del view
        FeatureStore(tmp_path, WIDTH)
        assert len(shards_in(tmp_path)) == 1
        assert has_all(tmp_path)

    def test_another_process_reads_on(self, store: FeatureStore, tmp_path: Path) -> None:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        reader = context.Process(target=read_when_told, args=(str(tmp_path), theirs))
        reader.start()
        assert ours.recv() == "open"
        store.compact()
        assert len(shards_in(tmp_path)) == 21
        ours.send("read")
        assert ours.recv() is True
        reader.join()
        store.compact()
        assert len(shards_in(tmp_path)) == 1

    def test_failed_view_holds_nothing_back(self, store: FeatureStore, tmp_path: Path) -> None:
        with pytest.raises(KeyError) as failure:
            store.view(keys_of([1_000]))
        store.compact()
        assert failure.value is not None
        assert len(shards_in(tmp_path)) == 1

    def test_only_one_process_merges_at_a_time(self, store: FeatureStore, tmp_path: Path) -> None:
        with store._files.merging() as is_mine:
            assert is_mine
            assert FeatureStore(tmp_path, WIDTH).compact() == 0
        assert store.compact() == 20


class TestCrash:
    def test_before_the_list_is_written_rows_are_stored_twice(
        self, store: FeatureStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(Catalogue, "replace", _interrupt)
            with pytest.raises(KeyboardInterrupt):
                store.compact()
        assert len(shards_in(tmp_path)) == 21
        assert has_all(tmp_path)
        FeatureStore(tmp_path, WIDTH).compact()
        assert len(shards_in(tmp_path)) == 1
        assert has_all(tmp_path)

    @pytest.mark.parametrize("deleted", [0, 1, 19, 20])
    def test_while_old_shards_are_deleted_the_next_store_goes_on(
        self, store: FeatureStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deleted: int
    ) -> None:
        left = [deleted]
        unlink = Path.unlink

        def unlink_some(path: Path, missing_ok: bool = False) -> None:
            if left[0] == 0:
                raise KeyboardInterrupt
            left[0] -= 1
            unlink(path, missing_ok=missing_ok)

        with monkeypatch.context() as patch:
            patch.setattr(Path, "unlink", unlink_some)
            with pytest.raises(KeyboardInterrupt):
                store.compact()
        assert len(shards_in(tmp_path)) == 21 - deleted
        assert has_all(tmp_path)
        assert len(shards_in(tmp_path)) == 1
        assert list(tmp_path.glob("*.replaces")) == []

    def test_list_without_its_shard_does_not_count(self, store: FeatureStore, tmp_path: Path) -> None:
        names = "\n".join(path.name for path in shards_in(tmp_path))
        (tmp_path / "0123.replaces").write_text(names)
        assert has_all(tmp_path)
        assert len(shards_in(tmp_path)) == 20

    def test_list_cannot_name_files_elsewhere(self, store: FeatureStore, tmp_path: Path) -> None:
        outside = tmp_path.parent / f"{tmp_path.name}-outside.shard"
        outside.write_bytes(b"not ours")
        shard = shards_in(tmp_path)[0]
        shard.with_suffix(".replaces").write_text(f"../{outside.name}\n{outside}")
        FeatureStore(tmp_path, WIDTH)
        assert outside.exists()
        assert not shard.with_suffix(".replaces").exists()


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
