"""Every option of a training run: frozen, validated where it is made, JSON in and out.

No torch and no numpy here: the web service reads its fields, help texts and ranges from this file.
Equation symbols: CRCL is Qin et al. 2023; NCR's are those of LNC (Huang et al.), sections 3.2-3.4.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, TypeVar, cast

# Below this a mixture over per-pair losses and a batch of negatives mean nothing.
MIN_PAIRS = 64

Range = tuple[float, float]
Config = TypeVar("Config")


class ConfigError(ValueError):
    """An option that cannot be used; `field` is its dotted name, `message` says what would do."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


def _option(default: Any, help: str, within: Range | None = None, choices: tuple[str, ...] = ()) -> Any:
    """A field with its one help text and what values it takes; numbers need `within` (inclusive)."""
    return field(default=default, metadata={"help": help, "within": within, "choices": choices})


@dataclass(frozen=True)
class CRCLConfig:
    """Active complementary learning with self-refining correspondence."""

    # e_1..e_m of Algorithm 1
    piece_epochs: tuple[int, ...] = _option(
        (4, 4, 4), "Epochs of each self-refining piece; every piece starts with fresh networks.", (1, 1000)
    )
    # e_f of Eq. 11
    freeze_epochs: int = _option(2, "First epochs of every piece during which labels stay as they are.", (0, 100))
    # tau of Eq. 3
    temperature: float = _option(0.05, "Temperature of the matching probabilities.", (0.001, 10.0))
    # lambda of Eq. 8; the value is the one of the released code, the paper gives none
    complementary_weight: float = _option(5.0, "Weight of the complementary loss.", (0.0, 1000.0))
    # beta of Eq. 10 and 11
    momentum: float = _option(0.8, "Share of the old label kept when a label is updated.", (0.0, 0.999))
    # epsilon of Eq. 12
    noisy_below: float = _option(0.1, "Labels below this count as zero in the loss.", (0.0, 1.0))
    # not a symbol: the released code's 5e-4 is for backbones with a recurrent text encoder
    learning_rate: float = _option(1e-3, "Learning rate of AdamW.", (1e-7, 1.0))

    def __post_init__(self) -> None:
        _validate(self)


@dataclass(frozen=True)
class NCRConfig:
    """Co-divide, co-rectify and the soft-margin triplet loss."""

    # not a symbol: the warm-up of section 3.2
    warmup_epochs: int = _option(2, "Epochs of the plain triplet loss before the first division.", (1, 1000))
    # not a symbol: the co-training of section 3.4
    epochs: int = _option(4, "Epochs of training with divided and rectified pairs.", (1, 1000))
    # The paper learns from the noisy subset all along, the released code in the second half of the epochs.
    # Few pairs with pooled features do worse with it: even a zero margin pulls a mismatch past its negatives.
    noisy_epochs: int = _option(0, "How many of these, the last ones, also learn from the noisy subset.", (0, 1000))
    # alpha of Eq. 2, 9 and 11; the paper's 0.2 leaves pooled features with a loss of 0 for most pairs too soon
    margin: float = _option(0.3, "Margin of the triplet loss.", (0.001, 2.0))
    # Psi_1..Psi_3 of Eq. 11
    soft_margin: str = _option(
        "exponential", "How a soft label becomes a margin.", choices=("linear", "exponential", "sin")
    )
    # v_h, t_h of Eq. 10 are the hardest; their mean, as in Eq. 2, keeps small collections from collapsing
    negatives: str = _option("mean", "Negatives the soft-margin loss looks at.", choices=("mean", "hardest"))
    # the threshold on w of section 3.2
    clean_above: float = _option(0.5, "Pairs with a clean confidence above this train as clean.", (0.01, 0.99))
    # not a symbol: the released code has 2e-4
    learning_rate: float = _option(5e-4, "Learning rate of AdamW.", (1e-7, 1.0))

    def __post_init__(self) -> None:
        _validate(self)


@dataclass(frozen=True)
class HeadConfig:
    """Two small projection networks over pooled features, cosine similarity."""

    input_size: int = _option(
        256, "Principal components kept of each side's features; all when they have fewer.", (2, 8192)
    )
    hidden_size: int = _option(512, "Units of the hidden layer of each projection.", (2, 8192))
    output_size: int = _option(256, "Size of the common space.", (2, 8192))
    dropout: float = _option(0.2, "Share of units dropped while training.", (0.0, 0.9))

    def __post_init__(self) -> None:
        _validate(self)


MethodConfig = CRCLConfig | NCRConfig
BackboneConfig = HeadConfig

METHOD_CONFIGS: dict[str, type[CRCLConfig] | type[NCRConfig]] = {"crcl": CRCLConfig, "ncr": NCRConfig}
BACKBONE_CONFIGS: dict[str, type[HeadConfig]] = {"head": HeadConfig}
ENCODERS = ("lite",)


