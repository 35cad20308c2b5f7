"""The encoder open_clip with a real architecture and weights saved here: exact vectors, identity, plain errors."""

import pickle
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from model.encoders.base import Encoder, EncoderError, load_encoder
from model.encoders.clip_models import find_model, open_clip_package
from model.encoders.clip_text import CHARACTERS_PER_TOKEN

ARCHITECTURE = "ViT-S-32-alt"  # the smallest that open_clip has
CAPTIONS = ["a dog", "two small boats on a wide blue lake, under the evening sun", "", "👩‍👩‍👧 עברית", "word " * 200]


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Random ones, as half floats to take less of the disk; gone after the tests."""
    torch.manual_seed(0)
    network = open_clip_package().create_model(ARCHITECTURE)
    file = tmp_path_factory.mktemp("weights") / "random.safetensors"
    save_file({name: value.half() for name, value in network.state_dict().items()}, file)
    yield file
    file.unlink()


@pytest.fixture(scope="module")
def encoder(weights: Path) -> Encoder:
    return load_encoder(f"open_clip:{ARCHITECTURE}:{weights}", threads=2)


@pytest.fixture(scope="module")
def reference(weights: Path) -> tuple[Any, Any, Any]:
    """open_clip's own network, preprocessing and tokenizer."""
    package = open_clip_package()
    network, _, preprocess = package.create_model_and_transforms(ARCHITECTURE, str(weights))
    return network.eval(), preprocess, package.get_tokenizer(ARCHITECTURE)


@pytest.fixture(scope="module")
def pictures() -> list[Image.Image]:
    rng = np.random.default_rng(0)
    sizes = [(224, 224), (500, 375), (200, 640), (30, 40), (671, 300)]
    return [Image.fromarray(rng.integers(0, 256, (8, 8, 3), np.uint8)).resize(size) for size in sizes]


class TestEncodeImages:
    def test_equals_open_clip_with_its_own_preprocessing(
        self, encoder: Encoder, reference: tuple[Any, Any, Any], pictures: list[Image.Image]
    ) -> None:
        network, preprocess, _ = reference
        with torch.inference_mode():
            expected = network.encode_image(torch.stack([preprocess(p) for p in pictures]), normalize=True).numpy()
        found = encoder.encode_images(pictures)
        assert found.dtype == np.float32
        assert found.shape == (len(pictures), encoder.image_width)
        np.testing.assert_allclose(found, expected, atol=1e-5)

    def test_vectors_have_length_one(self, encoder: Encoder, pictures: list[Image.Image]) -> None:
        np.testing.assert_allclose(np.linalg.norm(encoder.encode_images(pictures), axis=1), 1, atol=1e-5)

    def test_preparing_ahead_changes_nothing(self, encoder: Encoder, pictures: list[Image.Image]) -> None:
        prepared = [encoder.prepare_image(picture) for picture in pictures]
        assert {picture.size for picture in prepared} == {(224, 224)}
        assert np.array_equal(encoder.encode_images(prepared), encoder.encode_images(pictures))

    def test_more_than_one_batch_is_filled_in_order(self, encoder: Encoder, pictures: list[Image.Image]) -> None:
        many = encoder.encode_images(pictures * 3)
        np.testing.assert_allclose(many[10:], encoder.encode_images(pictures), atol=1e-5)

    def test_nothing_in_nothing_out(self, encoder: Encoder) -> None:
        assert encoder.encode_images([]).shape == (0, encoder.image_width)

    def test_a_huge_picture_is_nearly_what_the_slow_way_gives(
        self, encoder: Encoder, reference: tuple[Any, Any, Any], pictures: list[Image.Image]
    ) -> None:
        huge = pictures[1].resize((2000, 1500))
        slow = huge.resize((298, 224), Image.Resampling.BICUBIC).crop((37, 0, 261, 224))
        assert np.abs(np.asarray(slow, int) - np.asarray(encoder.prepare_image(huge), int)).mean() < 1


class TestEncodeRegions:
    def test_are_the_tokens_of_the_tower(
        self, encoder: Encoder, reference: tuple[Any, Any, Any], pictures: list[Image.Image]
    ) -> None:
        network, preprocess, _ = reference
        network.visual.output_tokens = True
        try:
            with torch.inference_mode():
                _, expected = network.visual(torch.stack([preprocess(picture) for picture in pictures]))
        finally:
            network.visual.output_tokens = False
        found = encoder.encode_regions(pictures)
        assert encoder.regions == (49, 384)
        assert found.shape == (len(pictures), 49, 384)
        np.testing.assert_allclose(found, expected.numpy(), atol=1e-4)


