"""What is wrong with a blueprint: in its text, and in the world."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from ajet_inbox.core.blueprint import Blueprint, Kind, Level, Problem
from ajet_inbox.core.checking.check import text_problems, world_problems
from ajet_inbox.core.checking.facts import Facts, PathFacts
from ajet_inbox.core.checking.rule import Case
from ajet_inbox.core.checking.sources import wanted
from ajet_inbox.core.settings import Autokill, Security, Settings

GOOD = Blueprint(
    codebase_dir="/srv/aj",
    venv_exe="/srv/aj/venv/bin/python",
    yaml_path="/srv/aj/a.yaml",
    launch_command="python -m ajet.launcher --conf a.yaml",
    result_dir="/srv/out",
    lines={"exp_codebase_dir": 1, "exp_venv_exe": 2, "exp_yaml_path": 3, "exp_launch_command": 4, "exp_result_dir": 5},
)
LAUNCH = "python -m ajet.launcher --conf a.yaml"

TEXT: list[tuple[dict[str, Any], list[tuple[str, Level, int | None]]]] = [
    ({}, []),
    ({"codebase_dir": ".", "yaml_path": "a.yaml"}, [("codebase_relative", Level.ERROR, 1)]),
    ({"codebase_dir": "aj/code", "yaml_path": "aj/code/a.yaml"}, [("codebase_relative", Level.ERROR, 1)]),
    ({"codebase_dir": "~/aj"}, [("yaml_differs", Level.WARNING, 3)]),
    (
        {"codebase_dir": None, "venv_exe": "venv/bin/python", "result_dir": "out"},
        [("path_relative", Level.ERROR, 2), ("path_relative", Level.ERROR, 5), ("yaml_differs", Level.WARNING, 3)],
    ),
    ({"venv_exe": "python3"}, [("interpreter_unclear", Level.ERROR, 2)]),
    ({"result_dir": "${OUT}/x"}, [("placeholder_unresolved", Level.ERROR, 5)]),
    ({"result_dir": "/path/to/results"}, [("placeholder_unresolved", Level.ERROR, 5)]),
    ({"result_dir": "<your path>"}, [("placeholder_unresolved", Level.ERROR, 5)]),
    ({"result_dir": "/srv/todo_list"}, []),
    ({"result_dir": "/"}, [("result_dir_is_root", Level.ERROR, 5)]),
    ({"launch_command": LAUNCH + " --autokill"}, [("autokill_stripped", Level.WARNING, 4)]),
    ({"launch_command": LAUNCH + " --kill 'ray|python'"}, [("autokill_stripped", Level.WARNING, 4)]),
    ({"launch_command": "python x.py --autokill"}, []),
    ({"launch_command": "echo 'a"}, [("quote_open", Level.ERROR, 4)]),
    ({"launch_command": 'echo "it\'s"'}, []),
    ({"launch_command": "cat <<EOF\nx"}, [("quote_open", Level.ERROR, 4)]),
    ({"launch_command": "cat <<EOF\nit's\nEOF"}, []),
    ({"launch_command": "echo a # it's"}, []),
    ({"launch_command": "echo a \\"}, [("command_cut_off", Level.WARNING, 4)]),
    ({"launch_command": "echo a &&"}, [("command_cut_off", Level.WARNING, 4)]),
    ({"launch_command": "echo “a”"}, [("typographic_quote", Level.WARNING, 4)]),
    ({"launch_command": "python x.py —seed 1"}, [("typographic_quote", Level.WARNING, 4)]),
    ({"prepare_command": "echo 'a"}, [("quote_open", Level.ERROR, None)]),
    ({"yaml_path": "/srv/aj/b.yaml"}, [("yaml_differs", Level.WARNING, 3)]),
    ({"launch_command": "cd cfg && python -m ajet.launcher --conf ../a.yaml"}, []),
]


@pytest.mark.parametrize(("changes", "problems"), TEXT)
def test_text(changes: dict[str, Any], problems: list[tuple[str, Level, int | None]]) -> None:
    found = text_problems(Case(blueprint=replace(GOOD, **changes)))
    assert [(p.code, p.level, p.line) for p in found] == problems
    assert all(p.kind is Kind.TEXT and p.message.endswith(".") and p.hint for p in found)


def test_a_codebase_of_the_dropped_folder_is_right_in_a_folder_drop() -> None:
    dropped = replace(GOOD, codebase_dir=".", venv_exe="venv/bin/python", yaml_path="a.yaml", result_dir="out")
    assert text_problems(Case(blueprint=dropped, folder_drop=True)) == ()


@pytest.mark.parametrize(
    ("policy", "codes"),
    [
        (Autokill.STRIP, ["autokill_stripped"]),
        (Autokill.REJECT, ["autokill_forbidden"]),
        (Autokill.ALLOW, []),
    ],
)
def test_autokill_by_policy(policy: Autokill, codes: list[str]) -> None:
    harmful = replace(GOOD, launch_command=LAUNCH + " --autokill")
    settings = Settings(security=Security(autokill=policy))
    assert [p.code for p in text_problems(Case(blueprint=harmful, settings=settings))] == codes


FOLDER = PathFacts(exists=True, is_dir=True, readable=True, writable=True, executable=True)
PROGRAM = PathFacts(exists=True, is_file=True, readable=True, executable=True)
FILE = PathFacts(exists=True, is_file=True, readable=True)
ABSENT = PathFacts(ancestor="/srv", ancestor_writable=True)
UNMOUNTED = PathFacts(ancestor="/srv", ancestor_writable=True, ancestor_empty=True)
SILENT = PathFacts(answered=False, why="no answer in 5 s")
RIGHT = {"/srv/aj": FOLDER, "/srv/aj/venv/bin/python": PROGRAM, "/srv/aj/a.yaml": FILE, "/srv/out": ABSENT}

WORLD: list[tuple[str, PathFacts, list[tuple[str, bool]]]] = [
    ("/srv/aj", FOLDER, []),
    ("/srv/aj", ABSENT, [("codebase_absent", True)]),
    ("/srv/aj", UNMOUNTED, [("codebase_absent", False)]),
    ("/srv/aj", SILENT, [("codebase_silent", False)]),
    ("/srv/aj", FILE, [("codebase_no_folder", True)]),
    ("/srv/aj", PathFacts(exists=True, is_dir=True), [("codebase_unreadable", True)]),
    ("/srv/aj/venv/bin/python", ABSENT, [("interpreter_absent", True)]),
    ("/srv/aj/venv/bin/python", SILENT, [("interpreter_silent", False)]),
    ("/srv/aj/venv/bin/python", FILE, [("interpreter_not_executable", True)]),
    ("/srv/aj/venv/bin/python", FOLDER, [("interpreter_not_executable", True)]),
    ("/srv/aj/a.yaml", UNMOUNTED, [("yaml_absent", False)]),
    ("/srv/aj/a.yaml", FOLDER, [("yaml_unreadable", True)]),
    ("/srv/out", FOLDER, []),
    ("/srv/out", SILENT, [("result_dir_silent", False)]),
    ("/srv/out", FILE, [("result_dir_no_folder", True)]),
    ("/srv/out", PathFacts(exists=True, is_dir=True, readable=True), [("result_dir_not_writable", True)]),
    ("/srv/out", PathFacts(ancestor="/srv"), [("result_dir_not_creatable", True)]),
    ("/srv/out", PathFacts(ancestor="/srv", ancestor_empty=True), [("result_dir_not_creatable", False)]),
    ("/srv/out", PathFacts(), [("result_dir_not_creatable", False)]),
    ("/srv/out", PathFacts(ancestor="/", ancestor_writable=True), [("result_dir_away", True)]),
    ("/srv/out", UNMOUNTED, []),
]


@pytest.mark.parametrize(("path", "facts", "problems"), WORLD)
def test_world(path: str, facts: PathFacts, problems: list[tuple[str, bool]]) -> None:
    found = world_problems(Case(blueprint=GOOD, facts=Facts(paths=RIGHT | {path: facts})))
    assert [(w.problem.code, w.certain) for w in found] == problems
    assert all(w.problem.kind is Kind.WORLD and w.problem.level is Level.ERROR and w.problem.line for w in found)
    assert all(path in w.problem.message and w.problem.hint for w in found)


def test_what_is_to_be_looked_up() -> None:
    assert wanted(GOOD, Facts()).paths >= set(RIGHT)
    assert wanted(Blueprint(codebase_dir=".", venv_exe="venv/bin/python"), Facts()).paths == frozenset()


def test_nobody_looked_is_no_certainty() -> None:
    assert not any(w.certain for w in world_problems(Case(blueprint=GOOD)))
    assert isinstance(world_problems(Case(blueprint=GOOD))[0].problem, Problem)
