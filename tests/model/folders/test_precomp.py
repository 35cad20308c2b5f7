"""The papers' feature folders: captions belong to their images, noise indices of both kinds give the truth."""

from pathlib import Path

import numpy as np
import pytest

from model.data.rows import FileError, Pair
from model.data.source import ImageSource
from tests.model.folders.making import CONTAINERS, npy, opened, pack, pairs_of, rejects_of

REGIONS, WIDTH = 3, 4


def regions(count: int, repeats: int = 1) -> bytes:
    array = np.arange(count, dtype=np.float32)[:, None, None] * np.ones((1, REGIONS, WIDTH), np.float32)
    return npy(np.repeat(array, repeats, axis=0))


def folder(images: int, each: int, **others: bytes) -> dict[str, bytes]:
    lines = "".join(f"caption {number}\n" for number in range(images * each))
    members = {"f30k_precomp/train_ims.npy": regions(images), "f30k_precomp/train_caps.txt": lines.encode()}
    return members | {f"f30k_precomp/{name.replace('__', '.')}": data for name, data in others.items()}


class TestRows:
    @pytest.mark.parametrize("container", CONTAINERS)
    def test_five_captions_share_an_image(self, tmp_path: Path, container: str) -> None:
        source = opened(pack(folder(4, 5, train_ids__txt=b"a\nb\nc\nd\n"), container, tmp_path))
        pairs = pairs_of(source)
        assert (source.format, source.images) == ("precomp", ImageSource.FEATURES)
        assert [int(pair.place or "") for pair in pairs] == [number // 5 for number in range(20)]
        assert (pairs[5].row, pairs[5].url, pairs[5].caption) == (6, "member:train/b", "caption 5")
        assert pairs[5].is_match is None
        images = source.features().images
        assert images.shape == (4, REGIONS, WIDTH)
        np.testing.assert_array_equal(images[np.array([3, 0])][:, 0, 0], [3, 0])

    def test_array_in_a_tar_is_mapped_where_it_lies(self, tmp_path: Path) -> None:
        opened(pack(folder(4, 5), "tar", tmp_path)).features()
        assert list((tmp_path / "scratch").iterdir()) == []

    def test_table_with_ids_keeps_quotes_and_names_images(self, tmp_path: Path) -> None:
        members = {"train_ims.npy": regions(3), "train_caps.tsv": b'7\t"a dog\n8\ta "cat"\r\n9\tc\n'}
        pairs = pairs_of(opened(pack(members, "directory", tmp_path)))
        assert [pair.caption for pair in pairs] == ['"a dog', 'a "cat"', "c"]
        assert [pair.url for pair in pairs] == ["member:train/7", "member:train/8", "member:train/9"]

    def test_bad_lines_are_rejected_and_places_do_not_move(self, tmp_path: Path) -> None:
        members = {"train_ims.npy": regions(4), "train_caps.tsv": b"1\ta\n2\n3\t \n4\td"}
        source = opened(pack(members, "directory", tmp_path))
        found = [(reject.row, reject.offset, reject.reason) for reject in rejects_of(source)]
        assert found == [(2, 4, "too_few_columns"), (3, 6, "empty_caption")]
        assert [item.place for item in source.rows() if isinstance(item, Pair)] == ["0", "3"]

    def test_images_stored_five_times_are_one_image(self, tmp_path: Path) -> None:
        members = folder(4, 5) | {"f30k_precomp/train_ims.npy": regions(4, repeats=5)}
        source = opened(pack(members, "directory", tmp_path))
        pairs = pairs_of(source)
        assert source.describe()["stored_repeatedly"] == 5
        assert [int(pair.place or "") for pair in pairs] == list(range(20))
        assert [pair.url for pair in pairs[4:6]] == ["member:train/0", "member:train/1"]


class TestFind:
    def test_split_is_chosen(self, tmp_path: Path) -> None:
        members = folder(2, 1, dev_ims__npy=regions(3), dev_caps__txt=b"x\ny\nz\n")
        path = pack(members, "directory", tmp_path)
        assert opened(path).describe()["split"] == "train"
        assert [pair.caption for pair in pairs_of(opened(path, split="dev"))] == ["x", "y", "z"]
        with pytest.raises(FileError, match=r"no split 'test'.*dev, train"):
            opened(path, split="test")

    def test_only_split_is_taken(self, tmp_path: Path) -> None:
        path = pack({"dev_ims.npy": regions(1), "dev_caps.txt": b"x\n"}, "zip", tmp_path)
        assert opened(path).describe()["split"] == "dev"

    @pytest.mark.parametrize("captions", [1, 7])
    def test_counts_that_do_not_fit_are_named(self, tmp_path: Path, captions: int) -> None:
        members = {"train_ims.npy": regions(3), "train_caps.txt": b"c\n" * captions}
        with pytest.raises(FileError, match=rf"{captions} captions and .* 3 images"):
            opened(pack(members, "directory", tmp_path))

    def test_ids_that_do_not_fit_are_named(self, tmp_path: Path) -> None:
        with pytest.raises(FileError, match=r"train_ids\.txt has 3 ids for 2 images with 4 captions"):
            opened(pack(folder(2, 2, train_ids__txt=b"a\nb\nc\n"), "directory", tmp_path))

    def test_empty_captions_are_a_file_error(self, tmp_path: Path) -> None:
        with pytest.raises(FileError, match="is empty"):
            opened(pack({"train_ims.npy": regions(1), "train_caps.txt": b""}, "directory", tmp_path))


class TestNoiseIndex:
    def noisy(self, tmp_path: Path, index: np.ndarray, members: dict[str, bytes]) -> list[Pair]:
        members = members | {"f30k_precomp/noise.npy": npy(index)}
        return pairs_of(opened(pack(members, "directory", tmp_path), noise_index="noise.npy"))

    def test_one_image_for_each_caption(self, tmp_path: Path) -> None:
        pairs = self.noisy(tmp_path, np.array([0, 1, 2, 1]), folder(2, 2) | {"f30k_precomp/train_ims.npy": regions(4)})
        assert [pair.is_match for pair in pairs] == [True, True, True, False]
        pairs = self.noisy(tmp_path / "b", np.array([0, 1, 1, 0]), folder(2, 2))
        assert [pair.place for pair in pairs] == ["0", "1", "1", "0"]
        assert [pair.is_match for pair in pairs] == [True, False, True, False]
        assert pairs[1].url == "member:train/1"

    def test_permutation_moves_all_captions_of_an_image(self, tmp_path: Path) -> None:
        pairs = self.noisy(tmp_path, np.array([2, 1, 0]), folder(3, 2))
        assert [pair.place for pair in pairs] == ["2", "2", "1", "1", "0", "0"]
        assert [pair.is_match for pair in pairs] == [False, False, True, True, False, False]

    def test_equal_rows_are_the_same_image(self, tmp_path: Path) -> None:
        repeated = folder(3, 2) | {"f30k_precomp/train_ims.npy": regions(3, repeats=2)}
        pairs = self.noisy(tmp_path, np.array([1, 0, 2, 4, 5, 5]), repeated)
        assert [pair.is_match for pair in pairs] == [True, True, True, False, True, True]

    @pytest.mark.parametrize("index", [np.array([0, 1, 1, 0, 2, 2]), np.array([0, 2, 1])])
    def test_index_over_distinct_images_fits_repeated_rows(self, tmp_path: Path, index: np.ndarray) -> None:
        repeated = folder(3, 2) | {"f30k_precomp/train_ims.npy": regions(3, repeats=2)}
        pairs = self.noisy(tmp_path, index, repeated)
        own = [0, 0, 1, 1, 2, 2]
        given = index if len(index) == 6 else np.repeat(index, 2)
        assert [pair.is_match for pair in pairs] == [bool(a == b) for a, b in zip(own, given, strict=True)]
        assert [int(pair.place or "") // 2 for pair in pairs] == given.tolist()

    @pytest.mark.parametrize(
        ("index", "message"),
        [
            (np.zeros(5, np.int64), r"shape \(5,\).*6 captions.*3 images"),
            (np.array([0, 1, 3]), r"0 to 3, but images are 0 to 2"),
            (np.array([0, 1, -1]), r"-1 to 1"),
            (np.zeros(3, np.float32), "float32"),
            (np.zeros((3, 1), np.int64), r"\(3, 1\)"),
        ],
    )
    def test_index_that_does_not_fit_is_refused_with_the_numbers(
        self, tmp_path: Path, index: np.ndarray, message: str
    ) -> None:
        with pytest.raises(FileError, match=message):
            self.noisy(tmp_path, index, folder(3, 2))

    def test_file_that_is_not_there_is_named_with_those_that_are(self, tmp_path: Path) -> None:
        with pytest.raises(FileError, match=r"'no\.npy'.*train_ims\.npy"):
            opened(pack(folder(2, 1), "directory", tmp_path), noise_index="no.npy")

    def test_pickled_index_is_refused(self, tmp_path: Path) -> None:
        pickled = npy(np.array([0, None], dtype=object), allow_pickle=True)
        path = pack(folder(2, 1, noise__npy=pickled), "directory", tmp_path)
        with pytest.raises(FileError, match="pickled"):
            opened(path, noise_index="noise.npy")
