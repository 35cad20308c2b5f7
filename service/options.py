"""The options of a run, described for people and programs from their one definition in model.config."""

from dataclasses import MISSING, fields
from typing import Any

from model.config import BACKBONE_CONFIGS, ENCODERS, METHOD_CONFIGS, RunConfig


def describe_options() -> dict[str, Any]:
    return {
        "options": _fields(RunConfig),
        "methods": {
            name: _described(kind) | {"needs_labels": kind().needs_labels} for name, kind in METHOD_CONFIGS.items()
        },
        "backbones": {name: _described(kind) for name, kind in BACKBONE_CONFIGS.items()},
        "encoders": list(ENCODERS),
    }


def _described(kind: type[Any]) -> dict[str, Any]:
    # `auto` inherits options of all methods, but refuses any choice of them.
    return {"description": kind.__doc__, "options": {} if kind is METHOD_CONFIGS["auto"] else _fields(kind)}


def _fields(kind: type[Any]) -> dict[str, Any]:
    """Nested groups (method_options) are described under their own heading."""
    return {item.name: _field(item) for item in fields(kind) if item.default is not MISSING}


def _field(item: Any) -> dict[str, Any]:
    described = {"default": item.default, "help": item.metadata["help"]}
    if item.metadata.get("choices"):
        described["choices"] = item.metadata["choices"]
    if item.metadata.get("within"):
        described["minimum"], described["maximum"] = item.metadata["within"]
    return described
