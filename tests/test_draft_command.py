"""The real command `draft`: what it writes, what it refuses, what programs are told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from ajet_inbox.core import journal
from ajet_inbox.core.lifecycle import Outcome
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.core.reading.parse import read_blueprint
from tests.cli_home import AT, add_run, ajet, end, environment, finished, make_home, on_a_terminal
from tests.drafting import YAML

FAITH = "Study the learning rate for 2 hours on 4 GPUs."


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A repository with an interpreter, a base, and a folder to work in."""
    code = tmp_path / "my code"
    (code / "venv" / "bin").mkdir(parents=True)
    (code / "venv" / "bin" / "python").symlink_to(sys.executable)
    (code / "base.yaml").write_text(YAML.replace("swanlab", "console"))
    (code / "work").mkdir()
    git(code, "init", "-q")
    git(code, "add", "base.yaml")
    git(code, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "x")
    return code


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True, text=True).stdout


def draft(folder: Path, *arguments: str, home: HomePaths | None = None, **options: Any) -> Any:
    """The document that it prints."""
    done = ajet(home, "draft", *arguments, "--json", cwd=folder, VIRTUAL_ENV="", CONDA_PREFIX="", **options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def ajet_of(path: str) -> Any:
    return yaml.safe_load(Path(path).read_text())["ajet"]


# ---- what is written ----------------------------------------------------------------------------------------------


def test_a_draft_is_complete_and_passes(code: Path) -> None:
    told = draft(code / "work", FAITH, "--yaml", "../base.yaml", "--name", "lr")
    folder = code / "work" / "lr"
    assert told["folder"] == str(folder)
    (each,) = told["drafts"]
    assert (each["ok"], [p["code"] for p in each["problems"] if p["level"] == "error"]) == (True, [])
    assert sorted(path.name for path in folder.iterdir()) == ["blueprint.md", "lr.yaml"]
    read = read_blueprint((folder / "blueprint.md").read_text()).blueprint
    assert (read.codebase_dir, read.venv_exe) == (str(code), str(code / "venv/bin/python"))
    assert (read.yaml_path, read.result_dir) == (str(folder / "lr.yaml"), str(code / "auto_agent/exp_results/lr"))
    assert read.max_time_s == 7200
    assert git(code, "rev-parse", "HEAD").strip() in (read.notes or "")
    assert ajet_of(each["yaml"])["trainer_common"]["n_gpus_per_node"] == 4
    checked = ajet(None, "check", str(folder), "--json")
    assert (checked.returncode, json.loads(checked.stdout)["ok"]) == (0, True)


def test_what_is_wrong_is_not_to_be_submitted(code: Path, tmp_path: Path) -> None:
    fine = ajet(None, "draft", FAITH, "--name", "a", cwd=code, VIRTUAL_ENV="", CONDA_PREFIX="").stdout
    assert "Read it, then submit it" in fine
    (tmp_path / "bare").mkdir()
    bad = ajet(None, "draft", FAITH, "--name", "a", cwd=tmp_path / "bare", VIRTUAL_ENV="", CONDA_PREFIX="").stdout
    assert "Correct what is wrong, then submit it" in bad


def test_the_interpreter_is_that_of_the_code_that_the_task_names(code: Path, tmp_path: Path) -> None:
    (tmp_path / "other" / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / "other" / ".venv" / "bin" / "python").symlink_to(sys.executable)
    told = draft(code, f"Study lr.\n[exp_codebase_dir]: {tmp_path}/other\n", "--name", "a")
    read = read_blueprint(Path(told["drafts"][0]["blueprint"]).read_text()).blueprint
    assert read.venv_exe == f"{tmp_path}/other/.venv/bin/python"


def test_check_has_nothing_to_say_but_what_the_folder_lacks(code: Path) -> None:
    """Neither in English nor in Chinese: a draft must not be warned of by its own house."""
    for language in ("en", "zh"):
        home = make_home(code.parent / language)
        home.config.write_text(f"language: {language}\n")
        told = draft(code, FAITH, "--yaml", "base.yaml", "--name", f"lr_{language}", home=home)
        assert [p["message"] for p in told["drafts"][0]["problems"] if p["level"] == "warning"] == []


def test_nothing_is_ever_overwritten(code: Path) -> None:
    draft(code, FAITH, "--name", "lr")
    before = (code / "lr" / "blueprint.md").read_bytes()
    for folder in ("lr", "empty"):
        (code / folder).mkdir(exist_ok=True)
        again = ajet(None, "draft", "Something else", "--name", folder, cwd=code)
        assert (again.returncode, "is there already" in again.stderr) == (1, True)
    assert (code / "lr" / "blueprint.md").read_bytes() == before
    assert list((code / "empty").iterdir()) == []


def test_a_sweep(code: Path) -> None:
    told = draft(code, FAITH, "--yaml", "base.yaml", "--sweep", "lr=1e-6,2e-6", "--name", "s", "--out", "drafts")
    names = ["s_lr_1e-6", "s_lr_2e-6"]
    assert [each["name"] for each in told["drafts"]] == names
    assert told["sweep"] == str(code / "drafts/s/sweep.json")
    sweep = json.loads(Path(told["sweep"]).read_text())
    assert [each["values"] for each in sweep["drafts"]] == [each["settings"] for each in told["drafts"]]
    assert [ajet_of(each["yaml"])["trainer_common"]["optim"]["lr"] for each in told["drafts"]] == [1e-6, 2e-6]
    assert {ajet_of(each["yaml"])["project_name"] for each in told["drafts"]} == {"math"}


@pytest.mark.parametrize("way", ["words", "file", "stdin"])
def test_a_task_comes_in_several_ways(code: Path, way: str) -> None:
    (code / "task.txt").write_text(FAITH)
    arguments = {"words": FAITH.split(), "file": ["task.txt"], "stdin": ["-"]}[way]
    command = [sys.executable, "-m", "ajet_inbox", "draft", *arguments, "--name", "lr", "--json"]
    subprocess.run(
        command, cwd=code, env=environment(), input=FAITH.encode(), check=True, capture_output=True, timeout=60
    )
    read = read_blueprint((code / "lr" / "blueprint.md").read_text()).blueprint
    assert (read.purpose or "").startswith(FAITH)


def test_what_is_found_is_used(code: Path) -> None:
    (code / "venv").rename(code / "elsewhere")
    told = draft(code, FAITH, "--name", "none")
    text = Path(told["drafts"][0]["blueprint"]).read_text()
    assert f"No interpreter was found: make {code}/venv/bin/python" in text
    assert f"Yamls that could be its base: {code}/base.yaml" in text
    environ = {"VIRTUAL_ENV": str(code / "elsewhere")}
    done = ajet(None, "draft", FAITH, "--name", "active", cwd=code, **environ)
    assert done.returncode == 0
    assert f"`{code}/elsewhere/bin/python`" in (code / "active" / "blueprint.md").read_text()


# ---- what is refused ----------------------------------------------------------------------------------------------

REFUSED = [
    ([], 2, "There is no task"),
    (["x", "--name", "a/b"], 2, "cannot be called"),
    (["x", "--zip"], 2, "--zip is for sweeps"),
    (["x", "--yaml", "nowhere.yaml"], 2, "nowhere.yaml"),
    (["x", "--yaml", "base.yaml", "--set", "lr"], 1, "does not set anything"),
    (["x", "--yaml", "base.yaml", "--set", "num_repeat=4"], 1, "no key num_repeat"),
    (["x", "--yaml", "base.yaml", "--sweep", "lr=1,2", "--sweep", "seed.x=1", "--zip"], 1, "make no pairs"),
    (["x", "--yaml", "broken.yaml"], 1, "broken.yaml:1 is no YAML"),
    (["x", "--from", "r"], 2, "is a home"),
    (["x", "--drop"], 2, "is a home"),
    (["x", "--agent"], 2, "is a home"),
]


@pytest.mark.parametrize(("arguments", "code_", "said"), REFUSED)
def test_what_cannot_be_meant_is_said_and_nothing_is_written(
    code: Path, arguments: list[str], code_: int, said: str
) -> None:
    (code / "broken.yaml").write_text("a: [")
    before = sorted(code.iterdir())
    done = ajet(None, "draft", *arguments, cwd=code)
    assert (done.returncode, said in done.stderr) == (code_, True), done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(code.iterdir()) == before


def test_a_home_without_an_agent_says_so(code: Path) -> None:
    done = ajet(make_home(code.parent / "home"), "draft", "x", "--agent", cwd=code)
    assert (done.returncode, "draft.agent.command" in done.stderr) == (2, True)


def test_a_path_that_would_be_misread_is_not_written(code: Path) -> None:
    odd = code / "a `b` c"
    odd.mkdir()
    git(odd, "init", "-q")
    done = ajet(None, "draft", FAITH, cwd=odd)
    assert (done.returncode, "would not be read as it is meant" in done.stderr) == (1, True)


# ---- on a terminal ------------------------------------------------------------------------------------------------


def test_a_terminal_is_asked_for_what_is_missing(code: Path) -> None:
    home = make_home(code.parent / "home")
    arguments = ("draft", "--out", str(code))
    exit_code, shown = on_a_terminal(home, *arguments, answer="Study lr\n\n\n\n", VIRTUAL_ENV="")
    assert exit_code == 0, shown
    assert "What is the experiment for?" in shown
    assert "[Study_lr]" in shown
    assert (code / "Study_lr" / "blueprint.md").exists()


# ---- the inbox, and the next experiment ---------------------------------------------------------------------------


def test_what_is_drafted_can_be_dropped_at_once(code: Path) -> None:
    home = make_home(code.parent / "home")
    told = draft(code, FAITH, "--yaml", "base.yaml", "--sweep", "lr=1e-6,2e-6", "--name", "s", "--drop", home=home)
    assert [each["name"] for each in told["dropped"]] == ["s_lr_1e-6", "s_lr_2e-6"]
    assert sorted(path.name for path in home.inbox.iterdir()) == ["s_lr_1e-6", "s_lr_2e-6"]
    assert (home.inbox / "s_lr_1e-6" / "s_lr_1e-6.yaml").exists()


def ended_run(home: HomePaths, code: Path, outcome: Outcome = Outcome.FAILED) -> None:
    """A finished run of a draft, with its result as pages tell it."""
    draft(code, FAITH, "--yaml", "base.yaml", "--name", "first")
    text = (code / "first" / "blueprint.md").read_text()
    add_run(home, "first", *finished(outcome), journal.Published(at=AT))
    segment = home.run("first").segment(1)
    entries = list(journal.decode(segment.read_bytes()))
    assert isinstance(entries[1], journal.Submitted)
    entries[1] = replace(entries[1], blueprint=read_blueprint(text).blueprint)
    segment.write_bytes(journal.encode(entries))
    end(home, "first", outcome)
    assert ajet(home, "render", "first").returncode == 0


def test_the_next_experiment(code: Path) -> None:
    home = make_home(code.parent / "home")
    ended_run(home, code)
    told = draft(code, "--from", "first", "--set", "lr=5e-7", "--name", "second", home=home)
    read = read_blueprint(Path(told["drafts"][0]["blueprint"]).read_text()).blueprint
    assert (read.parent, read.max_time_s, read.codebase_dir) == ("first", 7200.0, str(code))
    assert "5e-7 instead of 1.0e-6 in first" in (read.purpose or "")
    assert "first ended as failed: It was failed." in (read.notes or "")
    config = ajet_of(told["drafts"][0]["yaml"])
    assert (config["experiment_name"], config["trainer_common"]["optim"]["lr"]) == ("second", 5e-7)
    assert config["trainer_common"]["n_gpus_per_node"] == 4


def test_a_run_that_goes_on_has_no_next_one_yet(code: Path) -> None:
    home = make_home(code.parent / "home")
    add_run(home, "runs", journal.Accepted(at=AT))
    for run, code_ in (("runs", 1), ("nobody", 6)):
        assert ajet(home, "draft", "--from", run, cwd=code).returncode == code_
