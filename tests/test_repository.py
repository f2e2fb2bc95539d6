"""The repository speaks of the project alone, its links lead somewhere, and its rooms stay small."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAX_FILE = 400
MAX_FUNCTION = 60

# Written so that this file does not find itself.
ALIEN = re.compile(
    r"(?<![\w.~-])/(?:wor[k]|roo[t])/|pypi\.or[g]|pythonhoste[d]|artifactor[y]|index-ur[l]|extra-inde[x]"
)
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")


def tracked() -> list[Path]:
    """The files under version control; `safe.directory` because a clone may belong to somebody else in a container."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
    try:
        listing = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, timeout=30).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"git cannot list the files here: {error}")
    return [path for name in listing.decode().split("\0") if name and (path := ROOT / name).is_file()]


def is_data(path: Path) -> bool:
    return (ROOT / "tests/data") in path.parents


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def test_nothing_names_a_machine_or_a_registry() -> None:
    """Data copied from real life may hold any path."""
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in tracked()
        if not is_data(path)
        for number, line in enumerate(text_of(path).splitlines(), 1)
        if ALIEN.search(line)
    ]
    assert not found, "\n" + "\n".join(found)


ALIENS = ["cd /wor" + "k/main", "see /roo" + "t/x", "https://pypi.or" + "g/simple"]
NATIVES = ["a/work/b", "the ./work/ folder", "outbox/RUN/work/", "~/root/x", "https://example.org/root"]


def test_a_machine_path_would_be_found() -> None:
    assert [text for text in ALIENS if not ALIEN.search(text)] == []
    assert [text for text in NATIVES if ALIEN.search(text)] == []


def test_links_lead_somewhere() -> None:
    dead = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in tracked()
        if page.suffix == ".md" and not is_data(page)
        for target in LINK.findall(without_code(text_of(page)))
        if "://" not in target
        and not target.startswith(("#", "mailto:"))
        and not (page.parent / target.partition("#")[0]).exists()
    ]
    assert not dead, "\n" + "\n".join(dead)


def without_code(page: str) -> str:
    return re.sub(r"^(```|~~~).*?^\1|`[^`\n]*`", "", page, flags=re.MULTILINE | re.DOTALL)


def functions(source: str) -> dict[str, int]:
    """Every function with its length in lines."""
    nodes = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {f"{node.lineno} {node.name}": (node.end_lineno or 0) - node.lineno + 1 for node in nodes}


def test_rooms_stay_small() -> None:
    large = []
    for path in (path for path in tracked() if path.suffix == ".py" and not is_data(path)):
        source = text_of(path)
        name = path.relative_to(ROOT)
        if (length := len(source.splitlines())) > MAX_FILE:
            large.append(f"{name} has {length} lines (at most {MAX_FILE})")
        for function, length in functions(source).items():
            if length > MAX_FUNCTION:
                large.append(f"{name}:{function} has {length} lines (at most {MAX_FUNCTION})")
    assert not large, "\n" + "\n".join(large)


def test_every_dependency_says_why() -> None:
    project = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]
    extras = [each for extra in project["optional-dependencies"].values() for each in extra]
    declared = {re.split(r"[^\w.-]", each)[0] for each in [*project["dependencies"], *extras]}
    explained = dict(re.findall(r"^\| `([\w.-]+)` \| (.*) \|$", text_of(ROOT / "docs/dependencies.md"), re.MULTILINE))
    assert explained.keys() == declared
    assert all(explained.values())


@pytest.mark.parametrize("script", [".ci/run", "scripts/setup.sh"])
def test_scripts_can_be_run(script: str) -> None:
    assert os.access(ROOT / script, os.X_OK)
    subprocess.run(["bash", "-n", str(ROOT / script)], check=True, timeout=10)


def test_the_changelog_names_the_version_or_what_is_to_come() -> None:
    headings = re.findall(r"^## \[(.+?)\]", text_of(ROOT / "CHANGELOG.md"), re.MULTILINE)
    assert headings[0] == "Unreleased"
