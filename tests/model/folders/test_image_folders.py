"""Image files with a table, and what open_folder makes of folders that fit nothing."""

import gzip
import json
from pathlib import Path

import pytest

from model.data.rows import FileError, Pair
from model.data.source import ImageSource, ReadOptions
from model.data.sources import open_source
from tests.model.folders.making import CONTAINERS, image_of, opened, pack, pairs_of, parquet, rejects_of, tar_of

IMAGES = {"set/img/a.jpg": b"image a", "set/img/b c.png": b"image b", "set/readme.md": b"text"}


class TestImages:
    @pytest.mark.parametrize("container", CONTAINERS)
    @pytest.mark.parametrize("prefix", ["", "./", "set/", "img/", "./set/img/"])
    def test_paths_are_found_from_every_root(self, tmp_path: Path, container: str, prefix: str) -> None:
        """A path may start at the top, at the table's folder, or at the one folder that holds all images."""
        start = {"": "", "./": "", "set/": "set/img/", "img/": "img/", "./set/img/": "./set/img/"}[prefix]
        table = f"{start}a.jpg\ta dog\n{start}b c.png\ta  cat \n".encode()
        source = opened(pack(IMAGES | {"set/caps.tsv": table}, container, tmp_path))
        pairs = pairs_of(source)
        assert (source.format, source.images) == ("images", ImageSource.MEMBERS)
        assert [pair.caption for pair in pairs] == ["a dog", "a  cat "]
        assert [image_of(source, pair) for pair in pairs] == [b"image a", b"image b"]

    @pytest.mark.parametrize(
        ("name", "data"),
        [
            ("t.csv", b'path,caption\nset/img/a.jpg,"x, y"\n'),
            ("t.jsonl", json.dumps({"image_path": "set/img/a.jpg", "caption": "x, y"}).encode() + b"\n"),
            ("t.parquet", parquet(filepath=["set/img/a.jpg"], text=["x, y"])),
            ("t.tsv.gz", gzip.compress(b"set/img/a.jpg\tx, y\n", mtime=0)),
        ],
    )
    def test_every_kind_of_table_is_read(self, tmp_path: Path, name: str, data: bytes) -> None:
        for container in ("tar", "zip", "directory"):
            (tmp_path / container).mkdir()
            source = opened(pack(IMAGES | {name: data}, container, tmp_path / container))
            (pair,) = pairs_of(source)
            assert (pair.caption, image_of(source, pair)) == ("x, y", b"image a")

    @pytest.mark.parametrize("container", CONTAINERS)
    def test_image_that_is_not_there_is_rejected(self, tmp_path: Path, container: str) -> None:
        table = b"img/a.jpg\tx\nimg/none.jpg\ty\n../../a.jpg\tz\nhttps://example.org/i.jpg\tw\n"
        source = opened(pack(IMAGES | {"set/caps.tsv": table}, container, tmp_path))
        assert [(reject.row, reject.reason) for reject in rejects_of(source)] == [(2, "no_image"), (3, "no_image")]
        assert "img/none.jpg" in rejects_of(source)[0].detail
        assert [item.place for item in source.rows() if isinstance(item, Pair)][1:] == [None]

    def test_several_tables_are_named(self, tmp_path: Path) -> None:
        members = IMAGES | {"a.tsv": b"x", "b.tsv": b"y"}
        with pytest.raises(FileError, match=r"a\.tsv, b\.tsv"):
            opened(pack(members, "zip", tmp_path))

    def test_place_in_a_directory_is_the_path(self, tmp_path: Path) -> None:
        source = opened(pack(IMAGES | {"t.tsv": b"set/img/a.jpg\tx\n"}, "directory", tmp_path))
        assert pairs_of(source)[0].place == "set/img/a.jpg"


class TestOpenFolder:
    @pytest.mark.parametrize("container", CONTAINERS)
    def test_table_alone_in_an_archive_is_that_table(self, tmp_path: Path, container: str) -> None:
        source = opened(pack({"d/pairs.tsv": b"https://example.org/a\ta dog\n"}, container, tmp_path))
        assert (source.format, source.images) == ("tsv", ImageSource.URLS)
        assert pairs_of(source)[0].caption == "a dog"

    @pytest.mark.parametrize("container", CONTAINERS)
    def test_nothing_that_fits_says_what_was_found_and_what_is_expected(self, tmp_path: Path, container: str) -> None:
        with pytest.raises(FileError, match=r"1 \.exe.*setup\.exe.*Expected is .*_ims\.npy") as caught:
            opened(pack({"setup.exe": b"x"}, container, tmp_path))
        assert caught.value.reason == "no_format_fits"

    def test_empty_directory_fits_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "upload").mkdir()
        with pytest.raises(FileError, match="nothing that can be read"):
            opened(tmp_path / "upload")

    @pytest.mark.parametrize("name", ["clip-retrieval", "precomp", "img2dataset", "datacomp", "video", "images"])
    def test_wanted_format_that_does_not_fit_is_refused(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(FileError, match=f"format {name} expected"):
            opened(pack({"a.jpg": b"i", "a.json": b"{}"}, "tar", tmp_path), input_format=name)

    def test_wanted_format_of_the_table_inside_is_kept(self, tmp_path: Path) -> None:
        path = pack({"pairs.csv": b"https://example.org/a\ta, dog\n"}, "zip", tmp_path)
        assert opened(path, input_format="tsv").format == "tsv"

    def test_open_source_finds_the_way_here(self, tmp_path: Path) -> None:
        path = pack({"a.tar": tar_of({"a.jpg": b"i", "a.txt": b"c"})}, "directory", tmp_path)
        assert open_source(path, ReadOptions(), tmp_path / "scratch").format == "webdataset"

    def test_scratch_may_be_left_to_us(self, tmp_path: Path) -> None:
        source = open_source(pack({"a.jpg": b"i", "a.txt": b"c"}, "tar.gz", tmp_path), ReadOptions())
        assert image_of(source, pairs_of(source)[0]) == b"i"

    def test_description_is_json(self, tmp_path: Path) -> None:
        source = opened(pack(IMAGES | {"t.tsv": b"set/img/a.jpg\tx\n"}, "tar", tmp_path))
        found = json.loads(json.dumps(source.describe()))
        assert (found["format"], found["images"], found["container"]) == ("images", "members", "tar")
        assert found["image_files"] == 2
