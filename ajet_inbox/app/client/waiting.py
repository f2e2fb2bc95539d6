"""Waiting for runs to end: by listing their folders, since over NFS a name once looked up in vain stays unseen."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator

import yaml
from msgspec import Struct

from ajet_inbox.app.client.states import RunState, earliest, ended_as, find, read, run_names
from ajet_inbox.app.client.watchers import Watchers
from ajet_inbox.app.errors import NoSuchRun, UserError
from ajet_inbox.core.drops import is_ignored, run_slug
from ajet_inbox.core.lifecycle import Outcome
from ajet_inbox.core.paths import FLAG, HomePaths
from ajet_inbox.edge.files import Unreadable, list_names, read_regular
from ajet_inbox.edge.intake import arrivals

POLL_S = 0.2
_WATCHERS_EVERY_S = 2.0
_LIMIT = 1 << 20

Finder = Callable[[], str | None]  # the name of the run that is waited for, once there is one


class Search:
    """Finds the first run that `matches`, now or later. By what never changes in a run, so each is read only once."""

    def __init__(self, home: HomePaths, matches: Callable[[RunState], bool], ignore: Iterable[str] = ()) -> None:
        self._home = home
        self._matches = matches
        self._seen = set(ignore)
        self._found: str | None = None

    def __call__(self) -> str | None:
        """Its name, None while there is none.

        Raises:
            OSError: the outbox cannot be listed now.
        """
        if self._found is None:
            first = earliest(self._new())
            self._found = first.run if first else None
        return self._found

    def _new(self) -> Iterator[RunState]:
        for name in run_names(self._home):
            if name not in self._seen and (state := read(self._home, name)) is not None:
                self._seen.add(name)
                if self._matches(state):
                    yield state


def by_name(home: HomePaths, name: str) -> Finder:
    """The run of this name: one that exists, or that a drop on its way will become.

    Raises:
        NoSuchRun: there is neither; the finder raises it, too, where the drop became another run.
    """

    def finder() -> str | None:
        if name in run_names(home):
            return name
        if _is_on_its_way(home, name):
            return None
        return find(home, name).run  # it may have arrived between the two looks

    finder()
    return finder


def _is_on_its_way(home: HomePaths, name: str) -> bool:
    """Whether a drop that gives a run of this name lies in the inbox, or has been taken out of it."""
    dropped = (*list_names(home.inbox), *(arrival.name for arrival in arrivals(home)))
    return any(run_slug(each) == name for each in dropped if not is_ignored(each))


def by_key(home: HomePaths, key: str) -> Finder:
    """The run that was dropped with this key, which need not exist yet. Its duplicates came later and do not count."""
    return Search(home, lambda state: state.key == key)


class Waited(Struct, frozen=True, kw_only=True):
    """The runs that have ended, in the order in which they did, and the finders that still wait."""

    ended: tuple[RunState, ...]
    left: tuple[Finder, ...]


def wait(
    home: HomePaths,
    finders: Iterable[Finder],
    *,
    timeout_s: float | None = None,
    on_end: Callable[[RunState], object],
    on_no_watcher: Callable[[], object],
) -> Waited:
    """Wait until every run has its finish.flag, at most `timeout_s` seconds.

    `on_no_watcher` is called once if nobody is there who could end them.

    Raises:
        NoSuchRun: one of them was removed meanwhile.
        UserError: a finish.flag stands but nothing tells how the run ended.
    """
    left, ended = list(finders), list[RunState]()
    begin = time.monotonic()
    silence = _Silence(home, on_no_watcher)
    while True:
        for finder in tuple(left):
            if (state := _look(home, finder)) is not None:
                left.remove(finder)
                ended.append(state)
                on_end(state)
        passed = time.monotonic() - begin
        if not left or (timeout_s is not None and passed >= timeout_s):
            return Waited(ended=tuple(ended), left=tuple(left))
        silence.look()
        time.sleep(POLL_S if timeout_s is None else min(POLL_S, timeout_s - passed))


class _Silence:
    """Tells once that no watcher lives; asked now and then, for it reads every heartbeat."""

    def __init__(self, home: HomePaths, tell: Callable[[], object]) -> None:
        self._watchers = Watchers(home)
        self._tell: Callable[[], object] | None = tell
        self._next = 0.0

    def look(self) -> None:
        if self._tell is None or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _WATCHERS_EVERY_S
        if not self._watchers.living():
            self._tell()
            self._tell = None


def _look(home: HomePaths, finder: Finder) -> RunState | None:
    """How the run ended; None where it has not, or a stalled filesystem does not say: that is no reason to give up."""
    with contextlib.suppress(OSError):
        name = finder()
        names = list_names(home.run(name).root) if name else ()
        if name and not names:
            raise NoSuchRun(name)
        if name and FLAG in names:
            return final(home, name)
    return None


def final(home: HomePaths, name: str) -> RunState:
    """A run whose finish.flag stands: the flag is durable and tells the truth, the snapshot may be older.

    Raises:
        NoSuchRun: it is gone.
        UserError: neither tells how it ended.
    """
    state = find(home, name)
    outcome = _flagged(home, name) or state.outcome
    if outcome is None:
        advice = f"Run 'ajet-inbox render {name}' to write it anew from the journal."
        raise UserError(f"The finish.flag of {name} does not say how it ended.", advice)
    return ended_as(state, outcome)


def _flagged(home: HomePaths, name: str) -> Outcome | None:
    data = read_regular(home.run(name).flag, _LIMIT)
    try:
        told = None if isinstance(data, Unreadable) else yaml.safe_load(data)
        return Outcome(told["outcome"]) if isinstance(told, dict) and "outcome" in told else None
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
