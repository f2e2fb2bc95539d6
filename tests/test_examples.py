"""The example experiment, run as a user runs it: the real launcher, real files, real checkpoints."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ajet_inbox.core.training.evals import Eval
from ajet_inbox.core.training.metrics import read_metrics, read_train_steps
from ajet_inbox.core.training.progress import Console
from ajet_inbox.core.training.step_lines import StepSeen

EXAMPLES = Path(__file__).parent.parent / "examples"
VAL, TRAIN = Path("saved_val_result/arithmetic.md"), Path("saved_train_result/arithmetic.md")
CHECKPOINTS = Path("saved_checkpoints/examples/arithmetic")


@pytest.fixture
def codebase(tmp_path: Path) -> Path:
    return shutil.copytree(EXAMPLES / "codebase", tmp_path / "codebase", ignore=shutil.ignore_patterns("saved_*"))


def start(codebase: Path, *flags: str, step_time: float = 0.001) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "ajet.launcher", *flags],
        cwd=codebase,
        env={**os.environ, "AJET_STEP_TIME": str(step_time)},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def launch(codebase: Path, *flags: str) -> tuple[int, str]:
    with start(codebase, *flags) as process:
        output, _ = process.communicate(timeout=60)
        return process.returncode, output


def set_keys(codebase: Path, **values: object) -> str:
    """A yaml like the shipped one, some keys changed; returns its path for `--conf`."""
    text = (codebase / "experiments/arithmetic.yaml").read_text()
    lines = [
        f"{line.split(':')[0]}: {values[line.split(':')[0].strip()]}" if line.split(":")[0].strip() in values else line
        for line in text.splitlines()
    ]
    (codebase / "changed.yaml").write_text("\n".join(lines))
    return "changed.yaml"


def evals(codebase: Path) -> tuple[Eval, ...]:
    return read_metrics((codebase / VAL).read_text()).evals


def train_steps(codebase: Path) -> list[int]:
    return [step for step, _ in read_train_steps((codebase / TRAIN).read_text())]


def test_the_policy_learns(codebase: Path) -> None:
    code, console = launch(codebase, "--conf", "experiments/arithmetic.yaml", "--with-ray", "--skip-check-avail-gpu")
    assert code == 0, console
    curve = [e.mean_reward for e in evals(codebase)]
    assert [e.global_steps for e in evals(codebase)] == [0, 10, 20, 30, 40, 50, 60]
    assert None not in curve
    assert curve[0] < 0.15
    assert curve[-1] > 0.85
    assert train_steps(codebase) == list(range(1, 61))
    reader = Console()
    steps = [event for event in reader.feed(console.encode()) if isinstance(event, StepSeen)]
    assert [event.step for event in steps if event.trained] == list(range(1, 61))
    assert reader.training_bar is not None
    assert (reader.training_bar.done, reader.training_bar.total) == (60, 60)
    assert {p.name for p in (codebase / CHECKPOINTS).glob("global_step_*")} == {
        f"global_step_{n}" for n in (20, 40, 60)
    }


@pytest.mark.parametrize(
    ("keys", "evaluated", "trained"),
    [
        ({"total_training_steps": 7, "test_freq": 3}, [0, 3, 6, 7], 7),
        ({"total_training_steps": 4, "val_before_train": False, "test_freq": 0}, [], 4),
        ({"total_training_steps": "null", "total_epochs": 2}, [0, 6], 6),
    ],
)
def test_the_yaml_is_honoured(codebase: Path, keys: dict[str, object], evaluated: list[int], trained: int) -> None:
    code, console = launch(codebase, "--conf", set_keys(codebase, **keys))
    assert code == 0, console
    assert [e.global_steps for e in evals(codebase)] == evaluated if evaluated else not (codebase / VAL).exists()
    assert train_steps(codebase) == list(range(1, trained + 1))


def test_an_interrupted_run_resumes_and_ends_where_an_uninterrupted_one_does(codebase: Path, tmp_path: Path) -> None:
    whole = shutil.copytree(codebase, tmp_path / "whole")
    launch(whole, "--conf", "experiments/arithmetic.yaml")
    with start(codebase, "--conf", "experiments/arithmetic.yaml", step_time=0.05) as process:
        tracker = codebase / CHECKPOINTS / "latest_checkpointed_iteration.txt"
        deadline = time.monotonic() + 30
        while not tracker.exists():
            assert time.monotonic() < deadline, "no checkpoint in 30 s"
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
    code, console = launch(codebase, "--conf", "experiments/arithmetic.yaml")
    assert code == 0
    assert "Setting global step to 20" in console
    assert evals(codebase)[-1] == evals(whole)[-1]


def test_a_finished_run_launched_again_makes_one_step_more(codebase: Path) -> None:
    conf = set_keys(codebase, total_training_steps=2)
    launch(codebase, "--conf", conf)
    assert launch(codebase, "--conf", conf)[0] == 0
    assert train_steps(codebase) == [1, 2, 3]


def test_autokill_ends_nobody(codebase: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as bystander:
        code, console = launch(codebase, "--conf", set_keys(codebase, total_training_steps=1), "--autokill")
        assert (code, bystander.poll()) == (0, None)
        bystander.communicate(b"\n")
    assert "ignores --autokill" in console


@pytest.mark.parametrize(
    ("flags", "code", "says"),
    [
        (["--conf", "experiments/missing_module.yaml"], 1, "ModuleNotFoundError: No module named 'tasks.geometry'"),
        (["--conf", "experiments/missing_module.yaml"], 1, "returned non-zero exit status 1"),
        (["--conf", "nowhere.yaml"], 1, "cannot read the configuration"),
        (["--config", "experiments/arithmetic.yaml"], 2, "usage:"),
        ([], 2, "--conf"),
    ],
)
def test_failures_end_as_those_of_the_real_launcher(codebase: Path, flags: list[str], code: int, says: str) -> None:
    assert (result := launch(codebase, *flags))[0] == code
    assert says in result[1]


def test_a_bare_validation_file_name_fails_as_in_agentjet(codebase: Path) -> None:
    code, console = launch(codebase, "--conf", set_keys(codebase, val_print_to_markdown_file_path="val.md"))
    assert code == 1
    assert "FileNotFoundError: [Errno 2] No such file or directory: ''" in console


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("blueprints/**/*.md")), ids=lambda p: p.name)
def test_blueprints_hold_the_three_placeholders(path: Path) -> None:
    text = path.read_text()
    for name in ("{CODEBASE}", "{PYTHON}", "{RESULTS}"):
        assert text.count(name) == 1
