"""How runs end, and that what is said of it is true (contract section 4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.acceptance.home import Home

MakeHome = Callable[..., Home]

# name: (command, outcome, code of the reason, exit code)
ENDINGS: dict[str, tuple[str, str, str, int | None]] = {
    "zero": ("true", "succeeded", "completed", 0),
    "three": ("echo some words >&2; exit 3", "failed", "exit_code", 3),
    "last_counts": ("false\ntrue", "succeeded", "completed", 0),
    "set_e": ("set -e\nfalse\ntrue", "failed", "exit_code", 1),
    "pipe": ("(exit 7) | cat", "succeeded", "completed", 0),
    "pipefail": ("set -o pipefail; (exit 7) | cat", "failed", "exit_code", 7),
    "exec": ("exec bash -c 'exit 9'", "failed", "exit_code", 9),
    "subshell": ("( exit 5 )", "failed", "exit_code", 5),
    "python": ("python -c 'import sys; sys.exit(11)'", "failed", "exit_code", 11),
    "missing": ("there-is-no-such-program", "failed", "exit_code", 127),
    "not_executable": ("./counts.txt", "failed", "exit_code", 126),
    "kills_itself": ("kill -9 $$", "failed", "exit_code", 137),
    "program_killed": ("python -c 'import os; os.kill(os.getpid(), 11)'", "failed", "exit_code", 139),
    "kills_its_parent": ("kill -9 $PPID; sleep 0.2", "failed", "signal", -9),
    "255": ("exit 255", "failed", "exit_code", 255),
}


def test_exit_codes_are_true(make_home: MakeHome) -> None:
    home = make_home(slots=slots(4))
    (home.code / "counts.txt").write_text("not a program\n")
    for name, (command, *_) in ENDINGS.items():
        home.move_in(f"{name}.md", home.blueprint(command, name))
    home.drain()
    assert {name: told(home, name) for name in ENDINGS} == {name: ending[1:] for name, ending in ENDINGS.items()}
    assert home.state("three")["exit_code"] == 3
    assert home.flag("zero")["attempts"] == 1


def test_a_signal_is_named(home: Home) -> None:
    home.move_in("exp.md", home.blueprint("kill -9 $$"))
    home.drain()
    assert "SIGKILL" in home.flag()["reason"]["text"]


STEPS = 'for n in 1 2 3; do echo "step:$n - actor/pg_loss:0.1 - critic/score/mean:0.5"; done; '
BAR = 'printf "Training Progress: 100%%|##########| 3/3 [00:09<00:00, 3.00s/it]\\n"; '
EVALUATED = (
    "echo \"{'global_steps': 3, 'pass_n': 1, 'total_tasks': 10, 'task_pass_rate@1': 0.5}\" >>$AJET_INBOX_RUN.txt; "
)

# name: (mode, command, outcome, code of the reason); each reaches its limit of 3 s or ends by itself
TIMES: dict[str, tuple[str, str, str, str]] = {
    "generic": ("generic", "sleep 100", "failed", "max_time"),
    "stubborn": ("generic", "trap '' TERM; while true; do sleep 1; done", "failed", "max_time"),
    "trained": ("classic", STEPS + "sleep 100", "timed_out", "no_evaluation"),
    "evaluated": ("classic", STEPS + EVALUATED + "sleep 100", "timed_out", "max_time"),
    "blind": ("classic", "sleep 100", "timed_out", "no_evaluation"),
    "never_trained": ("classic", 'echo "step:0 - val/x:0.1"; sleep 100', "failed", "no_training_step"),
    "trained_well": ("classic", STEPS, "succeeded", "completed"),
    "shut_down_badly": ("classic", STEPS + BAR + EVALUATED + "exit 1", "succeeded", "completed_shutdown_failed"),
    "incomplete": ("classic", STEPS + BAR + "exit 1", "failed", "exit_code"),
    "did_nothing": ("classic", 'echo "step:0 - val/x:0.1"', "failed", "no_training_step"),
    "in_time": ("generic", "sleep 0.5", "succeeded", "completed"),
}


def test_the_time_limit(make_home: MakeHome) -> None:
    home = make_home(slots=slots(len(TIMES)), limits={"grace": "500 ms"})
    for name, (mode, command, *_) in TIMES.items():
        conf = f"ajet: {{trainer_common: {{val_print_to_markdown_file_path: {home.code}/{name}.txt}}}}\n"
        (home.code / f"{name}.yaml").write_text(conf)
        text = home.blueprint(command, name, mode=mode, gpus="0", max_time="3 seconds", yaml_path=f"{name}.yaml")
        home.move_in(f"{name}.md", text)
    home.drain()
    assert {name: told(home, name)[:2] for name in TIMES} == {name: case[2:] for name, case in TIMES.items()}


def test_the_limit_counts_from_the_start_of_the_command(make_home: MakeHome) -> None:
    home = make_home()
    home.mark_and_move_in("first.md", home.blueprint("sleep 2", "first"), "priority: 1")
    home.mark_and_move_in("second.md", home.blueprint("sleep 1", "second", max_time="2.5 seconds"))
    home.drain()
    assert home.flag("second")["outcome"] == "succeeded"


def test_a_retry_that_is_asked_for(home: Home) -> None:
    command = 'if [ "$AJET_INBOX_ATTEMPT" -lt 3 ]; then exit 4; fi'
    home.move_in("exp.md", home.counted(command, retry="2"))
    home.drain()
    assert told(home, "exp") == ("succeeded", "completed", 0)
    assert home.flag()["attempts"] == 3
    assert home.counts() == (3, 3)


def test_retries_end(home: Home) -> None:
    home.move_in("exp.md", home.counted("exit 4", retry="1"))
    home.drain()
    assert told(home, "exp") == ("failed", "exit_code", 4)
    assert home.counts() == (2, 2)


def test_nothing_is_launched_again_unasked(home: Home) -> None:
    home.move_in("exp.md", home.counted("exit 4"))
    home.drain()
    assert home.counts() == (1, 1)


@pytest.mark.parametrize("missing", ["codebase_dir", "venv_exe", "launch_command", "result_dir"])
def test_a_blueprint_without_a_required_section_is_rejected(home: Home, missing: str) -> None:
    sections: dict[str, Any] = {missing: None}
    home.move_in("exp.md", home.blueprint(sections.pop("launch_command", "true") or "", **sections))
    home.drain()
    flag = home.flag()
    assert (flag["outcome"], flag["attempts"], flag["exit_code"]) == ("rejected", 0, None)
    assert f"exp_{missing}" in flag["reason"]["text"]


def test_what_is_no_blueprint_is_rejected(home: Home) -> None:
    texts = {"empty": b"", "prose": b"# hello\n\nworld\n", "binary": bytes(range(256)) * 20, "nul": b"\0" * 1000}
    for name, data in texts.items():
        home.move_in(f"{name}.md", data)
    home.drain()
    assert {name: told(home, name)[0] for name in texts} == dict.fromkeys(texts, "rejected")
    assert {name: (home.run(name).drop / f"{name}.md").read_bytes() for name in texts} == texts


def slots(count: int) -> list[dict[str, Any]]:
    """So many slots without GPUs."""
    return [{"name": f"s{number}", "gpus": []} for number in range(count)]


def told(home: Home, name: str) -> tuple[str, str, int | None]:
    """Outcome, code of the reason and exit code, as finish.flag and state.json say alike."""
    flag, state = home.flag(name), home.state(name)
    said = flag["outcome"], flag["reason"]["code"], flag["exit_code"]
    assert (state["outcome"], state["reason"]["code"], state["exit_code"]) == said
    return said
