"""From the inbox to a run folder, in two renames that each have one winner.

1. `inbox/NAME` -> `outbox/.intake/OWNER/taken/NAME`: claimed. OWNER names the drop and the watcher that has it.
2. `outbox/.intake/OWNER/run` -> `outbox/RUN`: the run appears at once, whole, its first journal segment in it.

Between the two the bytes are copied, so that no writer of the original can still reach what is checked and run.
Whoever finds the intake folder of a dead watcher renames it to its own name and goes on from what is there; a watcher
that was only thought dead finds its folder gone and stops.
"""

from __future__ import annotations

import errno
import hashlib
import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ajet_inbox.core.drops import BLUEPRINT_NAME, DropKind, ready_mark
from ajet_inbox.core.journal import Owner
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.edge.files import (
    Unreadable,
    copy_tree,
    fsync_dir,
    list_names,
    read_regular,
    write_atomic,
)

_NOT_EMPTY = frozenset({errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.EISDIR})
_NO_MARK = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG})
_MARK_BYTES = 16 * 1024
_ARRIVAL = "arrival.json"
_COPIED = "copied"


class Arrival(Struct, frozen=True, kw_only=True):
    """What must be known of a drop beside its bytes.

    `signature`: inode, size and mtime_ns of a settled drop, None where a mark or a rename said that it was complete.
    `refused`: why it is rejected unread.
    """

    name: str
    kind: DropKind
    submitted_at: datetime
    signature: tuple[int, int, int] | None = None
    refused: str | None = None


class Content(Struct, frozen=True, kw_only=True):
    """The claimed bytes of a drop; None with the reason where they cannot be read."""

    blueprint: bytes | None = None
    mark: bytes | None = None
    sha256: str | None = None
    refused: str | None = None


class Intake(Struct, frozen=True, kw_only=True):
    """A claimed drop on its way to a run folder."""

    drop_id: str
    folder: Path
    arrival: Arrival

    @property
    def run(self) -> Path:
        """What becomes `outbox/RUN`."""
        return self.folder / "run"

    @property
    def taken(self) -> Path:
        """The drop as it was found, until it has been copied."""
        return self.folder / "taken"


def claim(home: HomePaths, owner: Owner, drop_id: str, arrival: Arrival) -> Intake | None:
    """Take a drop out of the inbox; None if it is gone, or has changed since it was seen to be settled.

    Raises:
        OSError: the outbox cannot be written.
    """
    intake = Intake(drop_id=drop_id, folder=home.intake / _folder_name(drop_id, owner), arrival=arrival)
    home.intake.mkdir(exist_ok=True)
    intake.folder.mkdir()
    try:
        intake.taken.mkdir()
        write_atomic(intake.folder / _ARRIVAL, msgspec.json.encode(arrival))
        (home.inbox / arrival.name).rename(intake.taken / arrival.name)
    except OSError as error:
        if _is_empty(intake):
            shutil.rmtree(intake.folder)
            if error.errno == errno.ENOENT:
                return None
            raise
        # Over NFS the winner of a rename can be told ENOENT, where the answer to its first call was lost.
    return _unless_changed(home, intake)


def _is_empty(intake: Intake) -> bool:
    """Whether nothing was moved into it."""
    return not list_names(intake.taken) and intake.run.name not in list_names(intake.folder)


def _unless_changed(home: HomePaths, intake: Intake) -> Intake | None:
    """None where the drop has changed since it was seen to be settled: it is back in the inbox then."""
    seen = intake.arrival.signature
    if seen is None or not list_names(intake.taken) or _signature(intake.taken / intake.arrival.name) == seen:
        return intake
    _put_back(home, intake)
    return None


def _signature(path: Path) -> tuple[int, int, int]:
    status = path.lstat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def _put_back(home: HomePaths, intake: Intake) -> None:
    """It is still being written: the inbox keeps it, unless something new lies there by now, which is then the drop."""
    place = home.inbox / intake.arrival.name
    if place.name not in list_names(home.inbox):
        (intake.taken / place.name).rename(place)
    shutil.rmtree(intake.folder)


def secure(home: HomePaths, intake: Intake, limits: tuple[int, int]) -> Content:
    """Copy the claimed bytes to where they stay, and read them. `limits`: the bytes a file and a folder may have.

    Raises:
        OSError: the outbox cannot be written; it can be called again.
    """
    refused = intake.arrival.refused
    if intake.taken.name in list_names(intake.folder):
        _fetch_mark(home, intake)
        refused = refused or _copy(intake, limits)
        if refused is not None:
            _keep_unread(intake, refused)
        else:
            # By one rename: a crash among the removals must not leave half a drop that looks as if not copied yet.
            intake.taken.rename(intake.folder / _COPIED)
            shutil.rmtree(intake.folder / _COPIED)
    return Content(refused=refused) if refused is not None else _read(intake, limits[0])


def _fetch_mark(home: HomePaths, intake: Intake) -> None:
    """The mark goes with its drop, and after it: a crash in between leaves it to be found by whoever goes on."""
    mark = ready_mark(intake.arrival.name, intake.arrival.kind)
    try:
        (home.inbox / mark).rename(intake.taken / mark)
    except OSError as error:
        if error.errno not in _NO_MARK:
            raise


