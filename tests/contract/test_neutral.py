"""What an experiment that kills by name can find of us: nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ajet_inbox.core.attempt import session_name
from ajet_inbox.edge import neutral
from ajet_inbox.edge.tmux import Tmux
from ajet_inbox.supervisor import proc
from tests.contract.attempts import Attempt, poll

ROOT = Path(__file__).parents[2]

# AgentJet's --autokill: patterns over whole command lines, sparing only itself; and then names, as `pkill python` does.
AUTOKILL = """
import os, pathlib, re, signal
names = re.compile("ray|vllm|VLLM|python")
for folder in pathlib.Path("/proc").glob("[0-9]*"):
    line = (folder / "cmdline").read_bytes().replace(b"\\0", b" ").decode()
    if int(folder.name) != os.getpid() and (names.search(line) or names.search((folder / "comm").read_text())):
        print("kills", line, flush=True)
        os.kill(int(folder.name), signal.SIGKILL)
print("done")
"""

# Runs as the first process of a namespace of its own, so it sees and can harm only what it starts.
DRIVER = """
"$INTERPRETER" -c 'if True:
    import os, sys
    from pathlib import Path
    from ajet_inbox.edge.tmux import Tmux
    reply = Tmux(Path(os.environ["RUNTIME"])).launch(os.environ["SESSION"], Path(os.environ["SCRIPT"]))
    sys.exit(reply.message or 0)
' || exit 1
touch "$GO"
for i in $(seq 400); do [ -e exit.json ] && break; sleep 0.05; done
tmux -N -S "$RUNTIME/tmux" has-session -t "=$SESSION" && echo "tmux lives"
"""


def isolation() -> str | None:
    """Why there can be no process namespace here, or None."""
    try:
        done = subprocess.run(
            ["unshare", "--pid", "--fork", "--mount-proc", "true"], capture_output=True, text=True, timeout=10
        )
    except OSError as error:
        return str(error)
    return done.stderr.strip() or None if done.returncode else None


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "python_ray" / "vllm"
    folder.mkdir(parents=True)
    neutral.prepare(neutral.runtime_dir(folder))
    yield folder
    shutil.rmtree(neutral.runtime_dir(folder))


def test_an_experiment_that_kills_by_name_does_not_find_us(home: Path) -> None:
    if reason := isolation():
        pytest.skip(f"no process namespace of its own: {reason}")
    runtime = neutral.runtime_dir(home)
    command = f"while [ ! -e go ]; do sleep 0.01; done; exec {sys.executable} kill.py"
    attempt = Attempt(home / "python_run", runtime, command, beat_s=0.05)
    (attempt.codebase / "kill.py").write_text(AUTOKILL)
    script = neutral.supervisor_script(runtime, attempt.id, attempt.folder)
    session = session_name("train python", attempt.id, 1)
    told = {"RUNTIME": str(runtime), "SCRIPT": str(script), "SESSION": session, "INTERPRETER": sys.executable}
    told["GO"] = str(attempt.codebase / "go")
    (home / "driver").write_text(DRIVER)
    with (home / "driver").open() as driver:
        done = subprocess.run(
            ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "bash", "-s"],
            stdin=driver,
            cwd=attempt.folder,
            env={**os.environ, **told, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert attempt.console() == "done\n", done.stderr
    assert (attempt.exit().exit_code, attempt.exit().cause) == (0, None)
    assert done.stdout == "tmux lives\n", done.stderr


def test_an_attempts_command_lines_hold_no_path(home: Path) -> None:
    lines = neutral.supervisor(neutral.runtime_dir(home)).argv
    assert lines == ("ajet-keeper", "-SP", "-c", "from ajet_inbox.supervisor.keeper import main; main()")


def below(pid: int) -> Iterator[proc.Process]:
    """The processes that descend from `pid`."""
    table = proc.table()
    for process in table.values():
        ancestor: proc.Process | None = process
        while ancestor and ancestor.pid != pid:
            ancestor = table.get(ancestor.parent)
        if ancestor:
            yield process


def test_nothing_tells_from_the_first_moment_on(home: Path) -> None:
    """Looked at again and again while an attempt starts and ends, for a line that tells for a moment is enough."""
    runtime = neutral.runtime_dir(home)
    tmux = Tmux(runtime)
    tmux.ensure_server()
    told = ["tmux", "-S", str(runtime / "tmux"), "display-message", "-p", "#{pid}"]
    server = int(subprocess.run(told, capture_output=True, check=True, timeout=10).stdout)
    attempt = Attempt(home / "python_run", runtime, "env -0 >environment; sleep 0.2")
    script = neutral.supervisor_script(runtime, attempt.id, attempt.folder)
    seen: set[bytes] = set()

    def ended() -> bool:
        for process in below(server):
            seen.update((b" ".join(proc.command_line(process.pid)), process.name.encode()))
        return (attempt.folder / "exit.json").exists()

    try:
        assert tmux.launch(session_name("train", attempt.id, 1), script).trouble is None
        poll(ended)
    finally:
        subprocess.run([*told[:3], "kill-server"], timeout=10)
    keeper = " ".join(neutral.supervisor(runtime).argv).encode()
    assert {keeper, b"keeper", b"bash launch.sh", b"bash command.sh", b"sleep 0.2"} <= seen
    assert [line for line in seen if re.search(rb"ray|vllm|VLLM|python", line)] == []
    names = {row.partition("=")[0] for row in attempt.wrote("environment").split("\0")}
    assert not {name for name in names if name.startswith(("PYTHONHOME", "PYTHONPATH", "TMUX", "AJET_NEUTRAL"))}


PROBE = """
import json, os, sys
from pathlib import Path
from ajet_inbox.edge import neutral
args = neutral.arrive()
if args is None:
    neutral.reexec(Path(sys.argv[1]), "ajet-watch", "probe", sys.argv[1:])
