"""Acts: each effect of the core is one method here, which touches the world and tells the core what came of it.

What touches a disk runs in a thread, so that a mount that hangs stops one run and not the loop. An act that the world
does not let happen (OSError) is told as such; the core then reads the run's journal anew and goes on from there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from loguru import logger
from msgspec import Struct

from ajet_inbox.app import examine, launching, publish
from ajet_inbox.app.attempts import Attempts, Begun, Gone, Order
from ajet_inbox.app.identity import judge
from ajet_inbox.app.lanes import AGAIN_S
from ajet_inbox.app.progress import Progress, note_sources
from ajet_inbox.app.publish import Results
from ajet_inbox.app.task_drops import Drafter
from ajet_inbox.core import effects as do
from ajet_inbox.core import events as saw
from ajet_inbox.core.admission import is_superseded
from ajet_inbox.core.blueprint import Kind, Problem
from ajet_inbox.core.fleet import Fleet
from ajet_inbox.core.journal import Accepted, AnyEntry, Owner, join
from ajet_inbox.core.lifecycle import State
from ajet_inbox.core.paths import HomePaths, RunPaths
from ajet_inbox.core.run import Attempt, Run, fold
from ajet_inbox.core.settings import Settings
from ajet_inbox.edge import control, intake
from ajet_inbox.edge import journal as journals
from ajet_inbox.edge.intake import Intake

_STEP_ASIDE_S = 0.5
_RESULT_DIR_S = 30.0
_PREPARING = (State.PREPARING, State.STARTING)


class World(Struct, frozen=True, kw_only=True):
    """What acts need to know and use."""

    home: HomePaths
    settings: Settings
    me: Owner
    environment: dict[str, str]
    attempts: Attempts
    tell: Callable[[saw.Event], None]
    fleet: Callable[[], Fleet]


class Acts:
    """Performs effects. Calling it with one gives what the core must be told where it failed."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._home = world.home
        self._tell = world.tell
        self._journals = journals.Journals()
        self.intakes: dict[str, Intake] = {}
        self.watched: dict[str, tuple[int, asyncio.Task[None]]] = {}
        self.progress: dict[str, Progress] = {}
        self._drafter = Drafter(world.home, world.settings, world.environment)
        self._acts: dict[type, Callable[[Any], Awaitable[None]]] = {
            do.Admit: self._admit,
            do.Look: self._look,
            do.Take: self._take,
            do.Record: self._record,
            do.Draft: self._draft,
            do.Prepare: self._prepare,
            do.Launch: self._launch,
            do.Watch: self._watch,
            do.Halt: self._halt,
            do.Publish: self._publish,
            do.CleanUp: self._clean_up,
            do.Reload: self._reload,
            do.Answered: self._answered,
        }

    async def __call__(self, effect: do.Effect) -> saw.Event | None:
        """Perform one effect; None where it was done, else what is to be told of its failure after a while."""
        try:
            await self._acts[type(effect)](effect)
        except Exception as error:  # a defect too: the others go on, and this run from its journal, as after a crash
            log_failure(type(effect).__name__, error)
            return _failed(effect, error)
        return None

    def _run(self, name: str) -> Run:
        """The run as it is known now.

        Raises:
            FileNotFoundError: its folder has gone meanwhile.
        """
        run = self._world.fleet().runs.get(name)
        if run is None:
            raise FileNotFoundError(f"run {name} is gone")
        return run

    def _paths(self, name: str) -> RunPaths:
        return self._home.run(name)

    # --- drops -------------------------------------------------------------------------------------------------------

    async def _admit(self, effect: do.Admit) -> None:
        if any(isinstance(entry, Accepted) for entry in effect.entries):
            await self._set_aside(effect)
        name = await asyncio.to_thread(self._make_run, effect)
        run = await asyncio.to_thread(self.read, name)
        del self.intakes[effect.drop_id]
        if run is not None:
            self._tell(saw.Admitted(drop_id=effect.drop_id, run=run))

    async def _set_aside(self, effect: do.Admit) -> None:
        """What an earlier run left in the result folder. A folder that hangs must not keep the whole inbox waiting."""
        moving = asyncio.to_thread(publish.set_aside_for, effect.entries, self._world.settings, _now())
        try:
            await asyncio.wait_for(moving, _RESULT_DIR_S)
        except (OSError, TimeoutError) as error:
            logger.warning("Old results of {} could not be moved aside: {!r}", effect.name, error)

    def _make_run(self, effect: do.Admit) -> str:
        taken = self.intakes[effect.drop_id]
        journals.first_segment(taken.run / "journal", self._world.me, effect.entries, _now())
        return intake.commit(self._home, taken, effect.name)

    async def _draft(self, effect: do.Draft) -> None:
        run = self._run(effect.run)

        def is_over() -> bool:
            known = self._world.fleet().runs.get(run.name)
            return known is None or known.state is not State.SUBMITTED

        self._tell(await self._drafter.draft(run, is_over=is_over, is_dropped=self._is_dropped))

    def _is_dropped(self, key: str) -> bool:
        """Whether a drop with this key has become a run, or is about to."""
        fleet = self._world.fleet()
        known = [*(run.drop for run in fleet.runs.values()), *(s.drop for s in fleet.admitting.values())]
        return key in {drop.key for drop in known} | {ended.key for ended in fleet.settled.values()}

    # --- claims ------------------------------------------------------------------------------------------------------

    async def _look(self, effect: do.Look) -> None:
        run, paths = self._run(effect.run), self._paths(effect.run)
        if (trouble := await asyncio.to_thread(self._world.attempts.trouble)) is not None:
            self._tell(saw.Looked(run=effect.run, world=(_in_the_world("tmux_trouble", trouble),)))
            return
        world, certain = await asyncio.to_thread(examine.look_again, run, paths)
        self._tell(saw.Looked(run=effect.run, world=world, certain=certain))

    async def _take(self, effect: do.Take) -> None:
        arguments = (self._paths(effect.run), effect.epoch, self._world.me, effect.act, effect.entries, _now())
        written = await asyncio.to_thread(journals.take, *arguments)
        taken = saw.NotTaken(run=effect.run) if written is None else saw.Taken(run=effect.run, entries=written)
        self._tell(taken)

    async def _record(self, effect: do.Record) -> None:
        await asyncio.to_thread(self._journals.append, self._paths(effect.run), effect.epoch, effect.entries)

    async def _reload(self, effect: do.Reload) -> None:
        self._journals.close(self._paths(effect.run))
        run = await asyncio.to_thread(self.read, effect.run)
        if run is None:
            self._tell(saw.Vanished(run=effect.run))
        else:
            self._tell(saw.JournalRead(run=run, holder=judge(self._world.me, run.holder)))

    def read(self, name: str) -> Run | None:
        """The run as its journal tells it; None where there is no such run.

        Raises:
            OSError: it cannot be read now.
            Unreadable, InvalidTransition: the journal is of another version, or damaged.
        """
        return fold(name, self.entries(name))

    def entries(self, name: str) -> tuple[AnyEntry, ...]:
        """The journal of a run; raises as `read`."""
        return join(journals.segments(self._paths(name)))

    # --- attempts ----------------------------------------------------------------------------------------------------

    async def _prepare(self, effect: do.Prepare) -> None:
        run, paths = self._run(effect.run), self._paths(effect.run)
        reason = await asyncio.to_thread(launching.prepare, run, paths, self._world.settings)
        if reason is None:
            self._tell(saw.Prepared(run=effect.run))
        else:
            self._tell(saw.PrepareFailed(run=effect.run, reason=reason))

    async def _launch(self, effect: do.Launch) -> None:
        run = self._run(effect.run)
        if (attempt := run.current) is None:
            return
        order = await asyncio.to_thread(self._order, run, attempt)
        match await self._world.attempts.launch(order):
            case Begun() as begun:
                self._tell(
                    saw.Launched(
                        run=run.name,
                        attempt=attempt.number,
                        pid=begun.pid,
                        boot_id=begun.boot_id,
                        started_at=begun.started_at,
                    )
                )
            case Gone() as gone:
                await self._end(run, attempt, gone)

    def _order(self, run: Run, attempt: Attempt) -> Order:
        world, paths = self._world, self._paths(run.name)
        note_sources(run, paths, attempt.number)
        return launching.order(run, attempt, paths, world.settings, world.environment, world.attempts)

    async def _watch(self, effect: do.Watch) -> None:
        """Follow the attempt beside the lane, which must stay free for an end that is asked for."""
        run = self._run(effect.run)
        attempt = run.current
        if attempt is None or self.watched.get(run.name, (0, None))[0] == attempt.number:
            return
        task = asyncio.create_task(self._see_through(run, attempt), name=f"watch {run.name}")
        self.watched[run.name] = (attempt.number, task)

    async def _see_through(self, run: Run, attempt: Attempt) -> None:
        observing = asyncio.create_task(self._observe(run, attempt))
        try:
            await self._follow(run, attempt)
        except Exception as error:
            log_failure(f"Watching {run.name}", error)
            asyncio.get_running_loop().call_later(AGAIN_S, self._tell, saw.ActFailed(run=run.name))
        finally:
            observing.cancel()
            del self.watched[run.name]

    async def _follow(self, run: Run, attempt: Attempt) -> None:
        folder = self._paths(run.name).attempt(attempt.number)
        await self._end(run, attempt, await self._world.attempts.follow(attempt.id, folder, attempt.session))

    async def _observe(self, run: Run, attempt: Attempt) -> None:
        """Read what the experiment writes, every few seconds."""
        progress = self._progress(run, attempt)
        folder = self._paths(run.name).attempt(attempt.number)
        while True:
            await self._read(progress)
            await self._wake(folder)
            if (first := progress.first_step) is not None:
                number, source = first
                self._tell(saw.FirstStepSeen(run=run.name, attempt=attempt.number, number=number, source=source))
            await asyncio.sleep(self._world.settings.progress.read)

    async def _wake(self, folder: Path) -> None:
        try:
            await asyncio.to_thread(self._world.attempts.wake, folder)
        except OSError as error:
            log_failure("Looking after a supervisor", error)

    async def _read(self, progress: Progress) -> None:
        """What an experiment prints must never keep us from its end."""
        try:
            await asyncio.to_thread(progress.read)
        except Exception as error:
            log_failure("Reading what an experiment writes", error)

    def _progress(self, run: Run, attempt: Attempt) -> Progress:
        held = self.progress.get(run.name)
        if held is None or held.attempt_id != attempt.id:
            held = self.progress[run.name] = Progress(run, attempt, self._paths(run.name))
        return held

    async def _end(self, run: Run, attempt: Attempt, gone: Gone) -> None:
        progress = self._progress(run, attempt)
        await self._read(progress)
        ended = saw.AttemptEnded(
            run=run.name, attempt=attempt.number, exit=gone.exit, seen=progress.seen, why=gone.why
        )  # fmt: skip
        self._tell(ended)

    async def _halt(self, effect: do.Halt) -> None:
        run = self._run(effect.run)
        if run.current is not None:
            folder = self._paths(run.name).attempt(run.current.number)
            await asyncio.to_thread(self._world.attempts.halt, folder, effect.cause, effect.text)

    # --- the end -----------------------------------------------------------------------------------------------------

    async def _publish(self, effect: do.Publish) -> None:
        await self._step_aside()
        run, settings = self._run(effect.run), self._world.settings
        entries = await asyncio.to_thread(self.entries, run.name)
        results = await asyncio.to_thread(publish.write_results, self._home, run, entries, settings)
        is_theirs = publish.is_delivered(run, settings) and not is_superseded(self._world.fleet(), run)
        trouble = await self._deliver(run, results) if is_theirs else None
        await asyncio.to_thread(publish.write_flag, self._home, run, results)
        if trouble is not None:
            self._tell(saw.PublishFailed(run=run.name, undelivered=trouble))
            return
        for entry in launching.announced(entries):  # before its end is recorded: nobody comes back to it after that
            await asyncio.to_thread(self._world.attempts.clean_up, entry.id, entry.session)
        self._tell(saw.PublishDone(run=run.name))

    async def _deliver(self, run: Run, results: Results) -> str | None:
        """Deliver; returns the trouble where it is worth trying again."""
        try:
            await asyncio.wait_for(asyncio.to_thread(publish.deliver_results, run, results), _RESULT_DIR_S)
        except (OSError, TimeoutError) as error:
            text = f"Results could not be delivered to {results.folder}: {error or 'no answer'}."
            logger.warning("{}: {}", run.name, text)
            waited = (_now() - (run.finished_at or _now())).total_seconds()
            again = waited < self._world.settings.limits.world_wait and not publish.lasting(error)
            return text if again else None
        return None

    async def _step_aside(self) -> None:
        """The next experiment's start comes before the last one's results: its GPUs cost dollars a minute."""
        loop = asyncio.get_running_loop()
        until = loop.time() + _STEP_ASIDE_S
        while self._is_launching() and loop.time() < until:
            await asyncio.sleep(0.005)

    def _is_launching(self) -> bool:
        fleet = self._world.fleet()
        return bool(fleet.looking or fleet.taking or any(run.state in _PREPARING for run in fleet.runs.values()))

    async def _clean_up(self, effect: do.CleanUp) -> None:
        self._journals.close(self._paths(effect.run))
        self.progress.pop(effect.run, None)

    async def _answered(self, effect: do.Answered) -> None:
        await asyncio.to_thread(control.answered, self._home, effect.request_id)


def log_failure(what: str, error: Exception) -> None:
    """Say what could not be done: by the world, which may pass, or by a defect of ours, which is told in full."""
    if isinstance(error, OSError):
        logger.warning("{} could not be done, and will be tried again: {}", what, error)
    else:
        logger.opt(exception=error).error("{} failed", what)


def _in_the_world(code: str, message: str) -> Problem:
    return Problem(code=code, kind=Kind.WORLD, message=message)


def _failed(effect: do.Effect, error: Exception) -> saw.Event:
    match effect:
        case do.Admit():
            return saw.AdmitFailed(drop_id=effect.drop_id)
        case do.Publish():
            return saw.PublishFailed(run=effect.run)
        case do.Look():
            trouble = _in_the_world("home_trouble", f"It could not be looked at: {error}.")
            return saw.Looked(run=effect.run, world=(trouble,))
        case do.Answered():
            return saw.Tick()
        case do.Take():
            return saw.NotTaken(run=effect.run)
        case _:
            return saw.ActFailed(run=effect.run)


def _now() -> datetime:
    return datetime.now().astimezone()
