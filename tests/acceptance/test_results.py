"""What a run leaves for programs and people (contract section 3)."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import yaml

from tests.acceptance.home import Home, names, poll

STATE = (
    "schema", "run", "name", "key", "drop_sha256", "state", "blocked", "outcome", "reason", "attempt", "slot", "host",
    "priority", "submitted_at", "started_at", "finished_at", "step", "total_steps", "eta", "metrics", "exit_code",
    "attach_command", "capture_command",
)  # fmt: skip
FLAG = (
    "run", "name", "key", "drop_sha256", "outcome", "reason", "exit_code", "attempts", "started_at", "finished_at",
    "host", "result", "result_sha256",
)  # fmt: skip
FILES = {
    "drop", "journal", "state.json", "attempts", "trial_log.md", "result.md", "result.json", "index.html",
    "finish.flag",
}  # fmt: skip
STEPS = 'for n in 1 2 3; do echo "step:$n - actor/pg_loss:0.1 - critic/score/mean:0.5"; done'
UNTIL_GO = "until [ -e go ]; do sleep 0.05; done"


def test_the_run_folder(home: Home) -> None:
    text = home.blueprint("echo words")
    home.mark_and_move_in("exp.md", text, "key: k-1\npriority: 3\n")
    home.drain()
    root = home.run().root
    assert names(root) == FILES
    assert names(home.run().drop) == {"exp.md", "exp.md.ready"}
    assert (home.run().drop / "exp.md").read_text() == text
    assert {"launch.sh", "console.log", "exit.json"} <= names(home.run().attempt(1))
    flag, state = home.flag(), home.state()
    assert tuple(flag) == FLAG
    assert tuple(state) == STATE
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    for told in (flag, state):
        expected = {"run": "exp", "name": "exp.md", "key": "k-1", "drop_sha256": sha256, "outcome": "succeeded"}
        assert expected.items() <= told.items()
    assert flag["result_sha256"] == hashlib.sha256((root / "result.md").read_bytes()).hexdigest()
    assert (state["state"], state["slot"], state["priority"], state["attempt"]) == ("finished", "one", 3, 1)
    assert flag["host"] == state["host"] == os.uname().nodename
    assert json.loads((root / "result.json").read_text())["outcome"] == "succeeded"


def test_times_have_an_offset_and_are_in_order(home: Home) -> None:
    before = datetime.now().astimezone() - timedelta(seconds=1)
    home.move_in("exp.md", home.blueprint("sleep 0.3"))
    home.drain()
    state = home.state()
    times = [datetime.fromisoformat(state[key]) for key in ("submitted_at", "started_at", "finished_at")]
    assert all(each.tzinfo for each in times)
    moments = [before, *times, datetime.now().astimezone()]
    assert moments == sorted(moments)
    assert timedelta(seconds=0.3) <= times[2] - times[1] < timedelta(seconds=10)
    assert {key: str(home.flag()[key]) for key in ("started_at", "finished_at")} == {
        key: state[key] for key in ("started_at", "finished_at")
    }


def test_the_flag_is_last(home: Home) -> None:
    home.move_in("exp.md", home.blueprint("true"))
    home.watch()
    poll(lambda: home.has_flag())
    assert names(home.run().root) >= FILES
    assert home.state()["state"] == "finished"
    root = home.run().root
    flagged_at = (root / "finish.flag").stat().st_mtime_ns
    assert all((root / name).stat().st_mtime_ns <= flagged_at for name in ("result.md", "state.json", "trial_log.md"))


def test_receipts(home: Home) -> None:
    home.ajet("pause")
    watcher = home.watch("--drain")
    text = home.blueprint("exit 3")
    home.move_in("exp.md", text)
    home.until("exp", state="queued")
    receipt = home.paths.receipt(hashlib.sha256(text.encode()).hexdigest())
    waiting = poll(lambda: json.loads(receipt.read_text()) if receipt.exists() else None)
    where = {"run": "exp", "run_dir": str(home.run().root), "finish_flag": str(home.run().flag)}
    assert waiting == {**where, "state": "queued", "outcome": None}
    home.ajet("resume")
    assert watcher.wait() == 0
    assert json.loads(receipt.read_text()) == {**where, "state": "finished", "outcome": "failed"}


def test_a_folders_receipt_is_that_of_its_blueprint(home: Home) -> None:
    text = home.blueprint("true")
    home.move_in("exp", {"blueprint.md": text, "more.txt": "more"})
    home.drain()
    receipt = home.paths.receipt(hashlib.sha256(text.encode()).hexdigest())
    assert json.loads(receipt.read_text())["run"] == "exp"


def test_the_state_while_it_runs(home: Home) -> None:
    home.move_in("exp.md", home.blueprint(f"{STEPS}; {UNTIL_GO}", mode="classic", gpus="0"))
    home.watch()
    state = home.until("exp", state="running", step=3)
    assert (state["attempt"], state["slot"], state["outcome"], state["exit_code"]) == (1, "one", None, None)
    assert state["started_at"] is not None
    assert state["finished_at"] is None
    assert state["attach_command"]
    assert "first_step" in home.events()
    (home.code / "go").touch()
    home.flag()


def test_pages_of_a_run_that_waits_and_goes_on(make_home: Callable[..., Home]) -> None:
    """They tell what the check said, and follow the run; its last pages are those of its results."""
    home = make_home(progress={"read": "200 ms", "render": "200 ms"})
    pages = [home.run().root / name for name in ("trial_log.md", "index.html")]

    def until_told(*told: str) -> None:
        poll(lambda: all(page.exists() and all(each in page.read_text() for each in told) for page in pages))

    home.ajet("pause")
    watcher = home.watch("--drain")
    for name in ("exp", "other"):
        home.move_in(
            f"{name}.md", home.blueprint(f"{STEPS}; {UNTIL_GO}", name, mode="classic", gpus="0", max_time=None)
        )
    until_told("queued", "max_time")
    assert not {"result.md", "result.json", "metrics.csv", "finish.flag"} & names(home.run().root)
    home.ajet("resume")
    until_told("running", "2026", "not ended yet")
    poll(lambda: "Last step: 3" in pages[0].read_text())
    poll(lambda: "step:3" in pages[1].read_text())
    before = pages[0].read_bytes()
    poll(lambda: pages[0].read_bytes() != before)
    (home.code / "go").touch()
    assert watcher.wait() == 0
    for page in pages:
        assert "succeeded" in page.read_text()
        assert "As of" not in page.read_text()
    told = [page.read_bytes() for page in pages]
    assert home.ajet("render", "exp").returncode == 0
    assert [page.read_bytes() for page in pages] == told


def test_pages_that_cannot_be_written_cost_the_run_nothing(home: Home) -> None:
    home.ajet("pause")
    watcher = home.watch("--drain")
    home.move_in("exp.md", home.blueprint(UNTIL_GO))
    home.until("exp", state="queued")
    poll(lambda: "index.html" in names(home.run().root))
    for name in ("trial_log.md", "index.html"):
        (home.run().root / name).unlink()
        (home.run().root / name).mkdir()
    home.ajet("resume")
    home.until("exp", state="running")
    poll(lambda: "The pages of exp could not be written" in watcher.log)
    for name in ("trial_log.md", "index.html"):
        (home.run().root / name).rmdir()
    (home.code / "go").touch()
    assert watcher.wait() == 0
    assert home.flag()["outcome"] == "succeeded"


def test_the_journal_tells_the_whole_story(home: Home) -> None:
    home.move_in("exp.md", home.blueprint("exit 3"))
    home.drain()
    assert home.events() == [
        "claimed", "submitted", "accepted", "relinquished",
        "claimed", "allocated", "starting", "launched", "exited", "finished", "published",
    ]  # fmt: skip
    assert names(home.run().journal) == {"1.jsonl", "2.jsonl"}


@pytest.mark.parametrize(("language", "word"), [("en", "failed"), ("zh", "失败")])
def test_languages(home: Home, language: str, word: str) -> None:
    home.configure(language=language)
    home.move_in("exp.md", home.blueprint("exit 3", purpose="看看 what happens"))
    home.drain()
    root = home.run().root
    for name in ("result.md", "trial_log.md", "index.html"):
        text = (root / name).read_text(encoding="utf-8")
        assert word in text, name
        assert "看看 what happens" in text or name == "trial_log.md"
    assert home.flag()["outcome"] == "failed"


def test_flags_are_yaml_whatever_is_in_them(home: Home) -> None:
    name = "{}: [] #'\"& !!python %\\ 数.md"
    key = "'k': \"1\" # - ? ! | > & *"
    home.mark_and_move_in(name, home.blueprint("true"), yaml.safe_dump({"key": key}))
    home.drain()
    (run,) = home.runs()
    flag = home.flag(run)
    assert (flag["name"], flag["key"], flag["outcome"]) == (name, key, "succeeded")


@pytest.mark.parametrize("umask", ["022", "002", "077"])
def test_modes_are_those_of_the_umask(home: Home, umask: str) -> None:
    home.move_in("exp.md", home.blueprint("touch made; umask"))
    watcher = home.watch("--drain", prefix=["bash", "-c", f'umask {umask}; exec "$@"', "bash"])
    assert watcher.wait() == 0, watcher.log
    assert home.console().strip()[-3:] == umask
    mask = int(umask, 8)
    root = home.run().root
    ours = [path for path in (root, *root.rglob("*")) if path.parent.name != "1" or path.parent == root]
    for path in [*ours, home.results / "exp" / "finish.flag", home.code / "made"]:
        mode = stat.S_IMODE(path.stat().st_mode)
        expected = (0o777 if path.is_dir() else 0o666) & ~mask
        assert mode == expected or (path.is_file() and mode == 0o777 & ~mask), (path, oct(mode))


def test_a_group_shares_the_boxes(home: Home) -> None:
    """setgid folders hand their group down to every file of a run."""
    group = 4321
    if os.geteuid() != 0:
        pytest.skip("only root may give files to any group")
    for box in (home.paths.inbox, home.paths.outbox):
        os.chown(box, -1, group)
        box.chmod(0o2775)
    home.move_in("exp", {"blueprint.md": home.blueprint("true", codebase_dir="./"), "a": "b"})
    home.drain()
    root = home.run().root
    assert {path.stat().st_gid for path in (root / "result.md", root / "finish.flag", root / "work" / "a")} == {group}


def test_secrets_are_not_told(home: Home) -> None:
    secret = "sk-abcdefghijklmnopqrstuvwxyz0123456789"
    home.move_in("exp.md", home.blueprint(f"export OPENAI_API_KEY={secret}; echo $OPENAI_API_KEY; exit 3"))
    home.drain()
    root = home.run().root
    for name in ("result.md", "trial_log.md", "index.html", "result.json", "state.json", "finish.flag"):
        assert secret not in (root / name).read_text(), name


def test_autokill_is_stripped_and_told(home: Home) -> None:
    launcher = home.code / "ajet"
    launcher.mkdir()
    (launcher / "__init__.py").touch()
    (launcher / "launcher.py").write_text("import sys; print(sys.argv[1:]); print('step:1 - actor/pg_loss:0.1')")
    (home.code / "conf.yaml").write_text("ajet: {trainer_common: {n_gpus_per_node: 0}}\n")
    home.move_in("exp.md", home.blueprint("python -m ajet.launcher --conf conf.yaml --autokill", gpus="0"))
    home.drain()
    assert home.flag()["outcome"] == "succeeded", home.flag()
    assert home.console().splitlines()[0] == "['--conf', 'conf.yaml', '--skip-check-avail-gpu']"
    assert "autokill" in (home.run().root / "trial_log.md").read_text()


def test_our_processes_tell_nothing_by_their_command_lines(home: Home) -> None:
    """What an experiment that kills by name would find: none of ours holds python, ray, vllm or the home's path."""
    home.move_in("exp.md", home.blueprint(UNTIL_GO))
    watcher = home.watch()
    home.until("exp", state="running")
    started = json.loads((home.run().attempt(1) / "started.json").read_text())
    server = home.tmux("display-message", "-p", "#{pid}").stdout.strip()
    pane = home.tmux("list-panes", "-a", "-F", "#{pane_pid}").stdout.split()
    tails = subprocess.run(["pgrep", "-P", ",".join(pane)], capture_output=True, text=True).stdout.split()
    for pid in [watcher.pid, started["keeper_pid"], started["pid"], server, *pane, *tails]:
        line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        assert not any(word in line.lower() for word in ("python", "ray", "vllm", str(home.root).lower())), line
    (home.code / "go").touch()
    home.flag()
