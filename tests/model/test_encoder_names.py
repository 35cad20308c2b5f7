"""Encoders by name: what can be written, and what a wrong one is told."""

import pytest

from model.encoders.base import EncoderError, load_encoder
from model.encoders.lite import LiteEncoder
from model.options.base import ConfigError
from model.options.encoders import EncoderName, check_encoder_name, parse_encoder


class TestParseEncoder:
    @pytest.mark.parametrize(
        ("name", "parts"),
        [
            ("lite", ("lite", "", "")),
            ("precomputed", ("precomputed", "", "")),
            ("open_clip:ViT-B-32:openai", ("open_clip", "ViT-B-32", "openai")),
            ("open_clip:RN50:/weights/a:b.pt", ("open_clip", "RN50", "/weights/a:b.pt")),
        ],
    )
    def test_parts_of_a_good_name(self, name: str, parts: tuple[str, str, str]) -> None:
        assert parse_encoder(name) == EncoderName(*parts)

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("", "unknown encoder ''; choose one of: lite, precomputed, or open_clip:<architecture>"),
            ("clip", "unknown encoder 'clip'"),
            ("Lite", "unknown encoder 'Lite'"),
            ("lite:big", "lite has no parts after its name; write lite"),
            ("open_clip", "lacks its architecture or its weights"),
            ("open_clip:ViT-B-32", "lacks its architecture or its weights"),
            ("open_clip::openai", "lacks its architecture or its weights"),
            ("open_clip:ViT-B-32: ", "lacks its architecture or its weights"),
            ("open_clip:ViT-B-32:a\nb", "without control characters"),
            ("open_clip:ViT-B-32:" + "a" * 500, "at most 500 characters"),
        ],
    )
    def test_a_wrong_name_is_told_what_to_write(self, name: str, message: str) -> None:
        with pytest.raises(ConfigError) as caught:
            check_encoder_name(name)
        assert caught.value.field == "encoder"
        assert message in caught.value.message


class TestLoadEncoder:
    def test_lite_is_loaded(self) -> None:
        assert isinstance(load_encoder("lite"), LiteEncoder)

    def test_unknown_name_lists_the_choices(self) -> None:
        with pytest.raises(EncoderError, match="unknown encoder 'clip'; choose one of: lite"):
            load_encoder("clip")

    def test_precomputed_is_not_for_images(self) -> None:
        with pytest.raises(EncoderError, match="the features come with the upload"):
            load_encoder("precomputed")