class TestEncodeCaptions:
    def test_equals_open_clip_at_full_length(self, encoder: Encoder, reference: tuple[Any, Any, Any]) -> None:
        network, _, tokenizer = reference
        captions = CAPTIONS + [f"number {i} of {'many ' * (i % 9)}dogs" for i in range(60)]  # three batches
        with torch.inference_mode():
            expected = network.encode_text(tokenizer(captions), normalize=True).numpy()
        found = encoder.encode_captions(captions)
        assert found.shape == (len(captions), encoder.caption_width)
        assert np.abs(found - expected).max() < 1e-5

    def test_what_lies_beyond_any_token_is_not_read(self, encoder: Encoder) -> None:
        cut = 77 * CHARACTERS_PER_TOKEN
        whole, beginning = encoder.encode_captions(["a" * 60_000, "a" * cut])
        np.testing.assert_allclose(whole, beginning, atol=1e-6)

    def test_memory_of_the_tokenizer_is_bounded(self, encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
        expected = encoder.encode_captions(CAPTIONS)
        monkeypatch.setattr("model.encoders.clip_text.MAX_CACHED_WORDS", 10)
        encoder.encode_captions([f"unheard{i}of" for i in range(50)])
        np.testing.assert_allclose(encoder.encode_captions(CAPTIONS), expected, atol=1e-6)
        assert len(encoder._tokenizer._tokenizer.cache) < 50  # type: ignore[attr-defined]

    def test_nothing_in_nothing_out(self, encoder: Encoder) -> None:
        assert encoder.encode_captions([]).shape == (0, encoder.caption_width)

    def test_threads_of_torch_are_left_as_they_were(self, encoder: Encoder) -> None:
        before = torch.get_num_threads()
        try:
            torch.set_num_threads(3)
            encoder.encode_captions(["a dog"])
            assert torch.get_num_threads() == 3
        finally:
            torch.set_num_threads(before)


class TestIdentity:
    def test_can_name_a_folder_and_does_not_depend_on_where_the_file_lies(
        self, encoder: Encoder, weights: Path, tmp_path: Path
    ) -> None:
        assert encoder.identity.startswith("open_clip-vit-s-32-alt-")
        assert set(encoder.identity) <= set(string.ascii_lowercase + string.digits + "-_")
        moved = tmp_path / "other name.safetensors"
        moved.symlink_to(weights)
        assert load_encoder(f"open_clip:{ARCHITECTURE}:{moved}").identity == encoder.identity

    def test_changes_with_the_weights_the_architecture_and_the_preprocessing(self, tmp_path: Path) -> None:
        """No network is loaded for it: the files hold no weights at all."""
        one, other = tmp_path / "one.pt", tmp_path / "other.pt"
        one.write_bytes(b"one")
        other.write_bytes(b"other")
        named = [("ViT-B-32", one), ("ViT-B-32", other), ("ViT-B-32-quickgelu", one), ("ViT-B-16-SigLIP", one)]
        identities = {load_encoder(f"open_clip:{architecture}:{file}").identity for architecture, file in named}
        assert len(identities) == 4

    def test_sides_are_joint(self, encoder: Encoder) -> None:
        assert encoder.is_joint
        assert not load_encoder("lite").is_joint


class TestFindModel:
    @pytest.mark.parametrize(
        ("architecture", "tag"),
        [
            ("ViT-B-32", "laion2b_s34b_b79k"),
            ("ViT-L-14", "laion2b_s32b_b82k"),
            ("RN50-quickgelu", "cc12m"),
            ("ViT-B-16-SigLIP", "webli"),
            ("MobileCLIP-S1", "datacompdr"),
        ],
    )
    def test_preprocessing_of_a_tag_is_the_one_of_open_clip(
        self, architecture: str, tag: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        package = open_clip_package()
        monkeypatch.setattr(package, "download_pretrained", lambda _: str(tmp_path / "weights.bin"))
        found = find_model(architecture, tag)
        recipe = package.get_pretrained_cfg(architecture, tag)
        assert found.file == tmp_path / "weights.bin"
        assert (found.mean, found.std) == (recipe["mean"], recipe["std"])
        assert found.preparation.size == package.get_model_config(architecture)["vision_cfg"]["image_size"]
        assert found.preparation.filter == recipe["interpolation"]
        assert found.preparation.is_cropped == (recipe["resize_mode"] == "shortest")

    def test_a_file_is_prepared_as_the_published_weights_of_its_architecture(self, tmp_path: Path) -> None:
        file = tmp_path / "weights.pt"
        file.touch()
        siglip, openai = find_model("ViT-B-16-SigLIP", str(file)), find_model("ViT-L-14", str(file))
        assert (siglip.preparation.is_cropped, siglip.mean) == (False, (0.5, 0.5, 0.5))
        assert (openai.preparation.is_cropped, openai.mean[0]) == (True, 0.48145466)  # they differ: open_clip's default

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("vit-b32:openai", "no architecture 'vit-b32'. Did you mean: ViT-B-32"),
            ("ViT-B-32:laion2b_s34b_b79", "Did you mean: laion2b_s34b_b79k"),
            ("ViT-B-32:mine", "name it: open_clip:ViT-B-32:/path/to/weights.safetensors"),
            ("ViT-B-32:openai", "another activation than ViT-B-32 has. Write open_clip:ViT-B-32-quickgelu:openai"),
            (
                "ViT-B-32:/none/weights.pt",
                "There is no file '/none/weights.pt' with weights. To use a file of your own",
            ),
            ("ViT-B-32:/etc/passwd", "ending in .safetensors, .pt, .pth, .bin, not 'passwd'"),
            ("ViT-B-32:/none/weights.npz", "ending in .safetensors, .pt, .pth, .bin, not 'weights.npz'"),
        ],
    )
    def test_a_wrong_name_is_told_what_to_write(self, name: str, message: str) -> None:
        with pytest.raises(EncoderError) as caught:
            load_encoder(f"open_clip:{name}")
        assert message in str(caught.value)

    def test_a_download_that_fails_says_how_to_give_a_file(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(_: object) -> str:
            raise OSError("no route to host")

        monkeypatch.setattr(open_clip_package(), "download_pretrained", fail)
        with pytest.raises(EncoderError) as caught:
            load_encoder("open_clip:ViT-B-32:laion2b_s34b_b79k")
        assert "could not be downloaded: no route to host" in str(caught.value)
        assert "open_clip:ViT-B-32:/path/to/weights.safetensors" in str(caught.value)


class TestLoading:
    def test_torch_file_gives_the_same_vectors(self, encoder: Encoder, weights: Path, tmp_path: Path) -> None:
        file = tmp_path / "checkpoint.pt"
        network = encoder._network  # type: ignore[attr-defined]
        torch.save({"epoch": 3, "state_dict": {f"module.{k}": v for k, v in network.state_dict().items()}}, file)
        same = load_encoder(f"open_clip:{ARCHITECTURE}:{file}")
        assert np.array_equal(same.encode_captions(["a dog"]), encoder.encode_captions(["a dog"]))
        file.unlink()

    def test_weights_of_another_architecture_are_refused(self, weights: Path) -> None:
        with pytest.raises(EncoderError, match="could not be loaded as weights of ViT-M-32-alt"):
            load_encoder(f"open_clip:ViT-M-32-alt:{weights}").encode_captions(["a dog"])

    def test_nothing_is_unpickled(self, tmp_path: Path) -> None:
        file, trace = tmp_path / "weights.pt", tmp_path / "was here"

        class Attack:
            def __reduce__(self) -> tuple[object, ...]:
                return Path.touch, (trace,)

        file.write_bytes(pickle.dumps({"state_dict": Attack()}))
        with pytest.raises(EncoderError, match="could not be loaded as weights"):
            load_encoder(f"open_clip:{ARCHITECTURE}:{file}").encode_captions(["a dog"])
        assert not trace.exists()

    def test_a_tokenizer_that_must_be_downloaded_is_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(_: object) -> str:
            raise OSError("no route to host")

        file = tmp_path / "weights.pt"
        file.touch()
        monkeypatch.setattr(open_clip_package(), "get_tokenizer", fail)
        with pytest.raises(EncoderError, match=r"tokenizer timm/ViT-B-16-SigLIP .*\n.*HF_HOME"):
            load_encoder(f"open_clip:ViT-B-16-SigLIP:{file}").encode_captions(["a dog"])

    def test_architecture_without_patches_has_no_regions(self, tmp_path: Path) -> None:
        file = tmp_path / "weights.pt"
        file.touch()
        encoder = load_encoder(f"open_clip:RN50:{file}")
        assert encoder.regions is None
        with pytest.raises(EncoderError, match="RN50 gives no regions"):
            encoder.encode_regions([])
