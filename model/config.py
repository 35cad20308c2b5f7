"""Every option of a training run: frozen, validated where it is made, JSON in and out.

No torch and no numpy here: the web service reads its fields, help texts and ranges from this file.
The options of each method and backbone are in model/options/.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, cast

from model.options.auto import AutoConfig
from model.options.backbones import (
    BackboneConfig,
    GatedConfig,
    HeadConfig,
    SAFConfig,
    SCANConfig,
    SGRAFConfig,
    SGRConfig,
    VSEInfinityConfig,
)
from model.options.base import ConfigError as ConfigError
from model.options.base import MethodConfig, option, validate
from model.options.crcl import CRCLConfig
from model.options.decl import DECLConfig
from model.options.detectors import NO_DETECTOR, check_detector_path
from model.options.encoders import parse_encoder
from model.options.formats import FORMATS as FORMATS
from model.options.mrl import MRLConfig
from model.options.ncr import LNCConfig, NCRConfig
from model.options.triplet import FilterConfig, TripletConfig

# Below this a mixture over per-pair losses and a batch of negatives mean nothing.
MIN_PAIRS = 64

Config = TypeVar("Config")

METHOD_CONFIGS: dict[str, type[MethodConfig]] = {
    "auto": AutoConfig,
    "crcl": CRCLConfig,
    "ncr": NCRConfig,
    "lnc": LNCConfig,
    "decl": DECLConfig,
    "mrl": MRLConfig,
    "triplet": TripletConfig,
    "filter-then-train": FilterConfig,
}
BACKBONE_CONFIGS: dict[str, type[BackboneConfig]] = {
    "head": HeadConfig,
    "vse_infinity": VSEInfinityConfig,
    "scan": SCANConfig,
    "sgr": SGRConfig,
    "saf": SAFConfig,
    "sgraf": SGRAFConfig,
    "gated": GatedConfig,
}
# What a run may name as its encoder; `auto` is chosen by what the collection brings.
AUTO_ENCODER = "auto"
ENCODERS = (AUTO_ENCODER, "lite", "precomputed", "open_clip:<architecture>:<tag or file>")


@dataclass(frozen=True)
class RunConfig:
    """What one run does. The defaults suit 500 to 50,000 pairs with pooled features.

    Lengths are in epochs, not steps: what ends the useful part of a training is that mismatched pairs become
    memorised, and that depends on how often each was seen. (Repeating a small collection to gain steps was
    measured to do harm.)
    """

    method: str = option("auto", "How the networks learn from noisy pairs.", choices=tuple(METHOD_CONFIGS))
    backbone: str = option("head", "Which network compares image and caption.", choices=tuple(BACKBONE_CONFIGS))
    encoder: str = option(
        AUTO_ENCODER,
        "Where the features come from: precomputed (they came with the upload), lite, or "
        "open_clip:<architecture>:<tag or file>; auto takes what came with the upload, else lite.",
    )
    regions: bool = option(False, "Images as the encoder's regions (patches), for backbones that read regions.")
    seed: int = option(0, "Seed of everything random; the same seed gives the same scores.", (0, 2**31 - 1))
    networks: int = option(2, "Networks trained together; with 2 each is taught by the other.", (1, 2))
    batch_size: int = option(128, "Pairs in a batch; smaller collections use smaller ones.", (2, 65536))
    optimiser: str = option("adamw", "Which optimiser takes the steps.", choices=("adamw", "adam"))
    weight_decay: float = option(0.01, "Weight decay of the optimiser.", (0.0, 10.0))
    schedule: str = option(
        "constant",
        "Course of the learning rate after the warm-up: a tenth after every schedule_epochs, or a cosine to 0.",
        choices=("constant", "step", "cosine"),
    )
    schedule_epochs: int = option(30, "Epochs between two cuts of the learning rate when schedule is step.", (1, 10000))
    gradient_clip: float = option(2.0, "Largest norm of a gradient.", (1e-6, 1e6))
    division: str = option("gaussian", "Mixture that divides clean from noisy losses.", choices=("gaussian", "beta"))
    probe_share: float = option(
        0.05,
        "Known mismatches that are learned along, as a share of the pairs (at least 200 of them): they calibrate the "
        "confidence. 0 is none, and leaves the confidence as the method gives it.",
        (0.0, 0.5),
    )
    score_draws: int = option(4, "Batch draws that exported values are averaged over.", (1, 1000))
    detector: str = option(
        NO_DETECTOR,
        "An object detector whose finds join what images show: the path of its ONNX file on the worker's machine. "
        "Beside X.onnx lies X.labels.txt with the name of a label on each line, that of label 0 first. Empty is none.",
    )
    method_options: MethodConfig = field(
        default_factory=AutoConfig, metadata={"help": "Options of the method; unknown ones are refused."}
    )
    backbone_options: BackboneConfig = field(
        default_factory=HeadConfig, metadata={"help": "Options of the backbone; unknown ones are refused."}
    )

    def __post_init__(self) -> None:
        validate(self)
        if self.encoder != AUTO_ENCODER:
            parse_encoder(self.encoder)
        if self.detector != NO_DETECTOR:
            check_detector_path(self.detector)
        if self.regions and not self.backbone_options.reads_regions:
            fitting = ", ".join(name for name, kind in BACKBONE_CONFIGS.items() if kind.reads_regions)
            raise ConfigError("regions", f"the backbone {self.backbone} reads no regions: choose one of {fitting}")
        for name, expected in (
            ("method_options", METHOD_CONFIGS[self.method]),
            ("backbone_options", BACKBONE_CONFIGS[self.backbone]),
        ):
            if type(getattr(self, name)) is not expected:
                raise ConfigError(name, f"must be a {expected.__name__}")
        if self.method_options.needs_vectors and not self.backbone_options.gives_vectors:
            fitting = ", ".join(name for name, kind in BACKBONE_CONFIGS.items() if kind.gives_vectors)
            raise ConfigError("backbone", f"{self.method} compares vectors with class centres: choose one of {fitting}")


def parse_run_config(options: Mapping[str, object]) -> RunConfig:
    """The run that a JSON object describes; whatever it leaves out has its default."""
    if not isinstance(options, Mapping):
        raise ConfigError("options", "must be an object")
    given = dict(options)
    for name, choices in (("method", METHOD_CONFIGS), ("backbone", BACKBONE_CONFIGS)):
        chosen = given.get(name, "auto" if name == "method" else "head")
        if not isinstance(chosen, str) or chosen not in choices:
            raise ConfigError(name, f"must be one of {', '.join(choices)}")
        given[f"{name}_options"] = _parse(choices[chosen], given.get(f"{name}_options", {}), f"{name}_options")
    return _parse(RunConfig, given, "")


def run_config_to_dict(config: RunConfig) -> dict[str, object]:
    """A JSON-safe dict from which parse_run_config makes the same run."""
    return cast(dict[str, object], _plain(config))


def config_hash(config: RunConfig) -> str:
    """sha256 of the canonical JSON: two runs with the same hash would train the same networks."""
    options = run_config_to_dict(config)
    del options["detector"]  # it explains what networks have judged
    text = json.dumps(options, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return list(value)
    if hasattr(value, "__dataclass_fields__"):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(cast(Any, value))}
    return value


def _parse(kind: type[Config], given: object, prefix: str) -> Config:
    if not isinstance(given, Mapping):
        raise ConfigError(prefix, "must be an object")
    known = [f.name for f in fields(cast(Any, kind))]
    for name in given:
        if name not in known and kind is AutoConfig:
            raise ConfigError(_dotted(prefix, str(name)), "auto chooses what it needs; name a method to set it")
        if name not in known:
            raise ConfigError(_dotted(prefix, str(name)), f"is not known; choose from {', '.join(known)}")
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    try:
        return kind(**values)
    except ConfigError as error:
        raise ConfigError(_dotted(prefix, error.field), error.message) from None


def _dotted(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name
