"""The one owner of file names: where everything lies in a home (contract, "The run folder"). Names only, no access."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

CONFIG = "ajet-inbox.yaml"
FLAG = "finish.flag"
# What is delivered into exp_result_dir; the flag is last, wherever it is written.
DELIVERED = ("trial_log.md", "result.md", "metrics.csv", "plots")


@dataclass(frozen=True)
class RunPaths:
    """`outbox/RUN/`."""

    root: Path

    @property
    def drop(self) -> Path:
        """What was dropped, byte for byte."""
        return self.root / "drop"

    @property
    def work(self) -> Path:
        """A copy of `drop`, made where the run needs one."""
        return self.root / "work"

    @property
    def draft(self) -> Path:
        """What was drafted from a dropped task."""
        return self.root / "draft"

    @property
    def journal(self) -> Path:
        """The segments of the record."""
        return self.root / "journal"

    def segment(self, epoch: int) -> Path:
        """The record of the claim with this number, from 1."""
        return self.journal / f"{epoch}.jsonl"

    def attempt(self, number: int) -> Path:
        """The folder of an attempt, from 1."""
        return self.root / "attempts" / str(number)

    @property
    def state(self) -> Path:
        """The snapshot for programs."""
        return self.root / "state.json"

    @property
    def flag(self) -> Path:
        """Stands last, when all is told."""
        return self.root / FLAG


@dataclass(frozen=True)
class HomePaths:
    """A home. Names in the outbox that start with `.` are ours."""

    root: Path

    @property
    def config(self) -> Path:
        """The optional settings."""
        return self.root / CONFIG

    @property
    def inbox(self) -> Path:
        """Where blueprints are dropped."""
        return self.root / "inbox"

    @property
    def outbox(self) -> Path:
        """Where runs are told of."""
        return self.root / "outbox"

    def run(self, name: str) -> RunPaths:
        """The folder of a run."""
        return RunPaths(self.outbox / name)

    @property
    def intake(self) -> Path:
        """Drops that a watcher has claimed and not yet turned into runs, a folder each."""
        return self.outbox / ".intake"

    @property
    def receipts(self) -> Path:
        """What became of a drop, by the hash of its bytes."""
        return self.outbox / ".receipts"

    def receipt(self, sha256: str) -> Path:
        """The receipt of the bytes with this hash."""
        return self.receipts / f"{sha256}.json"

    @property
    def control(self) -> Path:
        """Requests of people and programs to whoever holds a run."""
        return self.outbox / ".control"

    @property
    def paused(self) -> Path:
        """While it exists, no watcher of the home starts a queued run."""
        return self.control / "paused"

    @property
    def watchers(self) -> Path:
        """The watchers of the home, a file for each host."""
        return self.outbox / ".watchers"

    def watcher(self, host: str) -> Path:
        """The heartbeat of the active watcher on `host`."""
        return self.watchers / f"{host}.json"

    def lock(self, host: str) -> Path:
        """Locked by the active watcher on `host`."""
        return self.watchers / f".{host}.lock"
