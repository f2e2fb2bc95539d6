"""What lies in the inbox and what of it is complete (contract section 2). A scan is the truth; events only wake it."""

from __future__ import annotations

import functools
import math
import os
import stat
import time
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from ajet_inbox.core.drops import (
    READY_END,
    DropKind,
    classify,
    is_ignored,
    is_ready_mark,
    natural_key,
    printable,
    ready_mark,
)
from ajet_inbox.edge import files
from ajet_inbox.edge.files import Unreadable, Why

FILE_LIMIT = 1 << 20
FOLDER_LIMIT = 64 << 20
_PASSING = frozenset({Why.MISSING, Why.FAILED})  # what may look different in a moment is nothing to judge by


# ---- what a scan sees ---------------------------------------------------------------------------------------------


class Complete(StrEnum):
    """Why a drop is taken for complete."""

    READY = "ready"  # it has its mark
    RENAMED = "renamed"  # this host's kernel saw it renamed into place
    SETTLED = "settled"  # two looks saw the same
    REFUSED = "refused"  # it will not be read, so there is nothing to wait for


class Signature(Struct, frozen=True, kw_only=True):
    """What tells one version of a file or folder from the next, as far as a look from outside can."""

    inode: int
    size: int
    mtime_ns: int


class Drop(Struct, frozen=True, kw_only=True):
    """A complete drop. `marks` are the files that go with it, relative to the inbox.

    `refused` says why it is to be rejected unread. A drop without it may still turn out to be unreadable.
    """

    name: str
    kind: DropKind
    marks: tuple[str, ...] = ()
    signature: Signature
    why: Complete
    refused: Unreadable | None = None


class Settling(Struct, frozen=True, kw_only=True):
    """A drop that is not known to be complete; the next look at it is due at `due`, in seconds of the inbox's clock."""

    name: str
    kind: DropKind
    due: float


class Scan(Struct, frozen=True, kw_only=True):
    """The inbox at one moment, in order of arrival as seen.

    `strangers` are the printable names of what is nobody's, `new_strangers` those that the last scan did not have.
    `missing` says why the inbox could not be listed. In `next_look_s` seconds a look is due; None: none is.
    """

    complete: tuple[Drop, ...] = ()
    settling: tuple[Settling, ...] = ()
    strangers: tuple[str, ...] = ()
    new_strangers: tuple[str, ...] = ()
    missing: Unreadable | None = None
    next_look_s: float | None = None


_Found = Drop | Settling | str | None  # a string is the printable name of a stranger


class _Verdict(Struct, frozen=True, kw_only=True):
    """What was found, and until when it stands if the `sight` (inode, size, time, mark, rename) stays the same."""

    sight: tuple[int, int, int, bool, bool]
    found: _Found
    until: float


class _Look(Struct, frozen=True, kw_only=True):
    """One careful look at a drop."""

    signature: Signature
    content: str | Unreadable
    at: float
    settled: bool = False


# ---- scanning -----------------------------------------------------------------------------------------------------


