"""Run options: defaults, JSON in and out, and every way a request can be wrong."""

import json
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields, replace

import pytest

from model.config import (
    BACKBONE_CONFIGS,
    METHOD_CONFIGS,
    ConfigError,
    CRCLConfig,
    NCRConfig,
    RunConfig,
    config_hash,
    parse_run_config,
    run_config_to_dict,
)

KINDS = [RunConfig, *METHOD_CONFIGS.values(), *BACKBONE_CONFIGS.values()]


class TestParseRunConfig:
    def test_nothing_given_is_the_default(self) -> None:
        assert parse_run_config({}) == RunConfig()

    def test_method_brings_its_own_options(self) -> None:
        config = parse_run_config({"method": "ncr", "seed": 1, "method_options": {"warmup_epochs": 3}})
        assert config.method_options == NCRConfig(warmup_epochs=3)
        assert config.seed == 1

    def test_lists_become_tuples(self) -> None:
        config = parse_run_config({"method": "crcl", "method_options": {"piece_epochs": [2, 3]}})
        assert config.method_options == CRCLConfig(piece_epochs=(2, 3))

    def test_whole_number_is_a_fine_float(self) -> None:
        given = parse_run_config({"gradient_clip": 2})
        assert config_hash(given) == config_hash(parse_run_config({"gradient_clip": 2.0}))

    @pytest.mark.parametrize(
        ("options", "field", "message"),
        [
            ({"method": "magic"}, "method", "crcl, ncr"),
            ({"method": ["ncr"]}, "method", "crcl, ncr"),
            ({"backbone": "vit"}, "backbone", "head"),
            ({"encoder": "clip"}, "encoder", "lite"),
            ({"encoder": "open_clip:ViT-B-32"}, "encoder", "weights"),
            ({"encoder": 3}, "encoder", "text"),
            ({"regions": True}, "regions", "vse_infinity"),
            ({"detector": 3}, "detector", "text"),
            ({"detector": "street.onnx"}, "detector", "whole path of an ONNX file"),
            ({"detector": "/models/street.pt"}, "detector", "whole path of an ONNX file"),
            ({"detector": "/models/.onnx"}, "detector", "whole path of an ONNX file"),
            ({"detector": "/models/a\0b.onnx"}, "detector", "control characters"),
            ({"detector": f"/{'a' * 1000}.onnx"}, "detector", "at most 1000"),
            ({"speed": 3}, "speed", "choose from method"),
            (
                {"method": "crcl", "method_options": {"warmup_epochs": 3}},
                "method_options.warmup_epochs",
                "piece_epochs",
            ),
            ({"backbone_options": {"width": 3}}, "backbone_options.width", "hidden_size"),
            ({"seed": True}, "seed", "whole number"),
            ({"seed": "3"}, "seed", "whole number"),
            ({"seed": 1.0}, "seed", "whole number"),
            ({"seed": None}, "seed", "whole number"),
            ({"seed": -1}, "seed", "between 0 and"),
            ({"networks": 3}, "networks", "between 1 and 2"),
            ({"gradient_clip": float("nan")}, "gradient_clip", "between"),
            ({"gradient_clip": "2"}, "gradient_clip", "number"),
            ({"gradient_clip": False}, "gradient_clip", "number"),
            ({"method": "crcl", "method_options": {"momentum": 1.5}}, "method_options.momentum", "between 0 and 0.999"),
            ({"method": "crcl", "method_options": {"piece_epochs": []}}, "method_options.piece_epochs", "one or more"),
            ({"method": "crcl", "method_options": {"piece_epochs": 4}}, "method_options.piece_epochs", "list"),
            (
                {"method": "crcl", "method_options": {"piece_epochs": [4, 0]}},
                "method_options.piece_epochs",
                "between 1",
            ),
            (
                {"method": "crcl", "method_options": {"piece_epochs": [4, "2"]}},
                "method_options.piece_epochs",
                "whole number",
            ),
            ({"method_options": None}, "method_options", "object"),
            ({"method_options": [1]}, "method_options", "object"),
            ({"method": "ncr", "method_options": {"soft_margin": 1}}, "method_options.soft_margin", "linear"),
        ],
    )
    def test_wrong_option_names_field_and_choices(self, options: dict[str, object], field: str, message: str) -> None:
        with pytest.raises(ConfigError) as caught:
            parse_run_config(options)
        assert caught.value.field == field
        assert message in caught.value.message

    def test_not_an_object_is_refused(self) -> None:
        with pytest.raises(ConfigError, match="object"):
            parse_run_config([("seed", 1)])  # type: ignore[arg-type]


class TestRunConfig:
    def test_cannot_be_changed(self) -> None:
        with pytest.raises(FrozenInstanceError):
            RunConfig().seed = 3  # type: ignore[misc]

    def test_options_of_another_method_are_refused(self) -> None:
        with pytest.raises(ConfigError, match="NCRConfig"):
            RunConfig(method="ncr")

    @pytest.mark.parametrize("kind", KINDS)
    def test_every_field_has_a_help_text(self, kind: type) -> None:
        assert all(item.metadata["help"].endswith(".") for item in fields(kind))


class TestRunConfigToDict:
    @pytest.mark.parametrize("method", METHOD_CONFIGS)
    def test_survives_json(self, method: str) -> None:
        config = parse_run_config({"method": method, "seed": 7, "batch_size": 64})
        assert parse_run_config(json.loads(json.dumps(run_config_to_dict(config)))) == config


class TestConfigHash:
    def test_same_options_same_hash(self) -> None:
        assert config_hash(RunConfig()) == config_hash(parse_run_config(run_config_to_dict(RunConfig())))

    def test_a_detector_changes_nothing_that_is_trained(self) -> None:
        given = parse_run_config({"detector": "/models/street.onnx"})
        assert given != RunConfig()
        assert config_hash(given) == config_hash(RunConfig())

    @pytest.mark.parametrize("change", [{"seed": 1}, {"method": "crcl", "method_options": CRCLConfig(momentum=0.7)}])
    def test_other_options_other_hash(self, change: dict[str, object]) -> None:
        assert config_hash(replace(RunConfig(), **change)) != config_hash(RunConfig())  # type: ignore[arg-type]


class TestImport:
    def test_needs_neither_torch_nor_numpy(self) -> None:
        check = "import sys, model.config; sys.exit(bool({'torch', 'numpy'} & set(sys.modules)))"
        assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
