"""`auto`: no options of its own, because choosing them is what it does (model/recipe.py)."""

from dataclasses import dataclass, fields

from model.options.base import ConfigError, MethodConfig


@dataclass(frozen=True)
class AutoConfig(MethodConfig):
    """Chooses method and schedule by the size of the collection and its encoder, and says why."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for item in fields(self):
            if getattr(self, item.name) != item.default:
                raise ConfigError(item.name, "is chosen by auto; name a method to set it")
