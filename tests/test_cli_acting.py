"""The real command: deciding about runs, dropping blueprints, making homes."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from ajet_inbox.core.lifecycle import Outcome
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.edge.control import requests
from ajet_inbox.edge.files import list_names
from tests.cli_home import (
    add_run,
    ajet,
    ajet_json,
    end,
    finished,
    let_watch,
    make_busy,
    make_home,
    on_a_terminal,
    queued,
    set_state,
    state_of,
)


@pytest.fixture
def home(tmp_path: Path) -> HomePaths:
    return make_home(tmp_path / "home")


@pytest.fixture
def busy(home: HomePaths) -> HomePaths:
    return make_busy(home)


# ---- deciding -----------------------------------------------------------------------------------------------------


def test_a_running_run_is_not_cancelled_by_a_slip(busy: HomePaths) -> None:
    done = ajet(busy, "cancel", "runs")
    assert done.returncode == 2
    assert "--reason" in done.stderr
    assert on_a_terminal(busy, "cancel", "runs", answer="n\n")[0] == 1
    assert requests(busy) == []
    assert on_a_terminal(busy, "cancel", "runs", answer="y\n")[0] == 0
    assert ajet(busy, "cancel", "runs", "--reason", "enough").returncode == 0
    assert [request.reason for _, request in requests(busy) if request] == ["", "enough"]


def test_without_a_watcher_what_is_asked_is_pending(busy: HomePaths) -> None:
    code, document = ajet_json(busy, "cancel", "waits")
    assert (code, document["pending"], document["state"]) == (0, True, "queued")
    done = ajet(busy, "hold", "waits")
    assert (done.returncode, done.stdout.count("\n")) == (0, 1)
    assert "as soon as a watcher" in done.stdout


def test_what_is_refused_is_exit_1(busy: HomePaths) -> None:
    code, documents = ajet_json(busy, "hold", "waits", "runs")
    assert code == 1
    assert [(d["run"], d["pending"], bool(d["refused"])) for d in documents] == [
        ("waits", True, False),
        ("runs", False, True),
    ]


def test_priority_may_be_negative(busy: HomePaths) -> None:
    assert ajet(busy, "prioritize", "waits", "-5").returncode == 0
    assert [request.priority for _, request in requests(busy) if request] == [-5]
    set_state(busy, "waits", priority=-5)
    assert ajet(busy, "prioritize", "waits", "-5").stdout == "waits is queued, priority -5.\n"


def test_a_run_whose_host_lives_is_not_given_up(busy: HomePaths) -> None:
    let_watch(busy)
    done = ajet(busy, "lost", "runs")
    assert done.returncode == 1
    assert "ajet-inbox cancel runs" in done.stderr
    assert ajet(busy, "lost", "done").returncode == 1
    set_state(busy, "runs", host="gone")
    assert ajet_json(busy, "lost", "runs", "--reason", "burnt")[1]["pending"]


def test_the_queue_is_paused_and_resumed(home: HomePaths) -> None:
    assert "@" in ajet_json(home, "pause")[1]["by"]
    assert "paused since" in ajet(home, "status").stdout
    assert ajet_json(home, "resume")[1] == {"paused": False, "was_paused": True}
    assert "paused since" not in ajet(home, "status").stdout


# ---- dropping -----------------------------------------------------------------------------------------------------


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    path = tmp_path / "exp.md"
    path.write_text("# an experiment\n")
    return path


def test_a_drop_that_nobody_takes_has_no_run_yet(home: HomePaths, draft: Path) -> None:
    code, document = ajet_json(home, "submit", str(draft), "--key", "k", "--priority", "3", "--after", "a")
    assert code == 0
    assert (document["name"], document["key"], document["run"], document["finish_flag"]) == ("exp.md", "k", None, None)
    assert {problem["level"] for problem in document["problems"]} >= {"error"}
    assert (home.inbox / "exp.md.ready").read_text() == "key: k\npriority: 3\nafter:\n- a\n"


def accept(home: HomePaths, name: str, outcome: Outcome | None = None) -> threading.Thread:
    """Takes a drop as a watcher would, as soon as it is there."""

    def watch() -> None:
        deadline = time.monotonic() + 20
        while f"{name}.md" not in list_names(home.inbox) and time.monotonic() < deadline:
            time.sleep(0.02)
        (home.inbox / f"{name}.md").unlink()
        (home.inbox / f"{name}.md.ready").unlink()
        add_run(home, name, *(finished(outcome) if outcome else queued()), sha256=sha256_of(b"# an experiment\n"))
        if outcome:
            end(home, name, outcome)

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def sha256_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_what_cannot_be_read_is_dropped_for_the_watcher_to_reject(home: HomePaths, tmp_path: Path) -> None:
    large = tmp_path / "large.md"
    large.write_bytes(b"x" * ((1 << 20) + 1))
    code, document = ajet_json(home, "submit", str(large))
    assert (code, [problem["code"] for problem in document["problems"]]) == (0, ["unreadable"])
    assert "large.md" in list_names(home.inbox)
    assert ajet(home, "check", str(large)).returncode == 1


@pytest.mark.parametrize(("outcome", "wanted"), [(None, 0), (Outcome.REJECTED, 3)])
def test_where_a_watcher_lives_the_run_is_told(
    home: HomePaths, draft: Path, outcome: Outcome | None, wanted: int
) -> None:
    let_watch(home)
    taking = accept(home, "exp", outcome)
    code, document = ajet_json(home, "submit", str(draft))
    taking.join()
    assert (code, document["run"]) == (wanted, "exp")
    assert document["drop_sha256"] == sha256_of(b"# an experiment\n")
    assert document["run_dir"] == str(home.outbox / "exp")
    assert document["finish_flag"] == str(home.outbox / "exp" / "finish.flag")


def test_submit_can_wait_for_the_end(home: HomePaths, draft: Path) -> None:
    taking = accept(home, "exp", Outcome.FAILED)
    code, document = ajet_json(home, "submit", str(draft), "--wait")
    taking.join()
    assert (code, document["outcome"]) == (1, "failed")


def test_a_retry_drops_the_same_again(busy: HomePaths) -> None:
    code, document = ajet_json(busy, "retry", "done")
    assert (code, document["name"]) == (0, "done.md")
    assert (busy.inbox / "done.md").read_text() == "# dropped\n"
    assert (busy.inbox / "done.md.ready").read_text() == "retry_of: done\n"


def test_a_folder_is_retried_with_its_files(home: HomePaths) -> None:
    add_run(home, "exp", *finished(Outcome.FAILED), drop="exp")
    (home.run("exp").drop / "blueprint.md").write_text("# folder\n")
    assert ajet_json(home, "retry", "exp")[0] == 0
    assert (home.inbox / "exp" / "blueprint.md").read_text() == "# folder\n"
    assert (home.inbox / "exp" / ".ready").read_text() == "retry_of: exp\n"


def test_what_was_dropped_may_be_gone(busy: HomePaths) -> None:
    (busy.run("done").drop / "done.md").unlink()
    assert "Submit its blueprint again" in ajet(busy, "retry", "done").stderr


def test_check_says_what_it_read_and_what_is_wrong(draft: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "blueprint.md").write_text(draft.read_text())
    done = ajet(None, "check", str(draft), str(tmp_path / "folder"), "--json", cwd=tmp_path)
    documents = json.loads(done.stdout)
    assert done.returncode == 1
    assert [document["ok"] for document in documents] == [False, False]
    problem = next(p for p in documents[0]["problems"] if p["section"] == "exp_launch_command")
    assert problem.keys() == {"code", "kind", "level", "section", "line", "message", "hint"}
    blueprint: dict[str, Any] = documents[0]["blueprint"]
    assert blueprint.keys() >= {"purpose", "codebase_dir", "venv_exe", "yaml_path", "launch_command", "services"}
    plain = ajet(None, "check", str(draft), cwd=tmp_path)
    assert plain.returncode == 1
    assert "[exp_launch_command]" in plain.stderr


# ---- homes --------------------------------------------------------------------------------------------------------


def test_init_makes_a_home_and_overwrites_nothing(tmp_path: Path) -> None:
    done = ajet(None, "init", "new/home", cwd=tmp_path)
    assert done.returncode == 0
    config = tmp_path / "new/home/ajet-inbox.yaml"
    assert ajet(None, "doctor", cwd=config.parent).returncode == 0
    config.write_text("language: zh\n")
    assert json.loads(ajet(None, "init", "--json", cwd=config.parent).stdout)["settings_written"] is False
    assert config.read_text() == "language: zh\n"


def findings(home: HomePaths) -> dict[str, tuple[str, str]]:
    return {check["check"]: (check["health"], check["text"]) for check in ajet_json(home, "doctor")[1]["checks"]}


def test_doctor_tells_what_holds_and_what_does_not(home: HomePaths) -> None:
    home.config.write_text("limits:\n  world_wait: 5 min\n")
    home.inbox.chmod(0o755)
    found = findings(home)
    assert {name: health for name, (health, _) in found.items() if name not in ("disk", "gpus")} == {
        "settings": "ok",
        "folders": "ok",
        "access": "ok",
        "watcher": "warn",
        "python": "ok",
        "tmux": "ok",
    }
    told = ajet(home, "doctor").stdout.splitlines()
    assert told[0] == "set limits.world_wait: 5 min"
    assert not told[1].startswith("set ")
    assert ajet_json(home, "doctor")[1]["settings"]["watch.scan"] == "2 s"
    assert list_names(home.inbox) == list_names(home.outbox) == ()


def test_doctor_is_loud_where_everybody_may_drop(home: HomePaths) -> None:
    home.inbox.chmod(0o777)
    assert findings(home)["access"][0] == "warn"
    assert "EVERY user" in findings(home)["access"][1]
    home.inbox.chmod(0o775)
    assert findings(home)["access"][0] == "ok"


def test_doctor_says_what_to_do_about_slots(home: HomePaths) -> None:
    home.config.write_text("slots:\n  - {name: left, gpus: [99]}\n")
    assert findings(home)["gpus"][0] == "bad"
    assert "'nvidia-smi -L' lists" in findings(home)["gpus"][1]
    home.config.write_text("slots:\n  - {name: left, host: elsewhere, gpus: []}\n")
    assert "names only those of others" in findings(home)["gpus"][1]
    home.config.write_text("slots:\n  - {name: left, gpus: []}\n")
    assert findings(home)["gpus"] == ("ok", "Slots of this host: left with no GPUs.")


def test_doctor_sees_a_home_that_cannot_work(home: HomePaths) -> None:
    home.outbox.rmdir()
    assert findings(home)["folders"][0] == "bad"
    assert ajet(home, "doctor").returncode == 1


def test_pages_are_written_anew_from_the_journal(busy: HomePaths) -> None:
    busy.run("done").state.write_text("{}")
    (busy.run("runs").segment(1)).write_text('{"event":"from_the_future","at":"2030-01-01T00:00:00Z"}\n')
    assert ajet(busy, "render", "done").returncode == 0
    assert state_of(busy, "done")["outcome"] == "succeeded"
    assert "outcome: succeeded" in busy.run("done").flag.read_text()
    code, documents = ajet_json(busy, "render", "--all")
    assert (code, {d["run"]: bool(d["error"]) for d in documents}) == (1, {"runs": True, "waits": False, "done": False})
