"""The feature store behind fsspec URLs, on two real file systems: memory, where a put is atomic, and local files."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import fsspec
import numpy as np
import pytest

from model.features import remote
from model.features.store import FeatureError, FeatureStore
from tests.model.features.samples import WIDTH, fill, keys_of, shards_in, vectors_of


@pytest.fixture(params=["memory", "file"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "file":
        yield f"file://{tmp_path}/there"
        return
    root = f"memory://{uuid4().hex}/there"
    system = fsspec.filesystem("memory")
    system.makedirs(root)
    yield root
    system.rm(root, recursive=True)


class Place:
    """A URL, and machines with caches of their own that use it."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder
        self.system, self.root = fsspec.core.url_to_fs(url)

    def store(self, machine: str = "a", **options: Any) -> FeatureStore:
        return FeatureStore(self.url, WIDTH, cache=self.cache(machine), **options)

    def cache(self, machine: str = "a") -> Path:
        return self.folder / f"cache-{machine}"

    def names(self) -> list[str]:
        return sorted(name.rsplit("/", 1)[-1] for name in self.system.ls(self.root, detail=False))


@pytest.fixture
def place(url: str, tmp_path: Path) -> Place:
    return Place(url, tmp_path)


class TestStore:
    def test_rows_come_back_on_another_machine(self, place: Place) -> None:
        fill(place.store("a"), range(50))
        view = place.store("b").view(keys_of([49, 0, 7]))
        assert np.array_equal(view.load(), vectors_of([49, 0, 7]))
        assert [path.name for path in shards_in(place.cache("b"))] == place.names()

    def test_two_machines_see_what_each_adds(self, place: Place) -> None:
        first, second = place.store("a"), place.store("b")
        fill(first, range(10))
        fill(second, range(10, 20))
        for store in (first, second):
            store.refresh()
            assert np.array_equal(store.view(keys_of(range(20))).load(), vectors_of(range(20)))

    def test_without_a_cache_it_says_what_is_needed(self, url: str) -> None:
        with pytest.raises(ValueError, match="cache=FOLDER"):
            FeatureStore(url, WIDTH)

    def test_merged_shards_are_seen_at_once_and_old_ones_go_after_a_day(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        writer = place.store("a")
        for number in range(5):
            fill(writer, range(number, number + 1))
        view = place.store("b", cache_bytes=0).view(keys_of(range(5)))
        assert writer.compact() == 5
        assert len(place.names()) == 7  # five old, one new, the list
        assert writer.verify() == 5
        assert np.array_equal(view.load(), vectors_of(range(5)))
        monkeypatch.setattr(remote, "STALE_SECONDS", -1)
        later = place.store("c")
        assert len(place.names()) == 1
        assert np.array_equal(later.view(keys_of(range(5))).load(), vectors_of(range(5)))

    def test_view_older_than_that_is_told_to_open_again(self, place: Place) -> None:
        for number in range(2):
            fill(place.store("a"), range(number, number + 1))
        store = place.store("b", cache_bytes=0)
        view = store.view(keys_of(range(2)))
        store._reader.open.cache_clear()
        for path in shards_in(place.cache("b")):
            path.unlink()
        for name in place.names():
            place.system.rm_file(f"{place.root}/{name}")
        with pytest.raises(FeatureError, match="open the store again"):
            view.load()


class TestUpload:
    def test_failure_leaves_nothing_anywhere(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        store = place.store()

        def cut_off(local: str, remote: str, **_: Any) -> None:
            if not store._files._is_put_atomic:  # type: ignore[attr-defined]
                place.system.pipe_file(remote, Path(local).read_bytes()[:100])
            raise ConnectionError("gone")

        monkeypatch.setattr(place.system, "put_file", cut_off)
        with pytest.raises(ConnectionError):
            fill(store, range(5))
        assert place.names() == []
        assert list(place.cache().iterdir()) == []

    def test_half_a_shard_of_a_dead_writer_goes_after_a_day(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        place.system.makedirs(place.root, exist_ok=True)
        place.system.pipe_file(f"{place.root}/0123.shard.tmp", b"half")
        assert place.store().missing(keys_of([1])).all()
        assert place.names() == ["0123.shard.tmp"]
        monkeypatch.setattr(remote, "STALE_SECONDS", -1)
        place.store()
        assert place.names() == []


class TestCache:
    def test_file_is_fetched_once(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        fill(place.store("a"), range(50))
        fetched = []
        get_file = place.system.get_file

        def count(remote: str, local: str, **options: Any) -> None:
            fetched.append(remote)
            get_file(remote, local, **options)

        monkeypatch.setattr(place.system, "get_file", count)
        for _ in range(2):
            store = place.store("b")
            assert not store.missing(keys_of(range(50))).any()
            assert store.verify() == 50
        assert len(fetched) == 1

    def test_download_that_breaks_off_leaves_nothing(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        fill(place.store("a"), range(50))

        def cut_off(remote: str, local: str, **_: Any) -> None:
            Path(local).write_bytes(place.system.cat_file(remote)[:100])
            raise ConnectionError("gone")

        with monkeypatch.context() as patch:
            patch.setattr(place.system, "get_file", cut_off)
            with pytest.raises(ConnectionError):
                place.store("b").view(keys_of([1]))
        assert list(place.cache("b").iterdir()) == []
        assert np.array_equal(place.store("b").view(keys_of([1])).load(), vectors_of([1]))

    def test_download_that_ends_early_without_an_error_is_refused(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fill(place.store("a"), range(50))

        def cut_off(remote: str, local: str, **_: Any) -> None:
            Path(local).write_bytes(place.system.cat_file(remote)[:-1])

        monkeypatch.setattr(place.system, "get_file", cut_off)
        with pytest.raises(FeatureError, match=r"there/.*\.shard: checksum"):
            place.store("b").view(keys_of([1]))
        assert list(place.cache("b").iterdir()) == []

    @pytest.mark.parametrize("keep", [0, 100, -1])
    def test_damaged_copy_is_fetched_again(self, place: Place, keep: int) -> None:
        fill(place.store("a"), range(50))
        (copy,) = shards_in(place.cache("a"))
        sound = copy.read_bytes()
        copy.write_bytes(sound[:-1] + b"?" if keep < 0 else sound[:keep])
        assert np.array_equal(place.store("a").view(keys_of(range(50))).load(), vectors_of(range(50)))
        assert copy.read_bytes() == sound

    def test_least_recently_used_copies_go_first(self, place: Place) -> None:
        writer = place.store("a")
        for number in range(3):
            fill(writer, range(number, number + 1))
        names = place.names()
        size = shards_in(place.cache("a"))[0].stat().st_size
        reader = place.store("b", cache_bytes=2 * size)
        files = reader._files
        for age, name in zip((30, 20), names[:2], strict=True):
            files.open(name).close()
            os.utime(place.cache("b") / name, (age_time := 1e9 - age, age_time))
        files.open(names[0]).close()  # used again: now the other one is older
        files.open(names[2]).close()
        assert [path.name for path in shards_in(place.cache("b"))] == sorted([names[0], names[2]])

    def test_cache_that_is_too_small_for_any_file_still_gives_all_rows(self, place: Place) -> None:
        writer = place.store("a", cache_bytes=0)
        for number in range(4):
            fill(writer, range(number, number + 1))
        reader = place.store("b", cache_bytes=0)
        assert np.array_equal(reader.view(keys_of(range(4))).load(), vectors_of(range(4)))
        assert len(shards_in(place.cache("b"))) == 1


class TestFolder:
    def test_plain_folder_needs_no_fsspec(self, tmp_path: Path) -> None:
        """In a process of its own: here fsspec is loaded already."""
        script = (
            "import sys; from model.features.store import FeatureStore; "
            f"FeatureStore({str(tmp_path)!r}, 4); sys.exit('fsspec' in sys.modules)"
        )
        assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
