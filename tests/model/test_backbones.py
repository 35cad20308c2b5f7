"""What every backbone promises, whatever it is made of."""

from typing import Any

import pytest
import torch

from model.backbones.base import Items, Matcher
from model.backbones.registry import BACKBONES
from model.config import BACKBONE_CONFIGS
from model.words import END, PAD, START

VOCABULARY = 20
SMALL: dict[str, dict[str, Any]] = {
    "head": {"hidden_size": 16, "output_size": 8},
    "gated": {"output_size": 8},
    "vse_infinity": {"word_size": 6, "embed_size": 8, "hidden_size": 10, "position_size": 4},
    "scan": {"word_size": 6, "embed_size": 8},
    "sgr": {"word_size": 6, "embed_size": 8, "similarity_size": 5},
    "saf": {"word_size": 6, "embed_size": 8, "similarity_size": 5},
    "sgraf": {"word_size": 6, "embed_size": 8, "similarity_size": 5},
}
READERS = [name for name, kind in BACKBONE_CONFIGS.items() if kind.reads_words]
LENGTHS = [5, 3, 7, 3, 4]


def make(name: str, width: int = 6, **options: Any) -> Matcher:
    kind = BACKBONE_CONFIGS[name]
    torch.manual_seed(0)
    network = BACKBONES[name](kind(**(SMALL[name] | options)), width, VOCABULARY if kind.reads_words else 9)
    return network.eval()


def make_captions(lengths: list[int], padded_to: int = 0) -> Items:
    rows = torch.full((len(lengths), max(*lengths, padded_to)), PAD)
    generator = torch.Generator().manual_seed(1)
    for row, length in zip(rows, lengths, strict=True):
        row[:length] = torch.randint(4, VOCABULARY, (length,), generator=generator)
        row[0], row[length - 1] = START, END
    return rows, torch.tensor(lengths)


def make_items(
    name: str, images: int = 4, regions: int = 5, width: int = 6, lengths: list[int] = LENGTHS
) -> tuple[Items, Items]:
    generator = torch.Generator().manual_seed(2)
    kind = BACKBONE_CONFIGS[name]
    shape = (images, regions, width) if kind.reads_regions else (images, width)
    seen = torch.randn(*shape, generator=generator)
    return (seen,), make_captions(lengths) if kind.reads_words else (torch.randn(5, 9, generator=generator),)


def gradients(network: Matcher, images: Items, captions: Items) -> list[torch.Tensor]:
    """Of a sum with different weights, so that no two cells can stand for each other."""
    scores = network(images, captions)
    network.zero_grad()
    (scores * torch.linspace(1.0, 2.0, scores.numel()).view_as(scores)).sum().backward()
    return [weight.grad.clone() for weight in network.parameters() if weight.grad is not None]


class TestRegistry:
    def test_every_backbone_with_options_can_be_made_and_says_the_same_of_itself(self) -> None:
        assert set(BACKBONES) == set(BACKBONE_CONFIGS) == set(SMALL)
        for name, kind in BACKBONE_CONFIGS.items():
            assert make(name).gives_vectors == kind.gives_vectors


@pytest.mark.parametrize("name", BACKBONES)
class TestMatcher:
    def test_compares_every_image_with_every_caption_in_range(self, name: str) -> None:
        network = make(name)
        images, captions = make_items(name)
        raw = network.compare(network.encode_images(images), network.encode_captions(captions))
        similarity, signed = network.similarity(raw), network.signed(raw)
        assert similarity.shape == signed.shape == (4, 5)
        assert similarity.abs().max() <= 1 + 1e-5
        assert signed.abs().max() <= 1 + 1e-5
        assert torch.equal(similarity, network(images, captions))
        assert similarity.std() > 0

    def test_score_of_a_pair_does_not_depend_on_its_batch(self, name: str) -> None:
        network = make(name)
        (seen,), captions = make_items(name)
        alone = network((seen[2:3],), tuple(part[1:2] for part in captions))
        torch.testing.assert_close(network((seen,), captions)[2:3, 1:2], alone)

    def test_encoded_items_come_one_by_one(self, name: str) -> None:
        """A process of several encodes its share only; joined, the shares are the batch."""
        network = make(name)
        images, captions = make_items(name)
        for encode, items in ((network.encode_images, images), (network.encode_captions, captions)):
            shares = [encode(tuple(part[rows] for part in items)) for rows in (slice(0, 2), slice(2, None))]
            for first, second, whole in zip(*shares, encode(items), strict=True):
                torch.testing.assert_close(torch.cat([first, second]), whole)

    def test_training_leaves_its_inputs_as_they_are(self, name: str) -> None:
        reads_words = BACKBONE_CONFIGS[name].reads_words
        drops: dict[str, Any] = {"region_dropout": 0.4, "word_dropout": 0.5} if reads_words else {}
        network = make(name, **drops).train()
        images, captions = make_items(name)
        before = [part.clone() for part in images + captions]
        for _ in range(5):
            network(images, captions).sum().backward()
        assert all(torch.equal(old, new) for old, new in zip(before, images + captions, strict=True))

    def test_every_weight_learns(self, name: str) -> None:
        network = make(name)
        found = gradients(network, *make_items(name))
        assert len(found) == len(list(network.parameters()))
        assert all(torch.isfinite(gradient).all() for gradient in found)
        assert sum(bool((gradient != 0).any()) for gradient in found) >= 0.9 * len(found)

    def test_gradient_is_that_of_the_scores(self, name: str) -> None:
        network = make(name).double()
        (seen,), captions = make_items(name, images=2, regions=3)
        captions = tuple(part[:2].double() if part.is_floating_point() else part[:2] for part in captions)
        seen = seen.double().requires_grad_()
        assert torch.autograd.gradcheck(lambda some: network((some,), captions), (seen,))


@pytest.mark.parametrize("name", [name for name, kind in BACKBONE_CONFIGS.items() if kind.gives_vectors])
class TestVectors:
    def test_vectors_have_length_one(self, name: str) -> None:
        network = make(name)
        images, captions = make_items(name)
        (seen,), (read,) = network.encode_images(images), network.encode_captions(captions)
        torch.testing.assert_close(torch.cat([seen, read]).norm(dim=1), torch.ones(9))
        torch.testing.assert_close(network(images, captions), seen @ read.T)


@pytest.mark.parametrize("name", READERS)
class TestRegionsAndWords:
    @pytest.mark.parametrize(("regions", "width"), [(1, 6), (5, 3), (49, 12)])
    def test_any_number_and_width_of_regions_trains(self, name: str, regions: int, width: int) -> None:
        network = make(name, width).train()
        scores = network(*make_items(name, regions=regions, width=width))
        scores.sum().backward()
        assert scores.shape == (4, 5)
        assert torch.isfinite(scores).all()
        assert all(torch.isfinite(weight.grad).all() for weight in network.parameters() if weight.grad is not None)

    def test_more_padding_changes_nothing(self, name: str) -> None:
        network = make(name)
        images, captions = make_items(name)
        longer = make_captions(LENGTHS, padded_to=12)
        torch.testing.assert_close(network(images, captions), network(images, longer))
        for short, padded in zip(gradients(network, images, captions), gradients(network, images, longer), strict=True):
            torch.testing.assert_close(short, padded)

    def test_order_of_regions_does_not_matter(self, name: str) -> None:
        network = make(name)
        (seen,), captions = make_items(name)
        torch.testing.assert_close(network((seen,), captions), network((seen.flip(1),), captions))
