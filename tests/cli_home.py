"""Homes built by hand, and the real command on them."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from ajet_inbox.app.heartbeat import Sign, SlotSign, show
from ajet_inbox.app.identity import myself
from ajet_inbox.core import journal
from ajet_inbox.core.blueprint import Blueprint, Problem
from ajet_inbox.core.drops import DropKind
from ajet_inbox.core.journal import AnyEntry, Claimed, Drop, Reason, Relinquished, Submitted, encode
from ajet_inbox.core.lifecycle import Outcome, Step
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.core.run import Run, begin, extend
from ajet_inbox.core.telling.snapshot import snapshot

AT = datetime(2026, 1, 1, 8, 0, tzinfo=UTC)
ATTACH = "env -u TMUX tmux -u -S /tmp/aj-0/s attach-session -r -t =ajet_x"


def make_home(folder: Path) -> HomePaths:
    home = HomePaths(folder)
    home.inbox.mkdir(parents=True)
    home.outbox.mkdir()
    return home


def add_run(
    home: HomePaths,
    name: str,
    *entries: AnyEntry,
    drop: str | None = None,
    key: str | None = None,
    priority: int = 0,
    sha256: str = "0" * 64,
    problems: tuple[Problem, ...] = (),
    state_json: bool = True,
    at: datetime = AT,
    **told: Any,
) -> HomePaths:
    """A run folder whose journal holds a submission and `entries`; `told` changes its state.json."""
    paths = home.run(name)
    paths.journal.mkdir(parents=True)
    dropped = drop or f"{name}.md"
    submitted = Submitted(
        at=at,
        drop=Drop(id="d", name=dropped, kind=DropKind.FILE, sha256=sha256, key=key, priority=priority),
        blueprint=Blueprint(purpose="a test"),
        problems=problems,
    )
    claim = Claimed(at=at, owner=myself(), act="accept")
    paths.segment(1).write_bytes(encode([claim, submitted, *entries]))
    if state_json:
        run = extend(begin(name, submitted, claim.owner, 1), entries)
        tell(home, run, **told)
    paths.drop.mkdir()
    (paths.drop / dropped).write_text("# dropped\n")
    return home


def tell(home: HomePaths, run: Run, **told: Any) -> None:
    home.run(run.name).state.write_text(json.dumps({**snapshot(run), **told}))


def queued() -> tuple[AnyEntry, ...]:
    return (journal.Accepted(at=AT), Relinquished(at=AT))


def running() -> tuple[AnyEntry, ...]:
    return (
        journal.Accepted(at=AT),
        journal.Allocated(at=AT, slot="slot-0"),
        journal.Starting(at=AT, attempt=1, id="d-1", session="ajet_x", limit_s=3600.0),
        journal.Launched(at=AT, pid=1, boot_id="b", started_at=AT),
    )


def finished(outcome: Outcome) -> tuple[AnyEntry, ...]:
    reason = Reason(code="because", text=f"It was {outcome}.")
    match outcome:
        case Outcome.REJECTED:
            before, via = (), Step.REJECT
        case Outcome.CANCELLED:
            before, via = queued()[:1], Step.CANCEL
        case Outcome.LOST:
            before, via = running(), Step.LOSE
        case _:
            before, via = (*running(), journal.Exited(at=AT)), Step.CONCLUDE
    return (*before, journal.Finished(at=AT, via=via, outcome=outcome, reason=reason))


def end(home: HomePaths, name: str, outcome: Outcome) -> None:
    home.run(name).flag.write_text(f"run: {name}\noutcome: {outcome}\n")


def console(home: HomePaths, name: str, attempt: int, data: bytes) -> None:
    folder = home.run(name).attempt(attempt)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "console.log").open("ab") as file:
        file.write(data)


def live_sign(**changes: Any) -> Sign:
    """That of a watcher which lives as long as this process."""
    owner = asdict(myself())
    slots = (SlotSign(name="slot-0", gpus=("GPU-0",), run="busy"), SlotSign(name="slot-1", gpus=()))
    return Sign(**{**owner, "counter": 1, "version": "0", "at": datetime.now(UTC), "slots": slots, **changes})


def let_watch(home: HomePaths, **changes: Any) -> None:
    home.watchers.mkdir(exist_ok=True)
    show(home, live_sign(**changes))


def make_busy(home: HomePaths) -> HomePaths:
    """A home with a run of each kind."""
    add_run(home, "done", *finished(Outcome.SUCCEEDED), metrics={"task_pass_rate@1": 0.123456, "dataset": "aime"})
    end(home, "done", Outcome.SUCCEEDED)
    add_run(home, "runs", *running(), step=34, total_steps=200, attach_command=ATTACH)
    console(home, "runs", 1, b"".join(b"line %d\n" % n for n in range(100)))
    add_run(home, "waits", *queued(), blocked="no_free_slot: No slot is free.", priority=2)
    return home


def state_of(home: HomePaths, name: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(home.run(name).state.read_text())
    return told


def set_state(home: HomePaths, name: str, **changes: Any) -> None:
    path = home.run(name).state
    new = path.with_name(".new")
    new.write_text(json.dumps({**state_of(home, name), **changes}))
    new.replace(path)


def environment(**extra: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "AJET_INBOX_HOME"}
    return {**kept, "PYTHONIOENCODING": "utf-8", "TZ": "UTC", **extra}


def ajet(home: HomePaths | None, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """The real command; `options` go to the environment, but for cwd."""
    command = [sys.executable, "-m", "ajet_inbox", *(["--home", str(home.root)] if home else []), *arguments]
    cwd = options.pop("cwd", None)
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", env=environment(**options), cwd=cwd, timeout=60,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


def ajet_json(home: HomePaths, *arguments: str) -> tuple[int, Any]:
    """The exit code and the one document."""
    done = ajet(home, *arguments, "--json")
    return done.returncode, json.loads(done.stdout)


def start(home: HomePaths, *arguments: str, **extra: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "ajet_inbox", "--home", str(home.root), *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment(**extra))


def on_a_terminal(
    home: HomePaths, *arguments: str, columns: int = 80, answer: str = "", **extra: str
) -> tuple[int, str]:
    """The command on a terminal of its own: its exit code and what it shows."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "ajet_inbox", "--home", str(home.root), *arguments]
    variables = environment(COLUMNS=str(columns), TERM="xterm-256color", **extra)
    child = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=variables, start_new_session=True)
    os.close(theirs)
    os.write(ours, answer.encode())
    shown = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # what Linux says when the other side is closed
            break
        shown += piece
    os.close(ours)
    return child.wait(timeout=30), shown.decode(errors="replace")
