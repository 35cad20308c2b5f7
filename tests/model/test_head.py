"""The head backbone and its standardisation."""

import numpy as np
import pytest
import torch

from model.backbones.head import Head, fit_standard
from model.config import HeadConfig


class TestFitStandard:
    def test_centres_and_keeps_the_strongest_components(self) -> None:
        rng = np.random.default_rng(0)
        features = rng.normal(size=(500, 6)).astype(np.float32) * [5, 3, 1, 0.1, 0.1, 0.1] + 7
        out = fit_standard(features, 3)(torch.from_numpy(features.astype(np.float32)))
        assert out.shape == (500, 3)
        assert out.mean(dim=0).abs().max() < 1e-4
        assert out.std(dim=0).tolist() == sorted(out.std(dim=0).tolist(), reverse=True)
        assert out.pow(2).mean().item() == pytest.approx(1.0, abs=0.01)

    def test_is_a_function_of_the_data(self) -> None:
        features = np.random.default_rng(1).normal(size=(200, 8)).astype(np.float16)
        first, second = fit_standard(features, 4), fit_standard(features.copy(), 4)
        assert torch.equal(first.basis, second.basis)

    def test_keeps_all_when_there_are_fewer(self) -> None:
        features = np.random.default_rng(2).normal(size=(100, 5)).astype(np.float32)
        assert fit_standard(features, 256).basis.shape == (5, 5)

    def test_constant_features_stay_finite(self) -> None:
        standard = fit_standard(np.ones((80, 4), dtype=np.float32), 4)
        assert torch.isfinite(standard(torch.ones(3, 4))).all()


class TestHead:
    def test_gives_cosines_of_every_image_with_every_caption(self) -> None:
        torch.manual_seed(0)
        head = Head(HeadConfig(hidden_size=16, output_size=8), 12, 10).eval()
        similarity = head(torch.randn(5, 12), torch.randn(7, 10))
        assert similarity.shape == (5, 7)
        assert similarity.abs().max() <= 1 + 1e-6

    def test_encode_then_similarity_is_forward(self) -> None:
        torch.manual_seed(0)
        head = Head(HeadConfig(hidden_size=16, output_size=8), 12, 10).eval()
        images, captions = torch.randn(4, 12), torch.randn(4, 10)
        assert torch.equal(head.similarity(*head.encode(images, captions)), head(images, captions))
