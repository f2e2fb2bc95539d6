"""Results into exp_result_dir, a folder of the user's: nothing of theirs is lost, and the flag comes last.

Contract section 3, "Delivery". Every step may be repeated after a crash at any point.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from ajet_inbox.core.paths import DELIVERED, FLAG
from ajet_inbox.edge.files import fsync_dir, list_names, move_aside, read_regular, remove_torn, write_atomic

# Lines that finish.flag shares with that of no other run, nor of a later run of the same drop.
_IDENTITY = (b"run: ", b"drop_sha256: ", b"finished_at: ")
_FLAG_BYTES = 64 * 1024
_EXPERIMENT = "experiment"


def may_deliver(result_dir: Path) -> str | None:
    """Why nothing is written to `result_dir`, in one sentence; None where it may be.

    Raises:
        OSError: nobody can tell now.
    """
    if not result_dir.is_absolute():
        return f"exp_result_dir {result_dir} is not an absolute path."
    try:
        return _obstacle(result_dir)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return f"exp_result_dir {result_dir} has a name that is too long."
        raise


def _obstacle(result_dir: Path) -> str | None:
    nearest = next(path for path in (result_dir, *result_dir.parents) if path.is_symlink() or path.exists())
    if not nearest.is_dir():
        return f"exp_result_dir {result_dir} cannot be made: {nearest} is not a folder."
    if nearest in (result_dir, result_dir.parent):
        return None
    if nearest == nearest.parent:
        return f"exp_result_dir {result_dir} has no existing ancestor but {nearest}."
    # Most likely a mount that is away: what is written there would vanish under it.
    return None if list_names(nearest) else f"exp_result_dir {result_dir} lies below {nearest}, which is empty."


def set_aside(result_dir: Path, when: datetime, mine: bytes | None = None) -> list[Path]:
    """Renames what lies there under our names to `*.stale-TIME`; the new names.

    `mine` is the flag that is about to be delivered: where it stands already, all that is there is ours.

    Raises:
        OSError: something could not be renamed; what is left will be, next time.
    """
    if mine is not None and _holds(result_dir / FLAG, mine):
        return []
    there = set(list_names(result_dir))
    # The flag first: whoever waits for the new one must not find the old one for a moment longer than needed.
    names = [name for name in (FLAG, *DELIVERED) if name in there]
    moved = [move_aside(result_dir / name, f"stale-{when:%Y%m%dT%H%M%S%z}") for name in names]
    return [path for path in moved if path is not None]


def deliver(result_dir: Path, files: Iterable[tuple[str, bytes]], flag: bytes) -> None:
    """Writes those of `files` that are delivered, each atomically and durably, and `flag` last.

    What the experiment itself wrote under one of these names since is kept as `NAME.experiment`.

    Raises:
        OSError: not all is there, and so no flag of ours.
    """
    _make_folder(result_dir)
    remove_torn(result_dir)
    for name, data in files:
        first, *rest = name.split("/")
        if first not in DELIVERED:
            continue
        if rest:
            _make_own_folder(result_dir / first)
        _put(result_dir / name, data)
    if not _holds(result_dir / FLAG, flag):
        move_aside(result_dir / FLAG, _EXPERIMENT)
    write_atomic(result_dir / FLAG, flag)


def _make_folder(folder: Path) -> None:
    """Makes a folder and its parents so that they last."""
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    fsync_dir(folder.parent)


def _make_own_folder(folder: Path) -> None:
    """A real folder of ours; never one that a link of somebody's leads to."""
    if folder.is_symlink() or not folder.is_dir():
        move_aside(folder, _EXPERIMENT)
        _make_folder(folder)
    remove_torn(folder)


def _put(path: Path, data: bytes) -> None:
    if read_regular(path, len(data)) != data:
        move_aside(path, _EXPERIMENT)
    write_atomic(path, data)


def _holds(path: Path, flag: bytes) -> bool:
    """Whether the flag at `path` is that of the same run as `flag`, so that we wrote it."""
    found = read_regular(path, _FLAG_BYTES)
    return isinstance(found, bytes) and _identity(found) == _identity(flag)


def _identity(flag: bytes) -> list[bytes]:
    return [line for line in flag.splitlines() if line.startswith(_IDENTITY)]
