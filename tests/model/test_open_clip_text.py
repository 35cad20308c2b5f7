"""The short way through text towers equals the long one, on architectures of open_clip with fewer, thinner layers."""

from typing import Any

import pytest
import torch

from model.encoders.clip_models import open_clip_package
from model.encoders.clip_text import TextTower

SMALL_IMAGES = {"image_size": 32, "patch_size": 32, "layers": 1, "width": 64}


def build(architecture: str) -> Any:
    """The text tower as open_clip has it, two thin layers deep; a small image tower beside it."""
    package = open_clip_package()
    config = package.get_model_config(architecture)
    is_custom = config.pop("custom_text", False)
    is_coca = "multimodal_cfg" in config
    config["vision_cfg"] = SMALL_IMAGES | {"output_tokens": is_coca}
    config["text_cfg"] |= {"layers": 2, "width": 64, "heads": 2, "vocab_size": 49_408}
    if is_coca:
        config["multimodal_cfg"] |= {"layers": 1, "width": 64, "heads": 2}
    torch.manual_seed(0)
    kind = package.CoCa if is_coca else package.CustomTextCLIP if is_custom else package.CLIP
    return kind(**config).eval()


def made_up_tokens(network: Any, end: int, pad: int) -> torch.Tensor:
    """Words below the end token, the end, then padding; captions of many lengths, one as long as can be."""
    tower = network.text if hasattr(network, "text") else network
    context = tower.context_length
    tokens = torch.randint(3, 30_000, (12, context), generator=torch.Generator().manual_seed(0))
    for row, length in enumerate([2, 3, 5, 4, 9, 2, 7, 12, 6, 3, 20, context]):
        tokens[row, length - 1] = end
        tokens[row, length:] = pad
    return tokens


class TestTextTower:
    @pytest.mark.parametrize(
        ("architecture", "end", "is_short"),
        [
            ("ViT-B-32", 49_407, True),  # CLIP
            ("ViT-B-32-quickgelu", 49_407, True),
            ("EVA02-B-16", 49_407, True),  # CustomTextCLIP with the same text tower
            ("ViT-H-14-worldwide", 2, True),  # reads at the token 2, not at the highest
            ("coca_ViT-B-32", 49_407, False),  # reads at a token of its own after the last place
            ("MobileCLIP-S1", 49_407, False),  # no causal mask: words see what follows
            ("ViT-B-16-SigLIP", 1, False),  # reads at the last place
        ],
    )
    @torch.inference_mode()
    def test_equals_the_tower_at_full_length(self, architecture: str, end: int, is_short: bool) -> None:
        network = build(architecture)
        tokens = made_up_tokens(network, end, pad=1 if end < 3 else 0)
        tower = TextTower(network)
        assert tower.is_short == is_short
        expected = network.encode_text(tokens, normalize=True)
        rows = slice(0, 11)  # without the longest, so that there is something to leave out
        assert (tower.encode(tokens[rows]) - expected[rows]).abs().max() < 1e-5
        assert (tower.encode(tokens) - expected).abs().max() < 1e-5
        assert (expected[0] - expected[1]).abs().max() > 1e-3

    def test_lengths_reach_to_the_end_token(self) -> None:
        network = build("ViT-B-32")
        lengths = TextTower(network).lengths(made_up_tokens(network, 49_407, 0))
        assert lengths.tolist() == [2, 3, 5, 4, 9, 2, 7, 12, 6, 3, 20, 77]

    def test_lengths_are_full_where_all_places_matter(self) -> None:
        network = build("MobileCLIP-S1")
        assert TextTower(network).lengths(torch.zeros(3, 77)).tolist() == [77, 77, 77]
