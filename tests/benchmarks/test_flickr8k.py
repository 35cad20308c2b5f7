"""The protocol's data: on a made-up folder of the same form, and on the real one where it is."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.protocol.flickr8k import DataError, Flickr8k
from tests.benchmarks.made_up import DEV, REGIONS, SCALE, TRAIN, make_folder


class TestTraining:
    @pytest.mark.parametrize(("is_quick", "count"), [(False, 5 * TRAIN), (True, TRAIN)])
    def test_every_caption_or_the_first_is_a_pair(self, folder: Path, is_quick: bool, count: int) -> None:
        data = Flickr8k(folder)
        pairs, is_mismatch = data.training(0.4, 0, is_quick=is_quick)
        assert len(pairs) == count == data.count(is_quick=is_quick)
        assert is_mismatch.sum() == round(0.4 * count)

    def test_features_follow_the_images_that_were_given(self, folder: Path) -> None:
        pairs, is_mismatch = Flickr8k(folder).training(0.4, 0)
        stored = np.load(folder / "image_pool1280_f16.npy").astype(np.float32)
        rows = np.arange(len(pairs))
        np.testing.assert_array_equal(pairs.images[rows], stored[pairs.image_ids])
        # A pair in place has the features of its own image, also where that is the copy of another.
        own = np.repeat(np.arange(TRAIN), 5)
        np.testing.assert_array_equal(pairs.images[rows][~is_mismatch], stored[own][~is_mismatch])
        assert (pairs.images[rows][is_mismatch] != stored[own][is_mismatch]).any(axis=1).all()

    def test_same_picture_and_same_words_share_an_id(self, folder: Path) -> None:
        pairs, _ = Flickr8k(folder).training(0.0, 0, is_quick=True)
        assert pairs.image_ids[0] == pairs.image_ids[1]
        assert len(set(pairs.image_ids)) == TRAIN - 1
        assert pairs.caption_ids[2] == pairs.caption_ids[3]
        assert len(set(pairs.caption_ids)) == TRAIN - 1
        assert pairs.texts is not None
        assert pairs.texts[2] == "the same words"

    def test_regions_are_brought_to_their_scale(self, folder: Path) -> None:
        pairs, _ = Flickr8k(folder).training(0.0, 0, is_quick=True, with_regions=True)
        stored = np.load(folder / "image_grid_pca192_int8.npy")
        assert pairs.images.shape == (TRAIN, REGIONS, 12)
        np.testing.assert_allclose(pairs.images[np.array([5, 3])], stored[[5, 3]] * np.float32(SCALE))

    def test_hard_noise_chooses_the_same_pairs(self, folder: Path) -> None:
        data = Flickr8k(folder)
        _, random = data.training(0.3, 2)
        pairs, hard = data.training(0.3, 2, is_hard=True)
        assert random.tolist() == hard.tolist()
        assert set(pairs.image_ids) <= set(range(TRAIN))


class TestUnseen:
    def test_has_all_captions_of_dev_and_no_other(self, folder: Path) -> None:
        unseen = Flickr8k(folder).unseen()
        assert unseen.images.shape[0] == DEV
        assert unseen.image_of_caption.tolist() == [image for image in range(DEV) for _ in range(5)]
        stored = np.load(folder / "caption_minilm384_f16.npy").astype(np.float32)
        np.testing.assert_array_equal(unseen.captions[np.arange(5 * DEV)], stored[5 * TRAIN :])

    def test_words_are_given_where_asked_for(self, folder: Path) -> None:
        assert Flickr8k(folder).unseen(with_words=True).captions[6] == f"picture {TRAIN + 1} seen 1 times"


class TestOpening:
    def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        (make_folder(tmp_path) / "captions.tsv").unlink()
        with pytest.raises(DataError, match=r"holds no captions\.tsv"):
            Flickr8k(tmp_path)

    def test_missing_regions_matter_only_to_who_reads_them(self, tmp_path: Path) -> None:
        (make_folder(tmp_path) / "image_grid_pca192_int8.npy").unlink()
        data = Flickr8k(tmp_path)
        assert len(data.training(0.2, 0)[0]) == 5 * TRAIN
        with pytest.raises(DataError, match="int8"):
            data.training(0.2, 0, with_regions=True)

    def test_files_of_different_length_are_refused(self, tmp_path: Path) -> None:
        file = make_folder(tmp_path) / "images.tsv"
        file.write_text("".join(file.read_text().splitlines(keepends=True)[1:]))
        with pytest.raises(DataError, match="differ in their number of images"):
            Flickr8k(tmp_path)

    def test_a_line_without_a_tab_is_named(self, tmp_path: Path) -> None:
        file = make_folder(tmp_path) / "images.tsv"
        file.write_text(file.read_text().replace("1.jpg\ttrain", "1.jpg train", 1))
        with pytest.raises(DataError, match="line 2"):
            Flickr8k(tmp_path)


class TestRealFolder:
    def test_is_read_as_its_readme_says(self, flickr8k: Path) -> None:
        data = Flickr8k(flickr8k)
        pairs, is_mismatch = data.training(0.2, 10)
        assert (len(pairs), int(is_mismatch.sum())) == (30_000, 6_000)
        assert pairs.images.shape == (30_000, 1280)
        assert pairs.captions.shape == (30_000, 384)
        quick, _ = data.training(0.2, 10, is_quick=True, with_regions=True)
        assert quick.images.shape == (6_000, 49, 192)
        assert quick.texts is not None
        assert quick.texts[0] == "A black dog is running after a white dog in the snow ."
        unseen = data.unseen()
        assert (len(unseen.images), len(unseen.captions)) == (1_000, 5_000)
