"""Random lives of a home: whatever is dropped, asked, ended, killed or lost, in whatever order, the promise holds."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ajet_inbox.core import events as saw
from ajet_inbox.core.blueprint import Kind, Problem
from ajet_inbox.core.lifecycle import Outcome, State
from tests.core.lives import Disk, Watcher, check, submitted

MISSING = Problem(code="codebase_missing", kind=Kind.WORLD, message="The codebase is not there.")


class Lives(RuleBasedStateMachine):
    @initialize(hosts=st.integers(1, 2), slots=st.integers(1, 3), gpus=st.sampled_from([0, 8]))
    def begin(self, hosts: int, slots: int, gpus: int) -> None:
        self.disk = Disk()
        self.watchers = [Watcher(f"host{n}", self.disk, slots, gpus) for n in range(hosts)]
        self.dropped = 0
        self.judged: set[str] = set()
        self.asked = 0

    def some(self, data: st.DataObject, *, busy: bool = False) -> Watcher | None:
        candidates = [w for w in self.watchers if w.busy()] if busy else self.watchers
        return data.draw(st.sampled_from(candidates)) if candidates else None

    @rule(
        data=st.data(),
        priority=st.integers(-1, 1),
        gpus=st.sampled_from([0, 0, 8]),
        retry=st.sampled_from([None, "1", "safe"]),
        bad=st.booleans(),
        key=st.sampled_from([None, None, "k"]),
    )
    def drop(self, data, priority, gpus, retry, bad, key) -> None:
        watcher = self.some(data)
        after = data.draw(st.sampled_from([(), (), *((name,) for name in self.disk.segments)]))
        replaces = data.draw(st.sampled_from([None, None, *self.disk.segments]))
        self.dropped += 1
        what = submitted(
            watcher.now, self.dropped, priority=priority, gpus=gpus, retry=retry, bad=bad, key=key, after=after,
            replaces=replaces,
        )  # fmt: skip
        watcher.tell(saw.Arriving(drop_ids=(what.drop.id,)))
        watcher.tell(saw.DropRead(submitted=what, name=f"r{self.dropped}"))

    @rule(
        data=st.data(), fail=st.sampled_from([False, False, False, True]), missing=st.sampled_from([False] * 3 + [True])
    )
    def perform(self, data, fail, missing) -> None:
        watcher = self.some(data, busy=True)
        if watcher is not None:
            lane = data.draw(st.sampled_from(watcher.busy()))
            watcher.perform(lane, fail=fail, problems=(MISSING,) if missing else ())

    @rule(data=st.data())
    def perform_much(self, data) -> None:
        watcher = self.some(data)
        for _ in range(30):
            if not watcher.busy():
                return
            watcher.perform(watcher.busy()[0])

    @rule(data=st.data(), code=st.sampled_from([0, 1, 137, None]))
    def experiment_ends(self, data, code) -> None:
        watcher = self.some(data)
        if living := watcher.living():
            watcher.end(data.draw(st.sampled_from(living)), code)

    @rule(data=st.data(), seconds=st.sampled_from([1, 20, 2000]))
    def time_passes(self, data, seconds) -> None:
        self.some(data).pass_time(seconds)

    @rule(data=st.data())
    def watcher_dies(self, data) -> None:
        self.some(data).start()

    @rule(data=st.data())
    def host_reboots(self, data) -> None:
        watcher = self.some(data)
        for name in watcher.living():
            watcher.machine.end(watcher.disk.run(name).current.id, None, watcher.now)
        watcher.start()

    @rule(data=st.data())
    def rescan(self, data) -> None:
        watcher = self.some(data)
        for name in self.disk.segments:
            # A watcher reads what others wrote; of its own runs the truth is in its memory until a write fails.
            if not watcher.fleet.mine(self.disk.run(name)) and not watcher.lanes.get(name):
                watcher.read(name)

    @precondition(lambda self: self.disk.segments)
    @rule(data=st.data(), ask=st.sampled_from(list(saw.Ask)))
    def somebody_asks(self, data, ask) -> None:
        name = data.draw(st.sampled_from(sorted(self.disk.segments)))
        self.asked += 1
        if ask is saw.Ask.LOST and any(name in w.living() for w in self.watchers):
            return  # giving up a run that lives is a person's error; its process would go on outside of our knowledge
        for watcher in self.watchers:
            watcher.tell(saw.Asked(request_id=str(self.asked), run=name, ask=ask, by="me@here", priority=5))

    @rule(data=st.data(), paused=st.booleans())
    def pause(self, data, paused) -> None:
        for watcher in self.watchers:
            watcher.tell(saw.PauseSeen(paused=paused))

    @invariant()
    def promise(self) -> None:
        if hasattr(self, "watchers"):
            check(self.watchers)

    def teardown(self) -> None:
        """Every accepted drop can still reach its end: with working disks and patience all of them do."""
        if not hasattr(self, "watchers"):
            return
        for watcher in self.watchers:
            watcher.start()
        for _ in range(60):
            if all(self.disk.run(name).settled for name in self.disk.segments):
                break
            self._let_all_go_on()
        stuck = [run for name in self.disk.segments if not (run := self.disk.run(name)).settled]
        assert not stuck, [(run.name, run.state, run.holder) for run in stuck]
        for name in self.disk.segments:
            assert self.disk.flags[name] >= 1
            assert (self.disk.run(name).outcome is Outcome.REJECTED) <= (not self.disk.run(name).attempts)

    def _let_all_go_on(self) -> None:
        for watcher in self.watchers:
            watcher.tell(saw.PauseSeen(paused=False))
            self.rescan_all(watcher)
            for name in [n for n in self.disk.segments if self.disk.run(n).state is State.HELD]:
                watcher.tell(saw.Asked(request_id="end", run=name, ask=saw.Ask.RELEASE, by="me@here"))
            while watcher.busy():
                watcher.perform(watcher.busy()[0])
            for name in watcher.living():
                watcher.end(name, 0)
            while watcher.busy():
                watcher.perform(watcher.busy()[0])
            watcher.pass_time(4000)

    def rescan_all(self, watcher: Watcher) -> None:
        for name in self.disk.segments:
            if not watcher.fleet.mine(self.disk.run(name)) and not watcher.lanes.get(name):
                watcher.read(name)


Lives.TestCase.settings = settings(max_examples=150, stateful_step_count=60, deadline=None)
TestLives = Lives.TestCase