class Inbox:
    """Remembers what earlier scans saw. Times are the watcher's own monotonic seconds, never a file's."""

    def __init__(
        self,
        folder: Path,
        settle_s: float,
        clock: Callable[[], float] = time.monotonic,
        file_limit: int = FILE_LIMIT,
        folder_limit: int = FOLDER_LIMIT,
    ) -> None:
        self._folder = folder
        self._settle_s = settle_s
        self._clock = clock
        self._file_limit = file_limit
        self._folder_limit = folder_limit
        self._seen: dict[str, float] = {}  # since when, in order of arrival
        self._verdicts: dict[str, _Verdict] = {}
        self._looks: dict[str, _Look] = {}
        self._renamed: dict[str, int] = {}  # the inode that was renamed into place
        self._strangers: frozenset[str] = frozenset()

    def note_renamed_in(self, name: str) -> None:
        """Believes that `name` has just been renamed into place. May be called from any thread."""
        try:
            self._renamed[name] = (self._folder / name).lstat().st_ino
        except OSError:
            return  # gone again

    def scan(self) -> Scan:
        """Looks at everything. Reads the files whose look is due, and so may wait for a slow filesystem."""
        try:
            found, now = self._find()
        except OSError as error:
            return Scan(missing=files.unreadable_by(self._folder.name, error))
        settling = tuple(f for f in found if isinstance(f, Settling))
        strangers = tuple(f for f in found if isinstance(f, str))
        known, self._strangers = self._strangers, frozenset(strangers)
        return Scan(
            complete=tuple(f for f in found if isinstance(f, Drop)),
            settling=settling,
            strangers=strangers,
            new_strangers=tuple(name for name in strangers if name not in known),
            next_look_s=max(0.0, min(s.due for s in settling) - now) if settling else None,
        )

    def _find(self) -> tuple[list[_Found], float]:
        fd = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)  # names stay in this very folder
        try:
            names = self._list(fd)
            now = self._clock()
            self._remember(names, now)
            return [self._judge(name, fd, names, now) for name in self._seen], now
        finally:
            os.close(fd)

    def _list(self, fd: int) -> set[str]:
        renamed = self._renamed.copy()  # before the listing: a rename noted during it must not be forgotten
        with os.scandir(fd) as listing:
            names = {e.name for e in listing if e.name in self._seen or not is_ignored(e.name)}
        for gone in renamed.keys() - names:
            self._renamed.pop(gone, None)
        return names

    def _remember(self, names: set[str], now: float) -> None:
        for gone in self._seen.keys() - names:
            del self._seen[gone]
            self._verdicts.pop(gone, None)
            self._looks.pop(gone, None)
        for name in sorted(names - self._seen.keys(), key=natural_key):
            self._seen[name] = now

    def _judge(self, name: str, fd: int, names: set[str], now: float) -> _Found:
        """Costs one stat where nothing has changed, which makes up most of a scan."""
        try:
            status = os.stat(name, dir_fd=fd, follow_symlinks=False)
        except OSError:
            return None  # gone since the listing
        inode = status.st_ino
        is_renamed = self._renamed.get(name) == inode
        sight = (inode, status.st_size, status.st_mtime_ns, name + READY_END in names, is_renamed)
        last = self._verdicts.get(name)
        if last and last.sight == sight and now < last.until and not stat.S_ISDIR(status.st_mode):
            return last.found
        found, until = self._decide(name, status, names, now)
        self._verdicts[name] = _Verdict(sight=sight, found=found, until=until)
        return found

    def _decide(self, name: str, status: os.stat_result, names: set[str], now: float) -> tuple[_Found, float]:
        inside = _names_inside(self._folder / name) if stat.S_ISDIR(status.st_mode) else None
        kind = classify(name, inside is not None, inside)
        if kind is None:
            return self._stranger(name, now)
        mark = ready_mark(name, kind)
        marks = (mark,) if mark in names or READY_END in (inside or ()) else ()
        drop = functools.partial(Drop, name=name, kind=kind, marks=marks, signature=_signature(status))
        if refused := self._refusal(name, status):
            return drop(why=Complete.REFUSED, refused=refused), math.inf
        if marks:
            return drop(why=Complete.READY), math.inf
        if self._renamed.get(name) == status.st_ino:
            return drop(why=Complete.RENAMED), math.inf
        look = self._looks[name] = self._look(name, kind, _signature(status), now)
        if look.settled:
            refused = look.content if isinstance(look.content, Unreadable) else None
            return drop(why=Complete.SETTLED, refused=refused), math.inf
        due = look.at + self._settle_s
        return Settling(name=name, kind=kind, due=due), due

    def _stranger(self, name: str, now: float) -> tuple[str | None, float]:
        """Named only after a while: a mark waits for its drop, and a folder may for its blueprint."""
        due = self._seen[name] + self._settle_s
        if is_ready_mark(name):
            return None, math.inf
        return (printable(name), math.inf) if now >= due else (None, due)

    def _refusal(self, name: str, status: os.stat_result) -> Unreadable | None:
        if stat.S_ISDIR(status.st_mode):
            return None
        if not stat.S_ISREG(status.st_mode):
            return files.unreadable(name, status.st_mode)
        if status.st_size > self._file_limit:
            return files.too_large(name, self._file_limit)
        return None

    def _look(self, name: str, kind: DropKind, signature: Signature, now: float) -> _Look:
        """The last look, where it is still good or too young to be repeated, else a new one."""
        last = self._looks.get(name)
        is_same = last is not None and last.signature == signature
        if last and is_same and (last.settled or now < last.at + self._settle_s):
            return last
        limit = self._folder_limit if kind is DropKind.FOLDER else self._file_limit
        content = files.fingerprint(self._folder / name, limit)
        is_passing = isinstance(content, Unreadable) and content.why in _PASSING
        settled = last is not None and is_same and last.content == content and not is_passing
        # The clock is read anew: the time between two looks begins when the first one is over.
        return _Look(signature=signature, content=content, at=self._clock(), settled=settled)


def _signature(status: os.stat_result) -> Signature:
    return Signature(inode=status.st_ino, size=status.st_size, mtime_ns=status.st_mtime_ns)


def _names_inside(folder: Path) -> tuple[str, ...]:
    """A folder that cannot be listed holds no blueprint for us."""
    try:
        return files.list_names(folder)
    except OSError:
        return ()
