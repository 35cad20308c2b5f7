"""Pooled features with a table of captions: which caption belongs to which row is decided by a stated rule."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from model.data.rows import FileError, Pair
from model.data.source import ImageSource, Source
from tests.model.folders.making import CONTAINERS, npy, opened, pack, pairs_of, rejects_of

FEATURES = npy(np.arange(6, dtype=np.float32).reshape(3, 2))


def video(tmp_path: Path, name: str, text: str, container: str = "directory") -> Source:
    return opened(pack({"v/clips.npy": FEATURES, name: text.encode()}, container, tmp_path))


def places(source: Source) -> list[int]:
    return [int(pair.place or "") for pair in pairs_of(source)]


class TestRows:
    @pytest.mark.parametrize("container", CONTAINERS)
    def test_lines_of_a_text_belong_in_order(self, tmp_path: Path, container: str) -> None:
        source = video(tmp_path, "v/caps.txt", "a\nb\tb\n\tc\n", container)
        assert (source.format, source.images) == ("video", ImageSource.FEATURES)
        assert [pair.caption for pair in pairs_of(source)] == ["a", "b\tb", "\tc"]
        assert places(source) == [0, 1, 2]
        assert source.describe()["rows_belong_by"] == "order of lines, 1 for each row"
        np.testing.assert_array_equal(source.features().images[np.array([2])], [[4, 5]])

    def test_several_lines_for_each_row(self, tmp_path: Path) -> None:
        assert places(video(tmp_path, "caps.txt", "a\nb\nc\nd\ne\nf\n")) == [0, 0, 1, 1, 2, 2]

    def test_index_column_names_the_row(self, tmp_path: Path) -> None:
        source = video(tmp_path, "caps.tsv", "caption\tindex\tsource\nx\t2\tweb\ny\t0\tweb\n")
        (first, second) = pairs_of(source)
        assert (first.row, first.caption, first.place, first.extra) == (2, "x", "2", '{"source": "web"}')
        assert (second.place, second.url) == ("0", "member:clips/0")
        assert source.describe()["rows_belong_by"] == "index column"

    def test_index_without_a_header(self, tmp_path: Path) -> None:
        assert places(video(tmp_path, "caps.tsv", "2\ta\n0\tb\n2\tc\n0\td\n")) == [2, 0, 2, 0]

    def test_ids_count_in_order_of_appearance(self, tmp_path: Path) -> None:
        source = video(tmp_path, "caps.csv", 'video_id,caption\nv7,"a, b"\nv7,c\nv2,d\nv9,e\n')
        assert places(source) == [0, 0, 1, 2]
        assert [pair.url for pair in pairs_of(source)][2:] == ["member:clips/v2", "member:clips/v9"]
        assert pairs_of(source)[0].caption == "a, b"

    def test_index_that_names_no_row_is_rejected(self, tmp_path: Path) -> None:
        source = video(tmp_path, "caps.tsv", "index\tcaption\n0\ta\n3\tb\n-1\tc\n1\t\n1\td\te\n2\tf\n")
        found = [(reject.row, reject.reason) for reject in rejects_of(source)]
        assert found == [(3, "no_features"), (4, "no_features"), (5, "empty_caption"), (6, "too_many_columns")]
        assert [item.place for item in source.rows() if isinstance(item, Pair)] == ["0", "2"]

    def test_compressed_captions_are_read(self, tmp_path: Path) -> None:
        members = {"clips.npy": FEATURES, "caps.tsv.gz": gzip.compress(b"0\ta\n1\tb\n")}
        assert places(opened(pack(members, "tar", tmp_path))) == [0, 1]

    def test_counts_that_do_not_fit_are_named(self, tmp_path: Path) -> None:
        with pytest.raises(FileError, match=r"4 captions with 4 ids.*3 rows"):
            video(tmp_path, "caps.tsv", "a\tx\nb\tx\nc\tx\nd\tx\n")

    def test_caption_column_can_be_named(self, tmp_path: Path) -> None:
        members = {"clips.npy": FEATURES, "caps.tsv": b"index\talt\tcaption\n1\tyes\tno\n"}
        source = opened(pack(members, "directory", tmp_path), caption_column="alt")
        assert pairs_of(source)[0].caption == "yes"
