"""How an encoder is named: `lite`, `precomputed`, or `open_clip:<architecture>:<tag or file>`."""

from dataclasses import dataclass

from model.options.base import ConfigError

SPELLING = "lite, precomputed, or open_clip:<architecture>:<tag or file>, e.g. open_clip:ViT-B-32:laion2b_s34b_b79k"
KINDS = ("lite", "precomputed", "open_clip")
MAX_CHARACTERS = 500


@dataclass(frozen=True)
class EncoderName:
    kind: str  # one of KINDS
    architecture: str = ""  # of open_clip only, as are the weights
    weights: str = ""  # a tag of published weights, or the path of a file, which may hold colons


def parse_encoder(name: str) -> EncoderName:
    """The parts of the name; whether such an architecture or file exists is not looked at. ConfigError if misspelt."""
    kind, *rest = name.split(":", 2)
    if kind not in KINDS:
        raise ConfigError("encoder", f"unknown encoder {name[:MAX_CHARACTERS]!r}; choose one of: {SPELLING}")
    if len(name) > MAX_CHARACTERS or not name.isprintable():
        raise ConfigError("encoder", f"must be at most {MAX_CHARACTERS} characters without control characters")
    if kind != "open_clip":
        if rest:
            raise ConfigError("encoder", f"{kind} has no parts after its name; write {kind}")
        return EncoderName(kind)
    if len(rest) != 2 or not all(part.strip() for part in rest):
        raise ConfigError("encoder", f"{name!r} lacks its architecture or its weights; write {SPELLING}")
    return EncoderName(kind, *rest)


def check_encoder_name(name: str) -> None:
    parse_encoder(name)
