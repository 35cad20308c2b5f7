"""What the networks read: standardised features and numbered words."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import model.inputs
from model.errors import TrainingError
from model.inputs import FeatureReader, Side, WordReader, load_reader
from model.words import END, START, UNKNOWN, Vocabulary, split

TEXTS = ["A red dog.", "A dog, a cat and a bird", "two birds", "a red bird runs"]
CPU = torch.device("cpu")


def rows_of(features: np.ndarray) -> np.ndarray:
    return np.arange(len(features), dtype=np.int64)


class TestFeatureReader:
    def test_centres_and_keeps_the_strongest_components(self) -> None:
        rng = np.random.default_rng(0)
        features = (rng.normal(size=(500, 6)) * [5, 3, 1, 0.1, 0.1, 0.1] + 7).astype(np.float32)
        (out,) = FeatureReader.fit(features, is_pooled=True, components=3)(features, rows_of(features))
        assert out.shape == (500, 3)
        assert out.mean(dim=0).abs().max() < 1e-4
        assert out.std(dim=0).tolist() == sorted(out.std(dim=0).tolist(), reverse=True)
        assert out.pow(2).mean().item() == pytest.approx(1.0, abs=0.01)

    def test_is_a_function_of_the_data(self) -> None:
        features = np.random.default_rng(1).normal(size=(200, 8)).astype(np.float16)
        first, second = (FeatureReader.fit(data, True, 4) for data in (features, features.copy()))
        assert torch.equal(first.basis, second.basis)

    def test_keeps_all_when_there_are_fewer(self) -> None:
        features = np.random.default_rng(2).normal(size=(100, 5)).astype(np.float32)
        assert FeatureReader.fit(features, is_pooled=True, components=256).width == 5

    @pytest.mark.parametrize("is_pooled", [True, False])
    def test_constant_features_stay_finite(self, is_pooled: bool) -> None:
        features = np.ones((80, 4), dtype=np.float32)
        (out,) = FeatureReader.fit(features, is_pooled, 4)(features, rows_of(features))
        assert torch.isfinite(out).all()

    def test_regions_keep_their_width_and_get_one_scale(self) -> None:
        features = np.random.default_rng(3).normal(2.0, 5.0, size=(300, 7, 6)).astype(np.float32)
        reader = FeatureReader.fit(features, is_pooled=False, components=2)
        (out,) = reader(features, rows_of(features))
        assert out.shape == (300, 7, 6)
        assert reader.width == 6
        assert out.std().item() == pytest.approx(1.0, abs=0.02)

    def test_pooled_vectors_serve_as_one_region_and_regions_are_averaged_for_pooled_backbones(self) -> None:
        pooled = np.random.default_rng(4).normal(size=(90, 6)).astype(np.float32)
        (one,) = FeatureReader.fit(pooled, is_pooled=False, components=6)(pooled, rows_of(pooled))
        assert one.shape == (90, 1, 6)
        regions = np.repeat(pooled[:, None], 5, axis=1)
        (mean,) = FeatureReader.fit(regions, is_pooled=True, components=6)(regions, rows_of(regions))
        (direct,) = FeatureReader.fit(pooled, is_pooled=True, components=6)(pooled, rows_of(pooled))
        torch.testing.assert_close(mean, direct, atol=1e-4, rtol=1e-4)

    def test_other_shapes_are_refused(self) -> None:
        with pytest.raises(TrainingError, match="3-d"):
            FeatureReader.fit(np.zeros((70, 2, 2, 2), dtype=np.float32), True, 4)

    def test_saved_reader_reads_the_same(self) -> None:
        features = np.random.default_rng(5).normal(size=(100, 5)).astype(np.float32)
        reader = FeatureReader.fit(features, True, 3)
        again = load_reader(reader.state())
        assert torch.equal(reader(features, rows_of(features))[0], again(features, rows_of(features))[0])


class TestWordReader:
    def test_pads_to_the_longest_and_tells_lengths(self) -> None:
        reader = WordReader(Vocabulary.build(TEXTS, 1).words, longest=10)
        tokens, lengths = reader(TEXTS, np.array([2, 0]))
        assert tokens.shape == (2, 6)  # start, a, red, dog, ., end
        assert lengths.tolist() == [4, 6]
        assert tokens[0, 4:].tolist() == [0, 0]

    def test_saved_reader_reads_the_same(self) -> None:
        reader = WordReader(Vocabulary.build(TEXTS, 1).words, longest=3)
        again = load_reader(reader.state())
        assert torch.equal(reader(TEXTS, np.arange(4))[0], again(TEXTS, np.arange(4))[0])


class TestVocabulary:
    def test_most_frequent_word_comes_first_and_rare_ones_are_unknown(self) -> None:
        vocabulary = Vocabulary.build(TEXTS, least_count=2)
        assert vocabulary.words[4:] == ("a", "bird", "dog", "red")
        assert vocabulary.encode("a blue dog", 10) == [START, 4, UNKNOWN, 6, END]

    def test_long_captions_are_cut(self) -> None:
        assert len(Vocabulary.build(TEXTS, 1).encode("dog " * 50, 5)) == 7

    def test_empty_caption_is_start_and_end(self) -> None:
        assert Vocabulary([]).encode("", 5) == [START, END]

    @pytest.mark.parametrize("as_object", [True, False])
    def test_is_loaded_from_a_list_or_the_form_of_the_released_data(self, tmp_path: Path, as_object: bool) -> None:
        words = ["<pad>", "<start>", "<end>", "<unk>", "dog", "cat"]
        content = {"word2idx": {word: at for at, word in enumerate(words)}, "idx": 6} if as_object else words
        path = tmp_path / "vocab.json"
        path.write_text(json.dumps(content))
        assert Vocabulary.load(path).words == tuple(words)

    def test_other_files_are_refused_by_name(self, tmp_path: Path) -> None:
        path = tmp_path / "vocab.json"
        path.write_text("[1, 2]")
        with pytest.raises(ValueError, match=r"vocab\.json"):
            Vocabulary.load(path)

    def test_words_of_any_script_are_split_from_signs(self) -> None:
        assert split("Ein Hund's Ball, кот!") == ["ein", "hund's", "ball", ",", "кот", "!"]


class TestSide:
    @pytest.mark.parametrize("kind", ["features", "words"])
    def test_gives_the_same_from_memory_and_batch_by_batch(self, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
        features = np.random.default_rng(6).normal(size=(len(TEXTS), 3)).astype(np.float32)
        source = features if kind == "features" else TEXTS
        reader = (
            FeatureReader.fit(features, True, 3)
            if kind == "features"
            else WordReader(Vocabulary.build(TEXTS, 1).words, 10)
        )
        rows = torch.tensor([2, 0])
        resident = Side(source, reader, np.arange(4), CPU)[rows]
        monkeypatch.setattr(model.inputs, "RESIDENT_BYTES", 0)
        for kept, read in zip(resident, Side(source, reader, np.arange(4), CPU)[rows], strict=True):
            assert torch.equal(kept, read)

    def test_shared_content_is_kept_once(self) -> None:
        features = np.random.default_rng(7).normal(size=(3, 4)).astype(np.float32)[[0, 1, 0, 2, 1]]
        reader = FeatureReader.fit(features, True, 4)
        side = Side(features, reader, np.array([5, 9, 5, 2, 9]), CPU)
        assert side._resident is not None
        assert len(side._resident[0]) == 3
        every = reader(features, np.arange(5))[0]
        torch.testing.assert_close(side[torch.arange(5)][0], every, atol=1e-6, rtol=1e-5)
