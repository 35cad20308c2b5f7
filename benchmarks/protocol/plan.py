"""From what a user asks for to the cells of a table; what cannot be is refused with the name of the option."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.protocol.ablation import TABLES
from benchmarks.protocol.cells import AUTO, Cell, make_config
from model.backbones.registry import BACKBONES
from model.config import ConfigError, RunConfig
from model.methods import METHODS

_LARGEST_SEED = 2**31 - 1
_LARGEST_RATE = 0.99


class PlanError(ValueError):
    """What was asked for cannot be run; `option` is the one to change."""

    def __init__(self, option: str, message: str) -> None:
        super().__init__(f"{option}: {message}")
        self.option = option
        self.message = message


@dataclass
class Plan:
    cells: list[Cell] = field(default_factory=list)
    labels: list[tuple[str, str]] = field(default_factory=list)  # table and variant of each cell of an ablation
    left_out: list[str] = field(default_factory=list)  # said to the user


@dataclass(frozen=True)
class Asked:
    """The options as they were typed."""

    backbones: str
    seeds: str
    settings: Mapping[str, Any]
    is_quick: bool


def plan_methods(methods: str, noise: str, asked: Asked, *, is_hard: bool = False) -> Plan:
    """Methods x backbones x noise x seeds. Of `all`, what does not fit together is left out."""
    plan = Plan()
    rates = numbers(noise, float, "--noise")
    is_all = "all" in (methods, asked.backbones)
    for method in _names(methods, METHODS, "--methods"):
        for backbone in _names(asked.backbones, BACKBONES, "--backbones"):
            try:
                configs = _configs(method, backbone, asked, {})
            except ConfigError as error:
                if error.field != "backbone" or not is_all:
                    option = "--backbones" if error.field == "backbone" else "--set"
                    raise PlanError(option, f"{method} with {backbone}: {error}") from None
                plan.left_out.append(f"{method} with {backbone}: {error.message}")
                continue
            plan.cells += [Cell(config, rate, is_hard, asked.is_quick) for rate in rates for config in configs]
    return plan


def plan_trust(methods: str, noise: str, hard_noise: str, asked: Asked) -> Plan:
    """The same with random and with hard mismatches, each at its own rates; an empty text is none of them."""
    plan = Plan()
    every = ",".join((AUTO, *METHODS))  # whole runs beside all single methods
    for rates, is_hard in ((noise, False), (hard_noise, True)):
        if rates:
            part = plan_methods(every if methods == "all" else methods, rates, asked, is_hard=is_hard)
            plan.cells += part.cells
            plan.left_out += part.left_out
    return plan


def plan_ablation(tables: str, noise: str | None, asked: Asked) -> Plan:
    """The variants of the tables x backbones x noise x seeds; without `noise` each table has its paper's."""
    plan = Plan()
    for name in _names(tables, TABLES, "--tables"):
        table = TABLES[name]
        rates = table.noise if noise is None else numbers(noise, float, "--noise")
        for variant in table.variants:
            for backbone in _names(asked.backbones, BACKBONES, "--backbones"):
                try:
                    configs = _configs(table.method, backbone, asked, variant.options)
                except ConfigError as error:
                    raise PlanError("--set", f"{table.method} with {backbone}: {error}") from None
                some = [Cell(config, rate, is_quick=asked.is_quick) for rate in rates for config in configs]
                plan.cells += some
                plan.labels += [(name, variant.name)] * len(some)
    return plan


def _configs(method: str, backbone: str, asked: Asked, options: Mapping[str, Any]) -> list[RunConfig]:
    settings = dict(asked.settings)
    if options:
        settings["method_options"] = {**settings.get("method_options", {}), **options}
    seeds = numbers(asked.seeds, int, "--seeds")
    return [make_config(method, backbone, seed, settings) for seed in seeds]


def _names(text: str, known: Iterable[str], option: str) -> list[str]:
    choices = list(known)
    if text == "all":
        return choices
    choices += [AUTO] if known is METHODS else []
    names = list(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in choices:
            raise PlanError(option, f"{name!r} is not known; choose from all, {', '.join(choices)}")
    return names


def numbers(text: str, kind: Callable[[str], Any], option: str) -> Sequence[Any]:
    """Whole numbers are seeds, all others shares."""
    high, found = _LARGEST_SEED if kind is int else _LARGEST_RATE, []
    for part in text.split(","):
        try:
            number = kind(part)
        except ValueError:
            number = None
        if number is None or not 0 <= number <= high:
            what = "whole numbers" if kind is int else "shares"
            raise PlanError(option, f"takes {what} from 0 to {high} separated by commas, not {part.strip()!r}")
        found.append(number)
    return list(dict.fromkeys(found))
