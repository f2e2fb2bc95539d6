"""What a watcher says of the runs of its home, to whoever reads its log."""

from __future__ import annotations

from tests.acceptance.home import Home

LIVES = {
    "fine": [
        "queued",
        "preparing on ",
        "starting, attempt 1 on ",
        "running, attempt 1 on ",
        "succeeded (completed): ",
    ],
    "bad": ["rejected (section_missing): "],
}


def test_the_log_tells_the_life_of_each_run(home: Home) -> None:
    home.mark_and_move_in("fine.md", home.counted("sleep 1", "fine"))
    home.mark_and_move_in("bad.md", home.blueprint("true", "bad", venv_exe=None))
    told = home.drain().splitlines()
    for name, states in LIVES.items():
        lines = [line.partition(f"INFO    {name}: ")[2] for line in told if f" {name}: " in line]
        # An attempt that ended is `exited` until there is a verdict, which may come in the same moment.
        lines = [line for line in lines if not line.startswith("exited")]
        assert len(lines) == len(states)
        assert all(map(str.startswith, lines, states)), lines