neutral.reexec(Path(args[0]), "ajet-watch", "probe", ["again"])
import msgspec
print(json.dumps({
    "args": args,
    "cmdline": Path("/proc/self/cmdline").read_text(),
    "comm": Path("/proc/self/comm").read_text(),
    "env": dict(os.environ),
    "pid": os.getpid(),
    "again": neutral.arrive(),
}))
"""


@pytest.mark.parametrize("path", [None, "python_path"])
def test_a_watcher_takes_a_neutral_name(home: Path, path: str | None) -> None:
    (home / "probe.py").write_text(PROBE)
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    env |= {"PYTHONPATH": f"{ROOT}:{path}"} if path else {}
    args = [str(neutral.runtime_dir(home)), "--home", str(home), "", "a b\n字"]
    code = f"import sys, runpy; sys.path.insert(0, {str(ROOT)!r}); runpy.run_path('probe.py', run_name='__main__')"
    process = subprocess.Popen(
        [sys.executable, "-c", f"import sys; sys.path[:1] = ['{ROOT}', '{home}']; {code}", *args],
        env=env,
        cwd=home,
        stdout=subprocess.PIPE,
        text=True,
    )
    out, _ = process.communicate(timeout=20)
    told = json.loads(out)
    assert told["args"] == args
    assert told["cmdline"] == "ajet-watch\0-SP\0-m\0probe\0"
    assert told["comm"] == "keeper\n"
    assert told["pid"] == process.pid
    assert told["again"] is None
    unchanged = {name: value for name, value in told["env"].items() if name not in ("_", "LC_CTYPE")}
    assert unchanged == {name: value for name, value in env.items() if name not in ("_", "LC_CTYPE")}


# ---- the runtime folder -------------------------------------------------------------------------------------------


def test_the_folder_is_short_and_differs_by_home(tmp_path: Path) -> None:
    names = {neutral.runtime_dir(tmp_path / name).name for name in ("a", "b", "字")}
    assert len(names) == 3
    assert all(len(name) == 11 and name.startswith("aj-") for name in names)


def test_a_link_in_its_place_is_not_trusted(home: Path, tmp_path: Path) -> None:
    runtime = tmp_path / "runtime"
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    runtime.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(neutral.UnsafeFolderError, match="remove it"):
        neutral.prepare(runtime)


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701])
def test_a_folder_open_to_others_is_not_trusted(tmp_path: Path, mode: int) -> None:
    (tmp_path / "runtime").mkdir()
    (tmp_path / "runtime").chmod(mode)
    with pytest.raises(neutral.UnsafeFolderError):
        neutral.prepare(tmp_path / "runtime")


def test_another_users_folder_is_not_trusted(tmp_path: Path) -> None:
    if os.getuid():
        pytest.skip("only the superuser can make one")
    (tmp_path / "runtime").mkdir(mode=0o700)
    os.chown(tmp_path / "runtime", 12345, 12345)
    with pytest.raises(neutral.UnsafeFolderError):
        neutral.prepare(tmp_path / "runtime")


def test_what_a_cleaner_took_is_made_again(home: Path) -> None:
    runtime = neutral.runtime_dir(home)
    neutral.prepare(runtime)
    (runtime / neutral.KEEPER).unlink()
    (runtime / neutral.KEEPER).symlink_to("/nowhere")
    neutral.prepare(runtime)
    assert (runtime / neutral.KEEPER).resolve() == Path(sys.executable).resolve()


def test_an_attempt_can_be_forgotten(home: Path) -> None:
    runtime = neutral.runtime_dir(home)
    script = neutral.supervisor_script(runtime, "0123", home)
    assert subprocess.run(["bash", "-n", script], timeout=10).returncode == 0
    neutral.lock_path(runtime, "0123").touch()
    for _ in range(2):
        neutral.forget(runtime, "0123")
    assert list(script.parent.iterdir()) == []