def _copy(intake: Intake, limits: tuple[int, int]) -> str | None:
    """The drop and its mark into `run/drop`, durable; the reason where the drop cannot be read."""
    drop, name = intake.run / "drop", intake.arrival.name
    shutil.rmtree(drop, ignore_errors=True)
    intake.run.mkdir(exist_ok=True)
    if intake.arrival.kind is DropKind.FOLDER:
        copied = copy_tree(intake.taken / name, drop, limits[1])
        return copied.message if isinstance(copied, Unreadable) else None
    drop.mkdir()
    data = read_regular(intake.taken / name, limits[0])
    if isinstance(data, Unreadable):
        return data.message
    write_atomic(drop / name, data)
    mark = read_regular(intake.taken / ready_mark(name, intake.arrival.kind), _MARK_BYTES)
    if not isinstance(mark, Unreadable):
        write_atomic(drop / ready_mark(name, intake.arrival.kind), mark)
    return None


def _keep_unread(intake: Intake, refused: str) -> None:
    """A drop that is not read is kept as it is: a link stays a link."""
    write_atomic(intake.folder / _ARRIVAL, msgspec.json.encode(replace(intake.arrival, refused=refused)))
    intake.run.mkdir(exist_ok=True)
    shutil.rmtree(intake.run / "drop", ignore_errors=True)
    intake.taken.rename(intake.run / "drop")


def _read(intake: Intake, limit: int) -> Content:
    drop, name, kind = intake.run / "drop", intake.arrival.name, intake.arrival.kind
    data = read_regular(drop / (BLUEPRINT_NAME if kind is DropKind.FOLDER else name), limit)
    if isinstance(data, Unreadable):
        return Content(refused=data.message)
    mark = read_regular(drop / ready_mark("." if kind is DropKind.FOLDER else name, kind), _MARK_BYTES)
    return Content(
        blueprint=data,
        mark=None if isinstance(mark, Unreadable) else mark,
        sha256=hashlib.sha256(data).hexdigest(),
    )


def commit(home: HomePaths, intake: Intake, name: str) -> str:
    """Let the run appear under the first free of `name`, `name-2`, ...; returns the name it has.

    Raises:
        OSError: it did not appear; FileNotFoundError if another watcher has taken the intake over.
    """
    taken = set(list_names(home.outbox))
    for candidate in (c for c in _candidates(name) if c not in taken):
        try:
            intake.run.rename(home.outbox / candidate)
        except OSError as error:
            if error.errno not in _NOT_EMPTY:
                raise
        else:
            fsync_dir(home.outbox)
            shutil.rmtree(intake.folder, ignore_errors=True)
            return candidate
    raise AssertionError("names never run out")


def _candidates(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name}-{number}"
        number += 1


def arrivals(home: HomePaths) -> list[Arrival]:
    """The drops that have been taken out of the inbox and are no runs yet."""
    found = (_arrival(home.intake / name) for name in list_names(home.intake))
    return [arrival for arrival in found if arrival is not None]


def _arrival(folder: Path) -> Arrival | None:
    data = read_regular(folder / _ARRIVAL, _MARK_BYTES)
    try:
        return None if isinstance(data, Unreadable) else msgspec.json.decode(data, type=Arrival)
    except msgspec.MsgspecError:
        return None


def abandoned(home: HomePaths) -> list[tuple[str, Owner]]:
    """The intake folders that there are, by name, with their owners; what is not ours is left out."""
    found = ((name, _owner_of(name)) for name in list_names(home.intake))
    return [(name, owner) for name, owner in found if owner is not None]


def adopt(home: HomePaths, name: str, owner: Owner) -> Intake | None:
    """Take over the intake folder of a dead watcher; None if somebody was faster or nothing is left to do in it.

    Raises:
        OSError: the outbox cannot be written.
    """
    drop_id = name.split(",", 1)[0]
    folder = home.intake / _folder_name(drop_id, owner)
    try:
        (home.intake / name).rename(folder)
        arrival = msgspec.json.decode((folder / _ARRIVAL).read_bytes(), type=Arrival)
    except FileNotFoundError:
        shutil.rmtree(folder, ignore_errors=True)  # it died before it had moved anything
        return None
    intake = Intake(drop_id=drop_id, folder=folder, arrival=arrival)
    if _is_empty(intake):
        shutil.rmtree(folder)
        return None
    return _unless_changed(home, intake)


def stands(home: HomePaths, intake: Intake) -> bool:
    """Whether the intake is still ours: not if its run stands after all, or another watcher has taken it over."""
    return intake.folder.name in list_names(home.intake)


def _folder_name(drop_id: str, owner: Owner) -> str:
    parts = (drop_id, owner.nonce, owner.pid, owner.started, owner.pid_ns, owner.boot_id, owner.host)
    return ",".join(str(part) for part in parts)


def _owner_of(name: str) -> Owner | None:
    parts = name.split(",", 6)
    if len(parts) != 7 or not all(part.isdecimal() for part in parts[2:5]):
        return None
    pid, started, pid_ns = (int(part) for part in parts[2:5])
    return Owner(nonce=parts[1], pid=pid, started=started, pid_ns=pid_ns, boot_id=parts[5], host=parts[6])
