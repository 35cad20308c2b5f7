"""Folders that img2dataset wrote: the Parquet file counts, failed downloads are rejects, images come from the tars."""

import json
from pathlib import Path

import pytest

from model.data.rows import FileError
from tests.model.folders.making import CONTAINERS, image_of, opened, pack, pairs_of, parquet, rejects_of, tar_of


def shard(number: int, **changed: list[object]) -> dict[str, bytes]:
    keys = [f"{number:05}{row:04}" for row in range(3)]
    columns: dict[str, list[object]] = {
        "url": [f"https://example.org/{key}" for key in keys],
        "caption": [f"caption {key}" for key in keys],
        "key": list(keys),
        "status": ["success", "failed_to_download", "success"],
        "error_message": [None, "HTTP Error 404", None],
        "width": [10, None, 30],
        "category": ["cat", "dog", None],
    }
    # The order of the tar is not that of the table: downloads end when they end.
    images = {f"{key}.{end}": f"{end} {key}".encode() for key in (keys[2], keys[0]) for end in ("jpg", "txt", "json")}
    name = f"{number:05}"
    return {
        f"{name}.tar": tar_of(images),
        f"{name}.parquet": parquet(**columns | changed),
        f"{name}_stats.json": b"{}",
    }


class TestRows:
    @pytest.mark.parametrize("container", CONTAINERS)
    def test_table_is_the_truth_and_images_come_from_the_tar(self, tmp_path: Path, container: str) -> None:
        source = opened(pack(shard(1) | shard(0), container, tmp_path))
        rows = list(source.rows())
        pairs = [item for item in rows if item not in rejects_of(source)]
        assert source.format == "img2dataset"
        assert [item.row for item in rows] == [1, 2, 3, 4, 5, 6]
        assert [pair.caption for pair in pairs] == [f"caption 0000{n}000{r}" for n in (0, 1) for r in (0, 2)]
        assert image_of(source, pairs[1]) == b"jpg 000000002"
        assert image_of(source, pairs[2]) == b"jpg 000010000"
        assert pairs[0].label == "cat"
        assert json.loads(pairs[0].extra or "")["width"] == 10
        assert source.describe()["rows"] == 6

    def test_failed_download_says_why(self, tmp_path: Path) -> None:
        (reject,) = rejects_of(opened(pack(shard(0), "directory", tmp_path)))
        assert (reject.row, reject.offset, reject.reason) == (2, 1, "image_failed")
        assert "failed_to_download: HTTP Error 404" in reject.detail
        assert "00000.parquet row 1" in reject.detail

    def test_what_is_quoted_can_be_stored(self, tmp_path: Path) -> None:
        members = shard(0, error_message=[None, "a\0b", None], key=["000000000", "k\0", "000000002"])
        (reject,) = rejects_of(opened(pack(members, "directory", tmp_path)))
        assert "\0" not in reject.detail + reject.text
        assert "a\ufffdb" in reject.detail

    def test_success_without_an_image_is_rejected(self, tmp_path: Path) -> None:
        members = shard(0, status=["success"] * 3)
        (reject,) = rejects_of(opened(pack(members, "tar", tmp_path)))
        assert (reject.row, reject.reason) == (2, "no_image")
        assert "00000.tar" in reject.detail

    def test_empty_caption_is_rejected_alone(self, tmp_path: Path) -> None:
        rejects = rejects_of(opened(pack(shard(0, caption=[None, "b", "c"]), "directory", tmp_path)))
        assert [(reject.row, reject.reason) for reject in rejects] == [(1, "empty_caption"), (2, "image_failed")]

    def test_other_caption_column_can_be_named(self, tmp_path: Path) -> None:
        source = opened(pack(shard(0, alt=["x", "y", "z"]), "directory", tmp_path), caption_column="alt")
        assert next(item for item in source.rows()).caption == "x"  # type: ignore[union-attr]

    def test_row_without_url_is_named_by_its_key(self, tmp_path: Path) -> None:
        source = opened(pack(shard(0, url=["", None, "nonsense"]), "directory", tmp_path))
        urls = [item.url for item in source.rows() if item not in rejects_of(source)]  # type: ignore[union-attr]
        assert urls == ["member:00000/000000000", "member:00000/000000002"]


class TestFind:
    def test_shard_without_its_table_is_named(self, tmp_path: Path) -> None:
        members = shard(0) | shard(1)
        del members["00001.parquet"]
        with pytest.raises(FileError, match=r"00001\.tar stand alone"):
            opened(pack(members, "directory", tmp_path))

    def test_unknown_column_is_named_with_those_that_exist(self, tmp_path: Path) -> None:
        with pytest.raises(FileError, match=r"'nothing'.*error_message"):
            opened(pack(shard(0), "directory", tmp_path), caption_column="nothing")

    def test_broken_table_is_a_file_error(self, tmp_path: Path) -> None:
        members = shard(0) | {"00000.parquet": b"PAR1 nothing PAR1"}
        with pytest.raises(FileError, match=r"00000\.parquet is no readable Parquet"):
            opened(pack(members, "directory", tmp_path))

    def test_tars_can_be_read_as_webdataset(self, tmp_path: Path) -> None:
        source = opened(pack(shard(0), "tar", tmp_path), input_format="webdataset")
        rejects = rejects_of(source)
        assert {reject.reason for reject in rejects} == {"broken_json"}
        assert len(rejects) == 2

    def test_pairs_are_all_there_when_nothing_failed(self, tmp_path: Path) -> None:
        members = shard(0)
        members["00000.parquet"] = parquet(key=["000000000", "000000002"], text=["a", "b"])
        assert [pair.caption for pair in pairs_of(opened(pack(members, "zip", tmp_path)))] == ["a", "b"]