@dataclass(frozen=True)
class RunConfig:
    """What one run does. The defaults suit 500 to 50,000 pairs with pooled features.

    Lengths are in epochs, not steps: what ends the useful part of a training is that mismatched pairs become
    memorised, and that depends on how often each was seen. (Repeating a small collection to gain steps was
    measured to do harm.)
    """

    method: str = _option("crcl", "How the networks learn from noisy pairs.", choices=tuple(METHOD_CONFIGS))
    backbone: str = _option("head", "Which network compares image and caption.", choices=tuple(BACKBONE_CONFIGS))
    encoder: str = _option("lite", "Which frozen encoder the features come from.", choices=ENCODERS)
    seed: int = _option(0, "Seed of everything random; the same seed gives the same scores.", (0, 2**31 - 1))
    networks: int = _option(2, "Networks trained together; with 2 each is taught by the other.", (1, 2))
    batch_size: int = _option(128, "Pairs in a batch; smaller collections use smaller ones.", (2, 65536))
    weight_decay: float = _option(0.01, "Weight decay of AdamW.", (0.0, 10.0))
    gradient_clip: float = _option(2.0, "Largest norm of a gradient.", (1e-6, 1e6))
    score_draws: int = _option(4, "Batch draws that exported values are averaged over.", (1, 1000))
    method_options: MethodConfig = field(
        default_factory=CRCLConfig, metadata={"help": "Options of the method; unknown ones are refused."}
    )
    backbone_options: BackboneConfig = field(
        default_factory=HeadConfig, metadata={"help": "Options of the backbone; unknown ones are refused."}
    )

    def __post_init__(self) -> None:
        _validate(self)
        for name, expected in (
            ("method_options", METHOD_CONFIGS[self.method]),
            ("backbone_options", BACKBONE_CONFIGS[self.backbone]),
        ):
            if type(getattr(self, name)) is not expected:
                raise ConfigError(name, f"must be a {expected.__name__}")


def parse_run_config(options: Mapping[str, object]) -> RunConfig:
    """The run that a JSON object describes; whatever it leaves out has its default."""
    if not isinstance(options, Mapping):
        raise ConfigError("options", "must be an object")
    given = dict(options)
    for name, choices in (("method", METHOD_CONFIGS), ("backbone", BACKBONE_CONFIGS)):
        chosen = given.get(name, "crcl" if name == "method" else "head")
        if not isinstance(chosen, str) or chosen not in choices:
            raise ConfigError(name, f"must be one of {', '.join(choices)}")
        given[f"{name}_options"] = _parse(choices[chosen], given.get(f"{name}_options", {}), f"{name}_options")
    return _parse(RunConfig, given, "")


def run_config_to_dict(config: RunConfig) -> dict[str, object]:
    """A JSON-safe dict from which parse_run_config makes the same run."""
    return cast(dict[str, object], _plain(config))


def config_hash(config: RunConfig) -> str:
    """sha256 of the canonical JSON: two runs with the same hash would train the same networks."""
    text = json.dumps(run_config_to_dict(config), sort_keys=True, separators=(",", ":"))
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
        if name not in known:
            raise ConfigError(_dotted(prefix, str(name)), f"is not known; choose from {', '.join(known)}")
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    try:
        return kind(**values)
    except ConfigError as error:
        raise ConfigError(_dotted(prefix, error.field), error.message) from None


def _dotted(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def _validate(config: object) -> None:
    for item in fields(cast(Any, config)):
        if "within" in item.metadata:
            # A JSON 1 is a fine 1.0; storing it as such keeps the hash independent of the spelling.
            object.__setattr__(config, item.name, _checked(item, getattr(config, item.name)))


def _checked(item: "Field[Any]", value: object) -> object:
    choices, within = item.metadata["choices"], item.metadata["within"]
    if choices:
        if not isinstance(value, str) or value not in choices:
            raise ConfigError(item.name, f"must be one of {', '.join(choices)}")
        return value
    if isinstance(item.default, tuple):
        if not isinstance(value, tuple) or not value:
            raise ConfigError(item.name, "must be a list of one or more whole numbers")
        return tuple(_checked_number(item.name, entry, int, within) for entry in value)
    return _checked_number(item.name, value, type(item.default), within)


def _checked_number(name: str, value: object, kind: type, within: Range) -> int | float:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if kind is int and not whole:
        raise ConfigError(name, "must be a whole number")
    if not whole and not isinstance(value, float):
        raise ConfigError(name, "must be a number")
    number = cast(float, value)
    low, high = within
    if not math.isfinite(number) or not low <= number <= high:
        raise ConfigError(
            name,
            f"must be between {low:g} and {high:g}" if kind is float else f"must be between {low} and {high}",
        )
    return number if kind is int else float(number)
