"""The rules of ARCHITECTURE.md, checked on the syntax trees of all modules: nothing is imported to look at it."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
OURS = ("benchmarks", "cli", "migrations", "model", "service", "worker")
EVERYTHING = frozenset(OURS)
MAX_LINES = 350


@dataclass(frozen=True)
class Room:
    """What a room may import of ours (a name stands for all below it), and which packages it may never import.
    `inside_functions` may be imported where it is used, but not when the module is loaded."""

    ours: frozenset[str]
    never: frozenset[str] = frozenset()
    inside_functions: frozenset[str] = frozenset()


WEB = frozenset({"fastapi", "starlette", "uvicorn"})
ROWS = frozenset({"sqlalchemy", "psycopg", "alembic"})
QUEUE = frozenset({"celery", "kombu", "redis"})
ARRAYS = frozenset({"torch", "numpy", "sklearn", "open_clip", "transformers", "onnxruntime", "pyarrow", "PIL"})

ROOMS = {
    "model": Room(frozenset({"model"}), never=WEB | ROWS | QUEUE),
    "service": Room(frozenset({"service", "model.config"}), never=ARRAYS),
    "worker": Room(
        frozenset(
            {
                "worker",
                "model",
                "service.db",
                "service.config",
                "service.queue",
                "service.storage",
                "service.processes",
            }
        ),
        never=WEB,
    ),
    "migrations": Room(frozenset({"service.db", "service.config"}), never=WEB | QUEUE | ARRAYS),
    "cli": Room(
        frozenset({"cli", "service"}),
        never=frozenset({"torch", "celery"}),
        inside_functions=frozenset({"worker", "model", "benchmarks"}),
    ),
    "benchmarks": Room(frozenset({"benchmarks", "model", "service", "worker"})),  # they measure all of it
}
# Read by the web image, which has no arrays: the module, the options it is made of, every __init__.py on the way.
WITHOUT_ARRAYS = (
    "model/__init__.py",
    "model/config.py",
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "model" / "options").glob("*.py")),
)
FILLED_INIT = "model/methods/__init__.py"  # the registry
READS_ENVIRONMENT = "service/config.py"
QUIET_ROOMS = ("cli", "model", "service", "worker")


@dataclass(frozen=True)
class Import:
    name: str  # of the module, or of the name in it: `from service.db import jobs` is service.db.jobs
    line: int
    is_top_level: bool

    def is_below(self, names: frozenset[str]) -> bool:
        return any(self.name == name or self.name.startswith(f"{name}.") for name in names)


def modules(*rooms: str) -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for room in rooms for path in (ROOT / room).rglob("*.py"))


@cache
def tree(module: str) -> ast.Module:
    return ast.parse((ROOT / module).read_text(), module)


def imports(module: str) -> list[Import]:
    return list(_imports(tree(module), module, is_top_level=True))


def _imports(node: ast.AST, module: str, *, is_top_level: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (Import(alias.name, child.lineno, is_top_level) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            base = ".".join([*_package(module, child.level), *([child.module] if child.module else [])])
            yield from (Import(f"{base}.{alias.name}", child.lineno, is_top_level) for alias in child.names)
        inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from _imports(child, module, is_top_level=is_top_level and not inside)


def _package(module: str, level: int) -> list[str]:
    return list(Path(module).parts[:-level]) if level else []


def dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


class TestImports:
    @pytest.mark.parametrize("name", ROOMS)
    def test_room_imports_only_what_it_may(self, name: str) -> None:
        room = ROOMS[name]
        wrong = []
        for module in modules(name):
            for found in imports(module):
                is_allowed = found.is_below(room.ours) or (
                    not found.is_top_level and found.is_below(room.inside_functions)
                )
                if (found.is_below(EVERYTHING) and not is_allowed) or found.is_below(room.never):
                    wrong.append(f"{module}:{found.line} imports {found.name}")
        assert wrong == []

    @pytest.mark.parametrize("module", WITHOUT_ARRAYS)
    def test_what_the_web_image_reads_of_the_model_has_no_arrays(self, module: str) -> None:
        known = [found for found in imports(module) if not found.is_below(frozenset({"model.options"}))]
        assert [found for found in known if found.is_below(ARRAYS | {"model"})] == []

    def test_service_runs_without_torch(self) -> None:
        heavy = sorted(ARRAYS | {"worker", "cli"})
        script = f"import sys, service.main; sys.exit(', '.join(n for n in {heavy} if n in sys.modules) or 0)"
        ran = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
        assert (ran.returncode, ran.stderr) == (0, "")

    def test_no_room_is_forgotten(self) -> None:
        folders = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests"}
        assert folders == EVERYTHING == ROOMS.keys()


class TestFindingImports:
    """The rules are worth as much as what finds the imports."""

    @pytest.mark.parametrize(
        ("source", "expected"),
        [
            ("import torch.nn as nn", Import("torch.nn", 1, True)),
            ("from service.db import jobs", Import("service.db.jobs", 1, True)),
            ("from . import tables", Import("service.db.tables", 1, True)),
            ("from ..config import Settings", Import("service.config.Settings", 1, True)),
            ("if True:\n    import worker", Import("worker", 2, True)),
            ("class A:\n    import worker", Import("worker", 2, True)),
            ("def f():\n    import worker", Import("worker", 2, False)),
        ],
    )
    def test_every_form_is_found(self, source: str, expected: Import) -> None:
        assert list(_imports(ast.parse(source), "service/db/x.py", is_top_level=True)) == [expected]

    def test_names_are_not_mixed_up_with_longer_ones(self) -> None:
        assert Import("service.db.jobs", 1, True).is_below(frozenset({"service.db"}))
        assert not Import("service.dbx", 1, True).is_below(frozenset({"service.db"}))


class TestFiles:
    def test_init_files_are_empty(self) -> None:
        found = [module for module in modules(*OURS, "tests") if module.endswith("__init__.py")]
        assert [module for module in found if (ROOT / module).read_text() and module != FILLED_INIT] == []

    def test_no_file_is_too_long_to_read(self) -> None:
        lengths = {module: len((ROOT / module).read_text().splitlines()) for module in modules(*OURS, "tests")}
        assert {module: length for module, length in lengths.items() if length > MAX_LINES} == {}

    def test_nothing_is_printed(self) -> None:
        calls = [
            f"{module}:{node.lineno}"
            for module in modules(*QUIET_ROOMS)
            for node in ast.walk(tree(module))
            if isinstance(node, ast.Call) and dotted(node.func) == "print"
        ]
        assert calls == []

    def test_environment_is_read_in_one_place(self) -> None:
        readers = {
            module
            for module in modules(*QUIET_ROOMS)
            for node in ast.walk(tree(module))
            if dotted(node) in ("os.environ", "os.getenv", "os.environb", "environ", "getenv")
        }
        assert readers == {READS_ENVIRONMENT}
