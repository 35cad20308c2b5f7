"""How an option is declared and checked: one help text, one range or list of choices, one clear error.

No torch and no numpy here or in any file of this folder: the web service reads them.
"""

import math
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar, cast

Range = tuple[float, float]


class ConfigError(ValueError):
    """An option that cannot be used; `field` is its dotted name, `message` says what would do."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


def option(default: Any, help: str, within: Range | None = None, choices: tuple[str, ...] = ()) -> Any:
    """A field with its one help text and what values it takes; numbers need `within` (inclusive)."""
    return field(default=default, metadata={"help": help, "within": within, "choices": choices})


class Options:
    """Base of every group of options: checked where it is made."""

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True)
class MethodConfig(Options):
    """What every method has."""

    needs_vectors: ClassVar[bool] = False  # compares embeddings, not only similarities

    # not a symbol: what suits the head backbone; others scale it by their learning_rate_factor
    learning_rate: float = option(1e-3, "Learning rate of the optimiser.", (1e-7, 1.0))
    # not a symbol: how much a method memorises decides how much dropout helps it
    dropout_factor: float = option(1.0, "Multiplies the backbone's dropout.", (0.0, 10.0))

    @property
    def needs_labels(self) -> bool:
        """Cannot do without a category per pair."""
        return False


def validate(config: object) -> None:
    for item in fields(cast(Any, config)):
        if "within" in item.metadata:
            # A JSON 1 is a fine 1.0; storing it as such keeps the hash independent of the spelling.
            object.__setattr__(config, item.name, _checked(item, getattr(config, item.name)))


def _checked(item: "Field[Any]", value: object) -> object:
    choices, within = item.metadata["choices"], item.metadata["within"]
    if isinstance(item.default, bool):
        if not isinstance(value, bool):
            raise ConfigError(item.name, "must be true or false")
        return value
    if choices:
        if not isinstance(value, str) or value not in choices:
            raise ConfigError(item.name, f"must be one of {', '.join(choices)}")
        return value
    if isinstance(item.default, str):
        if not isinstance(value, str):
            raise ConfigError(item.name, "must be a text")
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
