"""`ajet-inbox demo`: three small experiments through a home of their own, by the same watcher as all others."""

from __future__ import annotations

import importlib.util
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import click

import ajet_inbox
from ajet_inbox.app.client.dropping import drop
from ajet_inbox.app.client.overview import overview
from ajet_inbox.app.client.watchers import Watchers
from ajet_inbox.app.errors import Code, UserError
from ajet_inbox.cli.base import Command
from ajet_inbox.cli.demo_checks import PARTS, Stage, complaints, living
from ajet_inbox.cli.demo_view import follow, show_excerpt
from ajet_inbox.cli.output import say, warn
from ajet_inbox.cli.status import status_view
from ajet_inbox.cli.tables import print_rich, width
from ajet_inbox.core.drops import ReadyMark
from ajet_inbox.edge import neutral, processes

_PATIENCE_S = 120.0
_END_S = 10.0
# Without GPUs, so that it runs anywhere and disturbs nobody; two slots, so that two runs are seen side by side.
_SETTINGS = """\
slots:
  - {name: left, gpus: []}
  - {name: right, gpus: []}
progress: {read: 0.5 s}
"""


@click.command(cls=Command)
def demo() -> int:
    """Run three small experiments, to see how it works.

    One trains, one fails and one is rejected, each to its finish.flag: about 20 seconds on one core, in a new folder
    that is kept. The exit code is 1 where anything is not as it should be.
    """
    _need_tools()
    _on_signals(signal.default_int_handler)  # however it is broken off, nothing stays behind
    stage = Stage(root=Path(tempfile.mkdtemp(prefix="ajet-demo-")).resolve())
    try:
        wrong = _play(stage)
    except KeyboardInterrupt:
        shutil.rmtree(stage.root, ignore_errors=True)
        raise
    for sentence in wrong:
        warn(f"NOT AS IT SHOULD BE: {sentence}")
    _tell_where(stage)
    return Code.NO if wrong else Code.FINE


def _need_tools() -> None:
    """Tell what is missing before anything is made.

    Raises:
        UserError: the demo cannot run here.
    """
    if importlib.util.find_spec("numpy") is None:
        advice = f"Add it: '{sys.executable} -m pip install \"ajet-inbox[demo]\"'."
        raise UserError("The demo trains with numpy, which this environment does not have.", advice)
    if shutil.which("tmux") is None:
        raise UserError("tmux is not installed, and every experiment runs in a session of it.", "Install it first.")


def _on_signals(handler: Callable[[int, FrameType | None], object] | signal.Handlers) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, handler)


def _play(stage: Stage) -> list[str]:
    """The whole demo; what is not as it should be."""
    _set_up(stage)
    say(f"A home in {stage.home.root}. Its inbox gets three blueprints:")
    for part in PARTS:
        drop(stage.home, stage.root / f"{part.run}.md", ReadyMark())
        say(f"  {part.run + '.md':<12}{part.about}")
    with _watcher(stage) as watcher:
        in_time = follow(stage.home, watcher, time.monotonic() + _PATIENCE_S)
        wrong = [] if in_time else [f"It was not over after {_PATIENCE_S:g} s."]
        wrong += list(complaints(stage, watcher.poll()))
    _show_end(stage)
    return wrong


def _set_up(stage: Stage) -> None:
    """A home, a codebase of its own, and the blueprints with the paths as they are here."""
    examples = _examples()
    for folder in (stage.home.inbox, stage.home.outbox, stage.results):
        folder.mkdir(parents=True)
    stage.home.config.write_text(_SETTINGS, encoding="utf-8")
    left_out = shutil.ignore_patterns("saved_*", "__pycache__")
    shutil.copytree(examples / "codebase", stage.codebase, ignore=left_out)
    for part in PARTS:
        text = (examples / "blueprints" / f"{part.run}.md").read_text(encoding="utf-8")
        for name, value in stage.places.items():
            text = text.replace(name, value)
        (stage.root / f"{part.run}.md").write_text(text, encoding="utf-8")


def _examples() -> Path:
    """Inside the package where it is installed, beside it in a clone."""
    package = Path(ajet_inbox.__file__).parent
    inside = package / "examples"
    return inside if inside.is_dir() else package.parent / "examples"


@contextmanager
def _watcher(stage: Stage) -> Iterator[subprocess.Popen[bytes]]:
    """A real watcher in a session of its own, so that a Ctrl-C here reaches only the demo."""
    command = [sys.executable, "-m", "ajet_inbox", "--home", str(stage.home.root), "watch", "--drain"]
    with stage.log.open("wb") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd=stage.root
        )
    try:
        yield process
    finally:
        _on_signals(signal.SIG_IGN)  # a second Ctrl-C must not break off the ending; it takes some seconds at most
        _end(process)
        _end_attempts(stage)
        _close_terminals(stage)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _end_attempts(stage: Stage) -> None:
    """What still runs, which is something only where the demo was broken off. Its supervisors end with it."""
    for attempt_id in living(stage):
        processes.sweep(attempt_id, grace_s=2.0)
    deadline = time.monotonic() + _END_S
    while living(stage) and time.monotonic() < deadline:
        time.sleep(0.05)


def _close_terminals(stage: Stage) -> None:
    """The tmux server of this home, which would otherwise wait for further experiments for ever."""
    runtime = neutral.runtime_dir(stage.home.root)
    subprocess.run(["tmux", "-S", str(runtime / "tmux"), "kill-server"], capture_output=True, check=False, timeout=10)
    shutil.rmtree(runtime, ignore_errors=True)


def _show_end(stage: Stage) -> None:
    say("\nAll is done, so the watcher has ended. This is what `ajet-inbox status` shows:\n")
    print_rich(status_view(overview(stage.home, Watchers(stage.home)), width(), wraps=sys.stdout.isatty()))
    say("\nFrom the result of the first one, result.md:\n")
    if (result := stage.home.run(PARTS[0].run).root / "result.md").is_file():
        show_excerpt(result.read_text(encoding="utf-8"))


def _tell_where(stage: Stage) -> None:
    say(f"\nThe runs      {stage.home.outbox}: finish.flag, result.md, trial_log.md, index.html and more of each")
    say(f"The results   {stage.results}: what was delivered, as each blueprint asked")
    say(f"The story     ajet-inbox --home {stage.home.root} show good")
    say(f"The watcher   {stage.log}: what it logged")
    say(f"To remove it  rm -r {stage.root}")
