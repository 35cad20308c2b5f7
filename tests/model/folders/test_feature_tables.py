"""clip-retrieval folders and DataComp metadata: row i of the features is row i of the tables."""

import json
from pathlib import Path

import numpy as np
import pytest

from model.data.rows import FileError, Pair
from model.data.source import ImageSource
from tests.model.folders.making import CONTAINERS, npy, npz, opened, pack, pairs_of, parquet, rejects_of

WIDTH = 4


def rows_of(start: int, count: int, sign: int = 1, dtype: str = "float32") -> np.ndarray:
    """Another value in every row."""
    return (sign * np.arange(start, start + count)[:, None] * np.ones((1, WIDTH))).astype(dtype)


def clip_retrieval(sizes: dict[int, int]) -> dict[str, bytes]:
    members, start = {}, 0
    for number, count in sorted(sizes.items()):
        members[f"out/img_emb/img_emb_{number}.npy"] = npy(rows_of(start, count))
        members[f"out/text_emb/text_emb_{number}.npy"] = npy(rows_of(start, count, -1))
        members[f"out/metadata/metadata_{number}.parquet"] = parquet(
            image_path=[f"/data/{start + row}.jpg" for row in range(count)],
            caption=[f"caption {start + row}" for row in range(count)],
        )
        start += count
    return members


def datacomp(stems: list[str], *, compressed: bool = False, with_features: bool = True) -> dict[str, bytes]:
    members = {}
    for shard, stem in enumerate(stems):
        first = 2 * shard
        members[f"{stem}.parquet"] = parquet(
            uid=[f"{first + row:032x}" for row in range(2)],
            url=[f"https://example.org/{first + row}" for row in range(2)],
            text=[f"caption {first + row}" for row in range(2)],
            clip_l14_similarity_score=[0.5, float("nan")],
        )
        if with_features:
            arrays = {
                f"{kind}_{side}": rows_of(first, 2, sign, "float16") * scale
                for kind, scale in (("b32", 1), ("l14", 10))
                for side, sign in (("img", 1), ("txt", -1))
            }
            members[f"{stem}.npz"] = npz(compressed=compressed, **arrays)
    return members


class TestClipRetrieval:
    @pytest.mark.parametrize("container", CONTAINERS)
    def test_features_and_rows_are_those_of_all_shards(self, tmp_path: Path, container: str) -> None:
        source = opened(pack(clip_retrieval({2: 3, 10: 2}), container, tmp_path))
        pairs = pairs_of(source)
        places = np.array([int(pair.place or "") for pair in pairs])
        features = source.features()
        assert (source.format, source.images) == ("clip-retrieval", ImageSource.FEATURES)
        assert [pair.caption for pair in pairs] == [f"caption {row}" for row in range(5)]
        assert pairs[4].url == "member:/data/4.jpg"
        assert features.images.shape == (5, WIDTH)
        np.testing.assert_array_equal(features.images[places[::-1]], rows_of(0, 5)[::-1])
        assert features.captions is not None
        np.testing.assert_array_equal(features.captions[places], rows_of(0, 5, -1))

    def test_text_features_may_be_missing(self, tmp_path: Path) -> None:
        members = {name: data for name, data in clip_retrieval({0: 2}).items() if "text" not in name}
        assert opened(pack(members, "directory", tmp_path)).features().captions is None

    def test_counts_that_differ_are_named(self, tmp_path: Path) -> None:
        members = clip_retrieval({0: 3}) | {"out/text_emb/text_emb_0.npy": npy(rows_of(0, 2))}
        with pytest.raises(FileError, match=r"text_emb_0\.npy has 2 rows, but .*metadata_0\.parquet has 3"):
            opened(pack(members, "directory", tmp_path))

    def test_shard_without_its_metadata_is_named(self, tmp_path: Path) -> None:
        members = clip_retrieval({0: 1, 1: 1})
        del members["out/metadata/metadata_1.parquet"]
        with pytest.raises(FileError, match=r"img_emb_1\.npy"):
            opened(pack(members, "directory", tmp_path))

    def test_pickled_array_is_refused(self, tmp_path: Path) -> None:
        pickled = npy(np.array([[None]] * 2, dtype=object), allow_pickle=True)
        members = clip_retrieval({0: 2}) | {"out/img_emb/img_emb_0.npy": pickled}
        with pytest.raises(FileError, match="pickled"):
            opened(pack(members, "tar", tmp_path))

    def test_bad_row_is_rejected_and_places_do_not_move(self, tmp_path: Path) -> None:
        members = clip_retrieval({0: 2, 1: 3})
        members["out/metadata/metadata_1.parquet"] = parquet(caption=["", "b", "c"], url=["", "https://e.org/1", ""])
        members["out/metadata/metadata_0.parquet"] = parquet(caption=["x", "y"], url=["https://e.org/0", None])
        source = opened(pack(members, "directory", tmp_path))
        (reject,) = rejects_of(source)
        assert (reject.row, reject.offset, reject.reason) == (3, 2, "empty_caption")
        assert "metadata_1.parquet row 0" in reject.detail
        assert [item.place for item in source.rows() if isinstance(item, Pair)] == ["0", "1", "3", "4"]


