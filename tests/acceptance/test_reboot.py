"""The machine is restarted under a running experiment (contract section 4): what is known is told, nothing is made up.

A restart is played: everything is killed, and the next watcher sees another boot id.
"""

from __future__ import annotations

import os
import signal
import subprocess
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from ajet_inbox.edge import processes
from tests.acceptance.home import COUNTED, Home, poll
from tests.acceptance.promise import UNTIL_LET, assert_kept, let_end, started

BOOT_ID = "/proc/sys/kernel/random/boot_id"
# Starts a watcher, and with it a tmux server and supervisors, that read their boot id in the file named first.
BOOTED = ("unshare", "--mount", "/bin/sh", "-c", f'mount --bind "$0" {BOOT_ID} && exec "$@"')


@pytest.fixture
def reboot(home: Home, tmp_path: Path) -> Callable[[], None]:
    """Restarts the machine, and runs everything there is to its end."""
    boot_id = tmp_path / "boot_id"
    boot_id.write_text(f"{uuid.uuid4()}\n")
    if subprocess.run([*BOOTED, str(boot_id), "true"], capture_output=True).returncode:
        pytest.skip("a boot id of one's own is not permitted here")

    def restart() -> None:
        kill_everything(home)
        watcher = home.watch("--drain", prefix=(*BOOTED, str(boot_id)))
        assert watcher.wait(60) == 0, watcher.log

    return restart


def kill_everything(home: Home) -> None:
    for watcher in home.watchers:
        watcher.kill()
    if server := home.tmux_server():
        os.kill(server[0], signal.SIGKILL)
    for run in home.runs():
        for folder in sorted((home.run(run).root / "attempts").glob("*")):
            told = started(home, run, int(folder.name))
            processes.send_signal(told["keeper_pid"], told["keeper_start_time"], signal.SIGKILL)
            processes.sweep(told["attempt_id"], 0)


def run_until_begun(home: Home, command: str, **sections: str) -> None:
    home.mark_and_move_in("exp.md", home.counted(command, **sections))
    home.watch()
    poll(lambda: home.counts("exp")[0])
    home.until("exp", state="running")


def test_a_generic_run_is_lost_and_the_next_one_starts(home: Home, reboot: Callable[[], None]) -> None:
    run_until_begun(home, "sleep 100")
    home.mark_and_move_in("next.md", home.counted("exit 3", "next"))
    poll(lambda: home.state("next"))
    reboot()
    flag = home.flag()
    assert (flag["outcome"], flag["exit_code"], flag["attempts"]) == ("lost", None, 1)
    assert "restarted" in flag["reason"]["text"]
    assert home.counts("exp")[0] == 1
    assert home.counts("next") == (1, 1)
    assert home.ajet("wait", "exp").returncode == 5


def test_what_may_safely_start_again_does(home: Home, reboot: Callable[[], None]) -> None:
    run_until_begun(home, 'test "$AJET_INBOX_ATTEMPT" = 2 || sleep 100; exit 3', retry="safe")
    reboot()
    flag = home.flag()
    assert (flag["outcome"], flag["exit_code"], flag["attempts"]) == ("failed", 3, 2)
    assert home.counts("exp")[0] == 2


STEP = 'echo "step:1 - actor/pg_loss:0.1"; '
SAID = 'echo "local_global_step_folder: ./saved_checkpoints/global_step_1"; '
BAR = "printf 'Training Progress:   3%%|#  | 2/60 [00:00<00:11,  0.20s/it]'; "
FOLDER = "saved_checkpoints/math/lr"
YAML = "ajet: {project_name: math, experiment_name: lr}\n"
FILES = f"mkdir -p {FOLDER}/global_step_1; echo 1 >{FOLDER}/latest_checkpointed_iteration.txt; "


@pytest.mark.parametrize(
    ("saved", "attempts"),
    [(SAID + STEP, 2), (BAR + SAID + STEP, 2), (FILES + STEP, 2), ("", 1)],
    ids=["a line", "a line behind a bar", "files only", "nothing"],
)
def test_a_training_goes_on_from_its_checkpoint(
    home: Home, reboot: Callable[[], None], saved: str, attempts: int
) -> None:
    command = f'test "$AJET_INBOX_ATTEMPT" = 2 && echo "step:2 - actor/pg_loss:0.1" && exit 0; {saved} sleep 100'
    (home.code / "exp.yaml").write_text(YAML)
    (home.code / FOLDER / "global_step_0").mkdir(parents=True)  # somebody else's: it proves nothing
    run_until_begun(home, command, mode="classic", gpus="0", yaml_path=str(home.code / "exp.yaml"))
    if saved:
        poll(lambda: "first_step" in home.events())
    reboot()
    flag = home.flag()
    assert (flag["outcome"], flag["attempts"]) == ("succeeded" if saved else "lost", attempts)


SECTIONS: dict[str, dict[str, str]] = {
    "command": {"command": UNTIL_LET},
    "prepare": {"command": "exit 0", "prepare_command": COUNTED + UNTIL_LET},
}


@pytest.mark.parametrize("stage", SECTIONS)
def test_a_command_that_had_ended_before_is_told_truly(home: Home, reboot: Callable[[], None], stage: str) -> None:
    """Its supervisor had no time to say so any more, but launch.sh had."""
    run_until_begun(home, **SECTIONS[stage])
    keeper = started(home, "exp")["keeper_pid"]
    os.kill(keeper, signal.SIGSTOP)
    let_end(home)
    poll((home.run().attempt(1) / "status").exists)
    reboot()
    assert not (home.run().attempt(1) / "exit.json").exists()
    assert_kept(home, {"exp": 3})
    assert home.flag()["reason"]["code"] == ("prepare_failed" if stage == "prepare" else "exit_code")


def test_a_run_that_was_being_cancelled_stays_cancelled(home: Home, reboot: Callable[[], None]) -> None:
    run_until_begun(home, "trap '' TERM; while true; do sleep 1; done")
    home.ajet("cancel", "exp", "--reason", "enough")
    poll(lambda: "stopping" in home.events())
    reboot()
    flag = home.flag()
    assert (flag["outcome"], "enough" in flag["reason"]["text"]) == ("cancelled", True)
    assert home.counts("exp")[0] == 1
