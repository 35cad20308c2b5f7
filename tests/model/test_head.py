"""The head backbone."""

import torch

from model.backbones.head import Head
from model.options.backbones import HeadConfig


def make_head() -> Head:
    torch.manual_seed(0)
    return Head(HeadConfig(hidden_size=16, output_size=8), 12, 10).eval()


class TestHead:
    def test_gives_cosines_of_every_image_with_every_caption(self) -> None:
        similarity = make_head()((torch.randn(5, 12),), (torch.randn(7, 10),))
        assert similarity.shape == (5, 7)
        assert similarity.abs().max() <= 1 + 1e-6

    def test_encoded_items_are_unit_vectors(self) -> None:
        head = make_head()
        assert head.gives_vectors
        (images,) = head.encode_images((torch.randn(4, 12),))
        (captions,) = head.encode_captions((torch.randn(4, 10),))
        torch.testing.assert_close(torch.stack([images, captions]).norm(dim=2), torch.ones(2, 4))


class TestIdentityStart:
    def test_similarity_is_that_of_the_features_before_anything_is_learned(self) -> None:
        head = Head(HeadConfig(hidden_size=16, start="identity"), 12, 12).eval()
        images, captions = torch.randn(5, 12), torch.randn(7, 12)
        expected = torch.nn.functional.cosine_similarity(images[:, None], captions[None], dim=2)
        torch.testing.assert_close(head((images,), (captions,)), expected)

    def test_learns_from_there(self) -> None:
        head = Head(HeadConfig(hidden_size=16, start="identity"), 12, 12).train()
        head((torch.randn(5, 12),), (torch.randn(5, 12),)).diagonal().sum().backward()
        assert any(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in head.parameters())
