"""The import law: core <- edge <- app <- cli, core pure, edges apart, the supervisor alone, no circles."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = "ajet_inbox"
FLOORS = ("core", "edge", "app", "cli")

# What would let core see or change the world, know the time, or wait.
IMPURE = frozenset(
    {"os", "sys", "io", "time", "random", "secrets", "threading", "asyncio", "subprocess", "multiprocessing"}
    | {"concurrent", "socket", "select", "ctypes", "shutil", "tempfile", "glob", "importlib", "logging"}
    | {"loguru", "libtmux", "watchdog", "click", "jinja2", "psutil", "rich"}
)
IMPURE_CALLS = frozenset({"open", "print", "input", "exec", "eval", "__import__"})
# Paths may be named in core, not asked; `replace` is left out, for text has it too.
IMPURE_METHODS = frozenset(
    {"exists", "is_file", "is_dir", "is_symlink", "is_mount", "stat", "lstat", "read_text", "read_bytes", "open"}
    | {"write_text", "write_bytes", "iterdir", "glob", "rglob", "mkdir", "touch", "unlink", "rmdir", "rename"}
    | {"resolve", "absolute", "expanduser", "readlink", "symlink_to", "hardlink_to", "chmod", "cwd"}
)
CLOCKS = frozenset({"datetime.now", "datetime.utcnow", "datetime.today", "date.today"})
NEVER_FROM_CLI = frozenset({f"{PACKAGE}.edge.tmux", f"{PACKAGE}.edge.slurm", "libtmux"})


class Import(NamedTuple):
    line: int
    target: str  # a module's dotted name


def imports(module: str, source: str, modules: Mapping[str, str]) -> Iterator[Import]:
    """Every import in a module, also those inside functions."""
    package = module if any(other.startswith(f"{module}.") for other in modules) else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (Import(node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield Import(node.lineno, inner if inner in modules else base)


def floor(module: str) -> str:
    """core, edge, app, cli or supervisor; what starts the program stands above all."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] != "__main__" else "cli"


def forbidden(module: str, found: Import) -> str | None:
    """Why a module may not import this, or None."""
    here, target = floor(module), found.target
    top = target.partition(".")[0]
    if here == "supervisor":
        alone = top in sys.stdlib_module_names or target.startswith(f"{PACKAGE}.supervisor")
        return None if alone else "the supervisor imports the standard library alone"
    if here == "core" and top in IMPURE:
        return "core is pure"
    if here == "cli" and any(target == never or target.startswith(f"{never}.") for never in NEVER_FROM_CLI):
        return "cli leaves it to the watcher"
    if top != PACKAGE or target == PACKAGE:
        return None
    there = floor(target)
    if there in FLOORS and FLOORS.index(there) > FLOORS.index(here):
        return f"{here} stands below {there}"
    if here == "core" and there != "core":
        return "core imports core alone"
    if here == there == "edge" and target != module and not f"{target}.".startswith(f"{PACKAGE}.edge.files."):
        return "an edge imports no other edge but files"
    return None


