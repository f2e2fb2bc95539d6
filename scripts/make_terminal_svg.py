#!/usr/bin/env python3
"""Writes docs/terminal.svg: what a real terminal shows after a real `ajet-inbox demo`.

tmux is the terminal, and rich draws what it shows. It takes about 20 seconds. Usage: scripts/make_terminal_svg.py
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.text import Text

PICTURE = Path(__file__).parents[1] / "docs" / "terminal.svg"
COLUMNS, LINES = 100, 50
COMMAND = "ajet-inbox demo"
PATIENCE_S = 120.0


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="aj-picture-") as folder:
        screen = session(Path(folder))
    shutil.rmtree(re.findall(r"rm -r (\S+)", screen)[-1])
    PICTURE.write_text(drawn(screen), encoding="utf-8")
    print(f"{PICTURE.name}: {PICTURE.stat().st_size / 1000:.0f} kB")


def session(folder: Path) -> str:
    """What the terminal shows, with its colours, when the command has ended."""
    tmux = ("tmux", "-S", str(folder / "terminal"), "-f", os.devnull)
    size = ("-x", str(COLUMNS), "-y", str(LINES))
    shell = f"env PS1='$ ' PATH={Path(sys.executable).parent}:{os.environ['PATH']} bash --norc -i"
    subprocess.run([*tmux, "new-session", "-d", *size, shell], check=True)
    try:
        subprocess.run([*tmux, "send-keys", "-l", f"{COMMAND}; echo exit $?"], check=True)
        subprocess.run([*tmux, "send-keys", "Enter"], check=True)
        return _when_ended(tmux)
    finally:
        subprocess.run([*tmux, "kill-server"], check=True)


def _when_ended(tmux: tuple[str, ...]) -> str:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        shown = subprocess.run([*tmux, "capture-pane", "-p", "-e"], check=True, capture_output=True, text=True).stdout
        if "\nexit 0\n" in shown:
            return shown.replace("; echo exit $?", "", 1).partition("\nexit 0\n")[0]
        time.sleep(0.2)
    raise SystemExit(f"The demo did not end well within {PATIENCE_S:g} s:\n{shown}")


def drawn(screen: str) -> str:
    """The screen as a picture."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(screen.rstrip()))
    return console.export_svg(title=COMMAND)


if __name__ == "__main__":
    main()
