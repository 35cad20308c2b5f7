"""The encoder `lite` with its real weights: fast tower equals slow tower, and both equal the reference."""

import socket
import string
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from model.encoders import efficientnet, minilm
from model.encoders.base import Encoder, EncoderError, load_encoder
from model.encoders.images import open_image
from model.encoders.lite import LiteEncoder
from model.encoders.torchvision_shim import make_torchvision_importable

FLICKR = Path(__file__).parents[3] / "shared" / "data" / "flickr8k"
needs_flickr = pytest.mark.skipif(not FLICKR.is_dir(), reason="the Flickr8k data is not at ../shared/data/flickr8k")


@pytest.fixture(scope="module")
def encoder() -> Iterator[Encoder]:
    """The real thing, with no way to the network: all of it must come from the installed packages."""

    def refuse(*_: object) -> None:
        raise AssertionError("the encoder tried to reach the network")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", refuse)
        patch.setattr(socket, "getaddrinfo", refuse)
        yield load_encoder("lite", threads=2)


@pytest.fixture(scope="module")
def pictures() -> list[Image.Image]:
    """Smooth random pictures of several sizes."""
    rng = np.random.default_rng(0)
    sizes = [(224, 224), (300, 200), (64, 500), (224, 224), (40, 40)]
    return [Image.fromarray(rng.integers(0, 256, (6, 6, 3), np.uint8)).resize(size) for size in sizes]


def mean_cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.mean((a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)))


class TestIdentity:
    def test_can_name_a_folder_and_stays_the_same(self, encoder: Encoder) -> None:
        assert encoder.identity.startswith("lite-")
        assert set(encoder.identity) <= set(string.ascii_lowercase + string.digits + "-")
        assert LiteEncoder().identity == encoder.identity

    def test_changes_with_the_preprocessing(self, encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(efficientnet, "RECIPE", "another")
        assert LiteEncoder().identity != encoder.identity

    def test_changes_with_the_weights(self, encoder: Encoder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        other = tmp_path / "weights"
        other.write_bytes(b"other weights")
        monkeypatch.setattr(efficientnet, "weights_file", lambda: other)
        assert LiteEncoder().identity != encoder.identity


class TestEncodeImages:
    def test_fast_tower_equals_the_network_in_torch(self, encoder: Encoder, pictures: list[Image.Image]) -> None:
        with torch.inference_mode():
            network = efficientnet.PooledEfficientNet().eval()
            expected = network(torch.from_numpy(efficientnet.pixels_of(pictures))).numpy()
        found = encoder.encode_images(pictures)
        assert found.dtype == np.float32
        assert found.shape == (len(pictures), encoder.image_width)
        assert np.linalg.norm(found - expected) / np.linalg.norm(expected) < 1e-4

    def test_a_picture_does_not_depend_on_its_batch(self, encoder: Encoder, pictures: list[Image.Image]) -> None:
        alone = np.concatenate([encoder.encode_images([picture]) for picture in pictures])
        np.testing.assert_allclose(encoder.encode_images(pictures), alone, rtol=1e-3, atol=1e-4)

    def test_preparing_ahead_changes_nothing(self, encoder: Encoder, pictures: list[Image.Image]) -> None:
        prepared = [encoder.prepare_image(picture) for picture in pictures]
        assert {picture.size for picture in prepared} == {(224, 224)}
        assert np.array_equal(encoder.encode_images(prepared), encoder.encode_images(pictures))

    def test_nothing_in_nothing_out(self, encoder: Encoder) -> None:
        assert encoder.encode_images([]).shape == (0, encoder.image_width)

    def test_loading_the_weights_prints_nothing(self, capfd: pytest.CaptureFixture[str]) -> None:
        efficientnet.PooledEfficientNet()
        assert capfd.readouterr() == ("", "")

    @needs_flickr
    def test_reproduces_the_reference_features(self, encoder: Encoder) -> None:
        rows = {line.split("\t")[0]: i for i, line in enumerate((FLICKR / "images.tsv").read_text().splitlines())}
        paths = sorted((FLICKR / "images").iterdir())[:8]
        found = encoder.encode_images([open_image(path.read_bytes()).image for path in paths])
        reference = np.load(FLICKR / "image_pool1280_f16.npy", mmap_mode="r")[[rows[path.name] for path in paths]]
        assert mean_cosine(found, reference.astype(np.float32)) >= 0.99


class TestEncodeRegions:
    def test_there_are_none(self, encoder: Encoder, pictures: list[Image.Image]) -> None:
        assert encoder.regions is None
        with pytest.raises(EncoderError, match="take a ViT of open_clip"):
            encoder.encode_regions(pictures)


class TestEncodeCaptions:
    def test_order_is_kept_whatever_the_lengths(self, encoder: Encoder) -> None:
        captions = ["a dog", "two small boats on a wide blue lake under the evening sun", "sun", "a red car, parked"]
        alone = np.concatenate([encoder.encode_captions([caption]) for caption in captions])
        np.testing.assert_allclose(encoder.encode_captions(captions), alone, atol=1e-5)

    def test_more_than_one_batch_is_filled_in_order(self, encoder: Encoder) -> None:
        captions = [f"picture {i} of {'many ' * (i % 7)}dogs" for i in range(minilm.BATCH + 6)]
        found = encoder.encode_captions(captions)
        for i in (0, 1, minilm.BATCH, minilm.BATCH + 5):
            np.testing.assert_allclose(found[i : i + 1], encoder.encode_captions([captions[i]]), atol=1e-5)

    def test_vectors_have_length_one_also_for_odd_captions(self, encoder: Encoder) -> None:
        found = encoder.encode_captions(["a dog", "", "👩‍👩‍👧 עברית", "word " * 5_000])
        assert found.shape == (4, encoder.caption_width)
        assert found.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)

    def test_like_meanings_are_closer(self, encoder: Encoder) -> None:
        dog, puppy, car = encoder.encode_captions(["a dog on grass", "a puppy on a meadow", "a red sports car"])
        assert dog @ puppy > dog @ car + 0.2

    def test_threads_of_torch_are_left_as_they_were(self, encoder: Encoder) -> None:
        before = torch.get_num_threads()
        try:
            torch.set_num_threads(3)
            encoder.encode_captions(["a dog"])
            assert torch.get_num_threads() == 3
        finally:
            torch.set_num_threads(before)

    def test_nothing_in_nothing_out(self, encoder: Encoder) -> None:
        assert encoder.encode_captions([]).shape == (0, encoder.caption_width)

    @needs_flickr
    def test_reproduces_the_reference_features(self, encoder: Encoder) -> None:
        with (FLICKR / "captions.tsv").open(encoding="utf-8") as file:
            captions = [next(file).rstrip("\n").split("\t")[1] for _ in range(8)]
        reference = np.load(FLICKR / "caption_minilm384_f16.npy", mmap_mode="r")[:8]
        assert mean_cosine(encoder.encode_captions(captions), reference.astype(np.float32)) >= 0.999


class TestMakeTorchvisionImportable:
    def test_torchvision_can_be_imported_and_twice_is_harmless(self) -> None:
        make_torchvision_importable()
        make_torchvision_importable()
        torchvision = pytest.importorskip("torchvision")
        assert torchvision.__version__
