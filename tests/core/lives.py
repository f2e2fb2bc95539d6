"""A world in memory for whole lives: disks that keep journals, processes that run, watchers that die and return.

It performs the effects of `decide` the way the edges promise to (contract of each effect), in an order that the test
draws, and keeps count of what no run may ever do twice.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

from ajet_inbox.core import effects as do
from ajet_inbox.core import events as saw
from ajet_inbox.core import journal
from ajet_inbox.core.attempt import Cause, Exit
from ajet_inbox.core.blueprint import Blueprint, Mode, Problem
from ajet_inbox.core.decide import decide
from ajet_inbox.core.drops import DropKind
from ajet_inbox.core.fleet import Fleet, Policy
from ajet_inbox.core.journal import AnyEntry, Claimed, Drop, Owner, StopCause, Submitted
from ajet_inbox.core.lifecycle import OCCUPYING, State
from ajet_inbox.core.run import Run, fold
from ajet_inbox.core.slots import Slot

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def submitted(
    at: datetime, number: int, *, priority: int = 0, gpus: int = 0, retry: str | None = None, bad: bool = False,
    after: tuple[str, ...] = (), key: str | None = None, replaces: str | None = None,
    result_dir: str | None = None, max_time_s: float = 3600.0,
) -> Submitted:  # fmt: skip
    """A drop as the edges tell of it."""
    problems = (Problem(code="bp_missing", message="A section is missing."),) if bad else ()
    return Submitted(
        at=at,
        drop=Drop(
            id=f"{number:012x}", name=f"r{number}.md", kind=DropKind.FILE, sha256=f"{number:064x}", key=key,
            priority=priority, after=after, replaces=replaces,
        ),
        blueprint=Blueprint(purpose="a life", mode=Mode.GENERIC, retry=retry, max_time_s=max_time_s),
        problems=problems,
        gpus=gpus,
        result_dir=result_dir,
    )  # fmt: skip


class Disk:
    """The outbox: journals, a segment each claim, and the drops that are still in the intake."""

    def __init__(self) -> None:
        self.segments: dict[str, list[list[AnyEntry]]] = {}
        self.flags: Counter[str] = Counter()

    def entries(self, name: str) -> list[AnyEntry]:
        return [entry for segment in self.segments[name] for entry in segment]

    def run(self, name: str) -> Run:
        run = fold(name, self.entries(name))
        assert run is not None
        return run


class Machine:
    """The processes of a host. An attempt's start is exclusive, as `started.json` makes it."""

    def __init__(self) -> None:
        self.starts: Counter[str] = Counter()
        self.alive: set[str] = set()
        self.exits: dict[str, Exit | None] = {}

    def launch(self, attempt_id: str) -> None:
        if attempt_id in self.starts:
            return
        self.starts[attempt_id] += 1
        self.alive.add(attempt_id)

    def end(self, attempt_id: str, code: int | None, now: datetime, cause: Cause | None = None) -> None:
        self.alive.discard(attempt_id)
        known = Exit(attempt_id=attempt_id, exit_code=code, cause=cause, ended_at=now, started_at=now)
        self.exits[attempt_id] = None if code is None else known