def impurities(source: str) -> Iterator[tuple[int, str]]:
    """Calls by which core would act, look, or ask a clock."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            method = isinstance(node.func, ast.Attribute) and node.func.attr in IMPURE_METHODS
            if method or called in IMPURE_CALLS or ".".join(called.split(".")[-2:]) in CLOCKS:
                yield node.lineno, f"{called}()"


def circle(modules: Mapping[str, str]) -> str | None:
    """One circle of imports, or None."""
    graph = {
        module: {found.target for found in imports(module, source, modules) if found.target in modules} - {module}
        for module, source in modules.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return " <- ".join(error.args[1])
    return None


def violations(modules: Mapping[str, str]) -> list[str]:
    """Everything in these sources, by module name, that breaks the law."""
    broken = []
    for module, source in sorted(modules.items()):
        broken += [
            f"{module}:{found.line} imports {found.target}: {why}"
            for found in imports(module, source, modules)
            if (why := forbidden(module, found))
        ]
        if floor(module) == "core":
            broken += [f"{module}:{line} uses {what}: core is pure" for line, what in impurities(source)]
    if loop := circle(modules):
        broken.append(f"imports go in a circle: {loop}")
    return broken


def the_package() -> dict[str, str]:
    found = {}
    for path in (ROOT / PACKAGE).rglob("*.py"):
        parts = PurePosixPath(path.relative_to(ROOT)).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_text(encoding="utf-8")
    return found


def test_the_law_holds() -> None:
    modules = the_package()
    assert f"{PACKAGE}.core.lifecycle" in modules
    broken = violations(modules)
    assert not broken, "\n" + "\n".join(broken)


# Module, what it says, what is found: the law is only held if a breach is seen.
BREACHES = [
    ("ajet_inbox.core.a", "import os", "core is pure"),
    ("ajet_inbox.core.a", "import os.path as p", "core is pure"),
    ("ajet_inbox.core.a", "def f():\n    from time import sleep", "a:2 imports time: core is pure"),
    ("ajet_inbox.core.a", "x = Path('y').read_text()", "uses Path('y').read_text(): core is pure"),
    ("ajet_inbox.core.a", "def f(p):\n    return (p / 'x').exists()", "a:2 uses (p / 'x').exists()"),
    ("ajet_inbox.core.a", "from datetime import datetime\nx = datetime.now()", "a:2 uses datetime.now()"),
    ("ajet_inbox.core.a", "import datetime as d\nx = d.datetime.now(d.UTC)", "a:2 uses d.datetime.now()"),
    ("ajet_inbox.core.a", "open('x')", "uses open()"),
    ("ajet_inbox.core.a", "from ajet_inbox.edge import files", "core stands below edge"),
    ("ajet_inbox.core.a", "from ..edge import files", "core stands below edge"),
    ("ajet_inbox.core.a", "import ajet_inbox.supervisor.main", "core imports core alone"),
    ("ajet_inbox.edge.a", "from ajet_inbox.app.daemon import run", "edge stands below app"),
    ("ajet_inbox.edge.a", "from ajet_inbox.edge.b import x", "no other edge but files"),
    ("ajet_inbox.edge.a", "from ajet_inbox.edge import b", "no other edge but files"),
    ("ajet_inbox.edge.a", "from . import b", "no other edge but files"),
    ("ajet_inbox.app.a", "from ajet_inbox import cli", "app stands below cli"),
    ("ajet_inbox.cli.a", "def f():\n    from ajet_inbox.edge.tmux import x", "cli leaves it"),
    ("ajet_inbox.cli.a", "import libtmux", "cli leaves it"),
    ("ajet_inbox.supervisor.a", "import msgspec", "standard library alone"),
    ("ajet_inbox.supervisor.a", "from ajet_inbox.core import lifecycle", "standard library alone"),
    ("ajet_inbox.core.b", "def f():\n    from ajet_inbox.core.c import x", "in a circle"),
]
AROUND = {
    "ajet_inbox": "",
    "ajet_inbox.core": "",
    "ajet_inbox.core.c": "from ajet_inbox.core import b",
    "ajet_inbox.core.b": "",
    "ajet_inbox.edge": "",
    "ajet_inbox.edge.b": "from ajet_inbox.edge.files import x",
    "ajet_inbox.edge.files": "import os\nfrom pathlib import Path\nfrom ajet_inbox.core.c import x\nopen('x')",
    "ajet_inbox.cli": "from ajet_inbox.app import daemon",
    "ajet_inbox.app.daemon": "import time\nfrom ajet_inbox.edge import b, files",
    "ajet_inbox.supervisor.a": "import os\nfrom ajet_inbox.supervisor import b",
    "ajet_inbox.core.d": "from pathlib import Path\nx = Path('a') / 'b'\ny = 'a'.replace('a', 'b')",
    "ajet_inbox.__main__": "from ajet_inbox.cli import main",
}


def test_a_lawful_package_is_left_in_peace() -> None:
    assert violations(AROUND) == []


@pytest.mark.parametrize(("module", "source", "told"), BREACHES)
def test_a_breach_is_seen(module: str, source: str, told: str) -> None:
    broken = violations({**AROUND, module: source})
    assert len(broken) == 1
    assert told in broken[0]