class TestDataComp:
    @pytest.mark.parametrize("compressed", [False, True])
    @pytest.mark.parametrize("container", CONTAINERS)
    def test_features_come_from_the_npz_of_the_same_stem(
        self, tmp_path: Path, container: str, compressed: bool
    ) -> None:
        source = opened(pack(datacomp(["b", "a"], compressed=compressed), container, tmp_path))
        pairs = pairs_of(source)
        features = source.features()
        assert (source.format, source.images) == ("datacomp", ImageSource.FEATURES)
        assert [pair.caption for pair in pairs] == [f"caption {row}" for row in (2, 3, 0, 1)]
        rows = features.images[np.arange(4)]
        np.testing.assert_array_equal(rows[:, 0], [20, 30, 0, 10])
        assert rows.dtype == np.float16
        assert features.captions is not None
        np.testing.assert_array_equal(features.captions[np.arange(4)][:, 0], [-20, -30, 0, -10])

    def test_other_features_can_be_chosen(self, tmp_path: Path) -> None:
        source = opened(pack(datacomp(["a"]), "directory", tmp_path), features="b32")
        assert source.features().images[np.arange(2)][:, 0].tolist() == [0, 1]

    def test_features_that_are_not_there_are_named(self, tmp_path: Path) -> None:
        with pytest.raises(FileError, match=r"b32_img.*no features 'h14'"):
            opened(pack(datacomp(["a"]), "directory", tmp_path), features="h14")

    def test_without_npz_it_is_a_table_over_several_files(self, tmp_path: Path) -> None:
        source = opened(pack(datacomp(["a", "b"], with_features=False), "tar", tmp_path))
        pairs = pairs_of(source)
        assert source.images is ImageSource.URLS
        assert [(pair.row, pair.url, pair.place) for pair in pairs][3] == (4, "https://example.org/3", None)
        extra = json.loads(pairs[1].extra or "")
        assert extra == {"uid": f"{1:032x}", "clip_l14_similarity_score": None}

    def test_table_row_without_a_url_is_rejected(self, tmp_path: Path) -> None:
        members = datacomp(["a"], with_features=False)
        members["b.parquet"] = parquet(url=["", "nonsense"], text=["x", "y"])
        rejects = rejects_of(opened(pack(members, "directory", tmp_path)))
        assert [(reject.row, reject.reason) for reject in rejects] == [(3, "empty_url"), (4, "not_a_url")]

    def test_missing_npz_is_named(self, tmp_path: Path) -> None:
        members = datacomp(["a", "b"])
        del members["b.npz"]
        with pytest.raises(FileError, match=r"no \.npz beside b\.parquet"):
            opened(pack(members, "directory", tmp_path))

    def test_counts_that_differ_are_named(self, tmp_path: Path) -> None:
        members = datacomp(["a"]) | {"a.npz": npz(l14_img=rows_of(0, 3), l14_txt=rows_of(0, 3))}
        with pytest.raises(FileError, match=r"a\.npz \(l14_img\) has 3 rows, but a\.parquet has 2"):
            opened(pack(members, "directory", tmp_path))
