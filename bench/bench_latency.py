"""How long the GPUs wait: from a rename into inbox/ to the first instruction, and from one run's end to the next start.

Measured in turns with the floor, a bare `tmux new-session` of a script, so that a busy machine shows.

    .venv/bin/python bench/bench_latency.py [ROUNDS]
"""

from __future__ import annotations

import itertools
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

CLI = Path(sys.executable).with_name("ajet-inbox")
BLUEPRINT = """\
## [exp_purpose]
latency
## [exp_codebase_dir]
{folder}
## [exp_venv_exe]
/usr/bin/python3
## [exp_launch_command]
```
echo $EPOCHREALTIME > {name}.start; sleep {seconds}; echo $EPOCHREALTIME > {name}.end
```
## [exp_result_dir]
{folder}/results/{name}
## [exp_max_time]
1 h
"""


def until(condition: Callable[[], bool], timeout: float = 60.0) -> None:
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(condition)
        time.sleep(0.002)


class Bench:
    """A home with a watcher, and a bare tmux server beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home, self.socket = folder, folder / "home", folder / "floor"
        subprocess.run([CLI, "init", self.home], check=True, stdout=subprocess.DEVNULL)
        self.watcher = subprocess.Popen([CLI, "--home", self.home, "watch"], stderr=subprocess.DEVNULL)
        self._tmux("-f", os.devnull, "start-server", ";", "set", "-g", "exit-empty", "off")
        self._tmux("new-session", "-d", "-s", "keep")
        until(lambda: any((self.home / "outbox" / ".watchers").glob("*.json")))

    def close(self) -> None:
        self.watcher.terminate()
        self.watcher.wait()
        self._tmux("kill-server")

    def drop(self, name: str, seconds: float) -> float:
        """Rename a blueprint into the inbox; returns when."""
        temporary = self.home / "inbox" / f".{name}"
        temporary.write_text(BLUEPRINT.format(folder=self.folder, name=name, seconds=seconds))
        at = time.time()
        temporary.rename(self.home / "inbox" / f"{name}.md")
        return at

    def time_of(self, name: str, what: str) -> float:
        file = self.folder / f"{name}.{what}"
        until(lambda: file.exists() and file.read_text().endswith("\n"))
        return float(file.read_text())

    def published(self, name: str) -> None:
        until(lambda: (self.home / "outbox" / name / "finish.flag").exists())

    def start_ms(self, number: int) -> float:
        name = f"start{number}"
        at = self.drop(name, 0)
        begun = self.time_of(name, "start")
        self.published(name)
        return (begun - at) * 1000

    def floor_ms(self, number: int) -> float:
        script = self.folder / "floor.sh"
        script.write_text(f"echo $EPOCHREALTIME > {self.folder}/floor{number}.start\n")
        at = time.time()
        self._tmux("new-session", "-d", "-s", f"floor{number}", "/bin/bash", str(script))
        return (self.time_of(f"floor{number}", "start") - at) * 1000

    def gaps_ms(self, rounds: int) -> list[float]:
        names = [f"gap{number}" for number in range(rounds + 1)]
        for name in names:
            self.drop(name, 0.3)
        self.published(names[-1])
        times = sorted((self.time_of(name, "start"), self.time_of(name, "end")) for name in names)
        return [(later[0] - earlier[1]) * 1000 for earlier, later in itertools.pairwise(times)]

    def _tmux(self, *arguments: str) -> None:
        subprocess.run(["tmux", "-S", self.socket, *arguments], check=True, stdout=subprocess.DEVNULL)


def tell(what: str, values: list[float]) -> None:
    print(f"{what:<34} median {statistics.median(values):6.1f} ms   min {min(values):6.1f}   max {max(values):6.1f}")


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    folder = Path(tempfile.mkdtemp(prefix="aj-bench-"))
    bench = Bench(folder)
    try:
        pairs = [(bench.floor_ms(number), bench.start_ms(number)) for number in range(rounds)]
        tell("floor: tmux to first instruction", [floor for floor, _ in pairs])
        tell("drop to first instruction", [start for _, start in pairs])
        tell("end of one run to start of next", bench.gaps_ms(rounds))
    finally:
        bench.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