class Watcher:
    """One watcher: its fleet, and the lanes of effects that it has not performed yet, one lane a run."""

    def __init__(self, host: str, disk: Disk, slots: int, gpus: int) -> None:
        self.host, self.disk, self.machine = host, disk, Machine()
        self.shape = (slots, gpus)
        self.lives = 0
        self.now = BEGIN
        self.start()

    def start(self) -> None:
        """A new life: all that is known comes from the disk."""
        self.lives += 1
        self.lanes: dict[str, list[do.Effect]] = {}
        self.watching: set[str] = set()
        me = Owner(host=self.host, boot_id="b", pid_ns=1, pid=self.lives, started=1, nonce=f"{self.host}-{self.lives}")
        self.fleet = Fleet(me=me, policy=Policy(backoff_s=5.0))
        slots, gpus = self.shape
        for name in self.disk.segments:
            self.read(name)
        self.tell(
            saw.SlotsSeen(
                slots=tuple(
                    Slot(name=f"s{n}", host=self.host, gpus=tuple(f"g{n}.{g}" for g in range(gpus)))
                    for n in range(slots)
                )
            )
        )

    def tell(self, event: saw.Event) -> None:
        self.fleet, effects = decide(self.fleet, event, self.now)
        for effect in effects:
            lane = getattr(effect, "run", None) or getattr(effect, "drop_id", "") or "requests"
            self.lanes.setdefault(lane, []).append(effect)

    def read(self, name: str) -> None:
        run = self.disk.run(name)
        self.tell(saw.JournalRead(run=run, holder=self.judge(run.holder)))

    def judge(self, holder: Owner | None) -> saw.Holder:
        if holder is None:
            return saw.Holder.NOBODY
        if holder == self.fleet.me:
            return saw.Holder.ME
        return saw.Holder.DEAD if holder.host == self.host else saw.Holder.OTHER

    def busy(self) -> list[str]:
        return sorted(lane for lane, effects in self.lanes.items() if effects)

    def perform(self, lane: str, *, fail: bool = False, problems: tuple[Problem, ...] = ()) -> None:
        """Perform the first effect of a lane, or fail at it in the way the edges may."""
        effect = self.lanes[lane].pop(0)
        match effect:
            case do.Admit():
                self._admit(effect, fail)
            case do.Look():
                self.tell(saw.Looked(run=effect.run, world=problems))
            case do.Take():
                self._take(effect, fail)
            case do.Record():
                self._record(effect, lane, fail)
            case do.Reload():
                self.read(effect.run)
            case do.Publish():
                if fail:
                    self.tell(saw.PublishFailed(run=effect.run))
                else:
                    self.disk.flags[effect.run] += 1
                    self.tell(saw.PublishDone(run=effect.run))
            case do.Prepare():
                self.tell(saw.Prepared(run=effect.run))
            case do.Launch() | do.Watch() | do.Halt():
                self._attempt(effect)
            case do.CleanUp() | do.Answered():
                pass

    def _admit(self, effect: do.Admit, fail: bool) -> None:
        if fail:
            self.tell(saw.AdmitFailed(drop_id=effect.drop_id))
            return
        name = effect.name
        number = 1
        while name in self.disk.segments:
            number += 1
            name = f"{effect.name}-{number}"
        claim = Claimed(at=self.now, owner=self.fleet.me, act="accept")
        self.disk.segments[name] = [[claim, *effect.entries]]
        self.tell(saw.Admitted(drop_id=effect.drop_id, run=self.disk.run(name)))

    def _take(self, effect: do.Take, fail: bool) -> None:
        if fail or len(self.disk.segments[effect.run]) != effect.epoch:
            self.tell(saw.NotTaken(run=effect.run))
            return
        written = (Claimed(at=self.now, owner=self.fleet.me, act=effect.act), *effect.entries)
        self.disk.segments[effect.run].append(list(written))
        self.tell(saw.Taken(run=effect.run, entries=written))

    def _record(self, effect: do.Record, lane: str, fail: bool) -> None:
        if fail:
            self.lanes[lane].clear()
            self.tell(saw.ActFailed(run=effect.run))
            return
        self.disk.segments[effect.run][-1] += effect.entries

    def _attempt(self, effect: do.Launch | do.Watch | do.Halt) -> None:
        attempt = self.disk.run(effect.run).current
        assert attempt is not None, "an act on an attempt that no journal announces"
        match effect:
            case do.Launch():
                self.machine.launch(attempt.id)
                seen = saw.Launched(
                    run=effect.run, attempt=attempt.number, pid=1, boot_id="b", started_at=self.now
                )  # fmt: skip
                self.tell(seen)
            case do.Watch():
                self.watching.add(effect.run)
            case do.Halt():
                if attempt.id in self.machine.alive:
                    cause = Cause.MAX_TIME if effect.cause is StopCause.MAX_TIME else Cause.STOPPED
                    self.machine.end(attempt.id, 143, self.now, cause)
        self.notice(effect.run)

    def notice(self, name: str) -> None:
        """An end is seen by whoever watches."""
        attempt = self.disk.run(name).current
        if attempt is None or name not in self.watching or attempt.id in self.machine.alive:
            return
        if attempt.id not in self.machine.starts:
            return
        self.watching.discard(name)
        self.tell(saw.AttemptEnded(run=name, attempt=attempt.number, exit=self.machine.exits.get(attempt.id)))

    def living(self) -> list[str]:
        return [
            name
            for name in self.disk.segments
            if (a := self.disk.run(name).current) is not None and a.id in self.machine.alive
        ]

    def end(self, name: str, code: int | None) -> None:
        attempt = self.disk.run(name).current
        assert attempt is not None
        self.machine.end(attempt.id, code, self.now)
        self.notice(name)

    def pass_time(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        self.tell(saw.Tick())


def check(watchers: list[Watcher]) -> None:
    """What must hold after every step (contract, "The promise"), judged by the disk and the processes alone."""
    disk = watchers[0].disk
    for name in disk.segments:
        _lawful(disk, name)
    for watcher in watchers:
        assert all(count == 1 for count in watcher.machine.starts.values()), "an attempt was launched twice"
        slots = [
            run.slot
            for name in disk.segments
            if (run := disk.run(name)).state in OCCUPYING and run.holder and run.holder.host == watcher.host
        ]
        assert len(slots) == len(set(slots)), "a slot has two runs"
        living = watcher.living()
        assert len(living) <= watcher.shape[0], "more experiments live than there are slots"
        for name in living:
            assert disk.run(name).gpus <= watcher.shape[1], "a run lives where its GPUs are not"
    hosts = Counter(name for watcher in watchers for name in watcher.living())
    assert all(count == 1 for count in hosts.values()), "a run lives in two slots"


def _lawful(disk: Disk, name: str) -> None:
    run = disk.run(name)  # raises InvalidTransition where the journal breaks the table
    assert sum(isinstance(entry, journal.Finished) for entry in disk.entries(name)) <= 1
    if disk.flags[name]:
        assert run.state is State.FINISHED, "a flag stands over a run that is not finished"
