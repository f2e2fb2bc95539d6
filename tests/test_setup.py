"""scripts/setup.sh on machines that lack something; what it would install with is replaced by small scripts."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOOLS = ("sh", "cat", "dirname", "mktemp", "rm", "tail", "find", "mkdir", "chmod", "cp")
PYTHON = """#!/bin/sh
# In place of Python: `-m venv --clear DIR` makes one that is as good as this one.
case "$*" in
*version_info\\ \\<*) exit {too_old} ;;
*version_info*) echo python3.11-venv ;;
*ensurepip*) [ -e "$MACHINE/python3.11-venv" ] ;;
*"venv --clear"*) mkdir -p .venv/bin && cp "$0" .venv/bin/python && echo made >>"$MACHINE/log" ;;
*"pip install"*) echo pip >>"$MACHINE/log"; exit {pip} ;;
esac
"""
APT = """#!/bin/sh
# Knows no package before `update`; a package is a file.
echo "apt-get $1" >>"$MACHINE/log"
case $1 in
update) : >"$MACHINE/lists" ;;
install)
    [ -e "$MACHINE/lists" ] || exit 100
    for package in "$@"; do :; done
    : >"$MACHINE/$package"
    cp "$MACHINE/sh" "$MACHINE/bin/$package" ;;
esac
"""


class Machine:
    """A clone of the project on a machine with few programs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clone = folder / "a clone"
        (self.clone / "scripts").mkdir(parents=True)
        shutil.copy(ROOT / "scripts/setup.sh", self.clone / "scripts")
        (self.clone / "pyproject.toml").touch()
        (folder / "bin").mkdir()
        for tool in TOOLS:
            (folder / "bin" / tool).symlink_to(shutil.which(tool) or tool)
        self.put("../sh", "#!/bin/sh\n")
        self.put("id", "#!/bin/sh\necho 0\n")

    def put(self, name: str, text: str = "#!/bin/sh\n") -> None:
        path = self.folder / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    def python(self, *, too_old: bool = False, venv: bool = True, pip: int = 0) -> None:
        self.put("python3", PYTHON.format(too_old=int(too_old), pip=pip))
        if venv:
            (self.folder / "python3.11-venv").touch()

    def setup(self) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": str(self.folder / "bin"), "MACHINE": str(self.folder)}
        command = [str(self.clone / "scripts/setup.sh")]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30, check=False)

    def log(self) -> list[str]:
        path = self.folder / "log"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_machine_with_all_it_needs(machine: Machine) -> None:
    machine.python()
    machine.put("tmux")
    first = machine.setup()
    assert (first.returncode, first.stdout) == (0, "")
    assert first.stderr == "setup: installing ajet-inbox and what it needs into .venv\n"
    assert machine.log() == ["made", "pip"]

    again = machine.setup()
    assert (again.returncode, again.stderr) == (0, "")
    assert machine.log() == ["made", "pip"]


def test_new_dependencies_keep_the_environment_and_a_moved_clone_does_not(machine: Machine) -> None:
    machine.python()
    machine.put("tmux")
    machine.setup()
    stamp = machine.clone / ".venv/.set-up"
    later = stamp.stat().st_mtime + 10
    os.utime(machine.clone / "pyproject.toml", (later, later))
    machine.setup()
    assert machine.log() == ["made", "pip", "pip"]

    machine.clone = machine.clone.rename(machine.folder / "moved")
    machine.setup()
    assert machine.log() == ["made", "pip", "pip", "made", "pip"]


def test_root_gets_what_is_missing(machine: Machine) -> None:
    machine.python(venv=False)
    machine.put("apt-get", APT)
    assert machine.setup().returncode == 0
    install = "apt-get install"
    assert machine.log() == [install, "apt-get update", install, install, "made", "pip"]
    assert (machine.folder / "tmux").exists()


def test_others_are_told_what_is_missing(machine: Machine) -> None:
    machine.python()
    machine.put("id", "#!/bin/sh\necho 1000\n")
    machine.put("apt-get", APT)
    told = machine.setup()
    assert told.returncode == 1
    assert "tmux is missing" in told.stderr
    assert machine.log() == []


@pytest.mark.parametrize("too_old", [True, None])
def test_without_a_new_enough_python(too_old: bool | None, machine: Machine) -> None:
    machine.put("tmux")
    if too_old:
        machine.python(too_old=True)
    told = machine.setup()
    assert told.returncode == 1
    assert told.stderr.startswith("setup: Python 3.11 or later is needed")
    assert len(told.stderr.splitlines()) == 1


def test_a_failed_install_is_tried_again(machine: Machine) -> None:
    machine.put("tmux")
    machine.python(pip=1)
    assert "could not be installed" in machine.setup().stderr
    machine.python(pip=0)
    assert machine.setup().returncode == 0
    assert machine.log()[-1] == "pip"
