"""A home at one moment, as `status` shows it."""

from __future__ import annotations

from msgspec import Struct

from ajet_inbox.app.client.asking import Pause, paused
from ajet_inbox.app.client.states import Runs, RunState, is_running, read_all
from ajet_inbox.app.client.watchers import Watcher, Watchers
from ajet_inbox.app.identity import host_name
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.edge.files import list_names


class Overview(Struct, frozen=True, kw_only=True):
    """What is going on. `strangers` lie in the inbox and are no drops."""

    home: str
    inbox_missing: bool
    paused: Pause | None
    strangers: tuple[str, ...]
    watchers: tuple[Watcher, ...]
    runs: Runs

    def is_silent(self, run: RunState) -> bool:
        """Whether a run is on another host that shows no life: then its snapshot is old."""
        living = {watcher.sign.host for watcher in self.watchers if watcher.alive}
        return is_running(run) and run.host not in (None, host_name()) and run.host not in living


def overview(home: HomePaths, watchers: Watchers) -> Overview:
    """Look at everything once.

    Raises:
        OSError: the home cannot be listed.
    """
    seen = watchers.look()
    return Overview(
        home=str(home.root),
        inbox_missing=home.inbox.name not in list_names(home.root)
        or any(w.alive and w.sign.inbox_missing for w in seen),
        paused=paused(home),
        strangers=tuple(sorted({name for w in seen if w.alive for name in w.sign.strangers})),
        watchers=seen,
        runs=read_all(home),
    )
