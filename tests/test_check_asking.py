"""Programs that are asked: real interpreters, and ones that hang, print for ever or are something else."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from time import monotonic

import pytest

from ajet_inbox.core.checking.facts import Interpreter
from ajet_inbox.edge.programs import Edition, ask_bash, ask_version, command_lines, known_version

BRIEF_S = 0.5
LONG_S = 30.0


def program(folder: Path, text: str) -> Edition:
    path = folder / "python"
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)
    return edition(path)


def edition(path: Path) -> Edition:
    status = path.stat()
    return str(path), status.st_ino, status.st_mtime_ns


def test_a_python_says_its_version_and_is_not_asked_again() -> None:
    this = edition(Path(sys.executable))
    answer = ask_version(this, {}, LONG_S)
    assert answer == Interpreter(version=".".join(map(str, sys.version_info[:3])))
    assert known_version(this) == answer
    assert known_version((this[0], this[1], this[2] + 1)) is None


def test_it_is_asked_in_the_environment_that_it_will_get(tmp_path: Path) -> None:
    wants = program(tmp_path, f'[ "$MODULES" = loaded ] && exec {sys.executable} "$@"; echo no modules; exit 1')
    assert ask_version(wants, {}, LONG_S) == Interpreter(said="no modules")
    assert ask_version(wants, {"MODULES": "loaded"}, LONG_S).version


OTHERS = [
    ("echo hello; echo 'not a python'", "not a python"),
    ("exit 3", ""),
    ("echo No module named encodings >&2; exit 1", "No module named encodings"),
]


@pytest.mark.parametrize(("text", "said"), OTHERS)
def test_what_is_no_python_is_quoted(tmp_path: Path, text: str, said: str) -> None:
    assert ask_version(program(tmp_path, text), dict(os.environ), LONG_S) == Interpreter(said=said)


def test_what_cannot_be_started_says_why(tmp_path: Path) -> None:
    (tmp_path / "python").write_bytes(b"\x7fELF not really")
    (tmp_path / "python").chmod(0o755)
    assert "Exec format error" in ask_version(edition(tmp_path / "python"), {}, LONG_S).said


def test_one_that_hangs_costs_its_time_and_is_asked_again(tmp_path: Path) -> None:
    hangs = program(tmp_path, f"echo $$ > {tmp_path}/pid; exec sleep 300")
    began = monotonic()
    assert "no answer" in ask_version(hangs, dict(os.environ), BRIEF_S).said
    assert monotonic() - began < LONG_S
    assert known_version(hangs) is None
    if (tmp_path / "pid").exists():
        assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


def test_one_that_prints_for_ever_is_cut_short(tmp_path: Path) -> None:
    began = monotonic()
    assert ask_version(program(tmp_path, "yes spam"), dict(os.environ), LONG_S).version is None
    assert monotonic() - began < LONG_S


SCRIPTS = [
    ("python x.py", None, ""),
    ("for i in 1; do\n  x\ndone", None, ""),
    ("cat <<EOF\n'\nEOF", None, ""),
    ("shopt -s extglob\nrm !(a|b)", None, ""),
    ("x=(1 2)\necho ${x[0]} >&2", None, ""),
    ("for i in 1; do\n  x\nfi", 3, "unexpected token"),
    ("x (\n", 1, "syntax error"),
    ("if true; then\n x", 3, "unexpected end of file"),
    ("echo 'a", 1, "unexpected EOF"),
    ("touch {marker}", None, ""),
    ("\0", None, ""),
]


@pytest.mark.parametrize(("script", "line", "said"), SCRIPTS)
def test_bash_reads_a_script_and_runs_nothing(tmp_path: Path, script: str, line: int | None, said: str) -> None:
    found = ask_bash(script.replace("{marker}", str(tmp_path / "marker")), LONG_S)
    assert (found.line if found else None) == line
    assert said in (found.message if found else "")
    assert not (tmp_path / "marker").exists()


def test_processes_are_seen_but_not_our_own() -> None:
    lines = command_lines()
    assert any(lines)
    assert all(line == line.strip() for line in lines)
