"""Looks up in the world what a blueprint names, and waits only so long: a mount that hangs must not hang the caller."""

from __future__ import annotations

import os
import pwd
import stat
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from concurrent.futures import Future, wait
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

from msgspec.structs import replace

from ajet_inbox.core.checking.facts import Facts, FileText, PathFacts
from ajet_inbox.edge.files import Unreadable, read_regular

Examine = Callable[[str], PathFacts]
K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

_MOST_FILES = 5_000  # of a folder whose size is asked for

# By what was asked: a look that has not come back. A mount that hangs for hours is asked once, not once a minute.
_pending: dict[Hashable, Future[object]] = {}
_lock = threading.Lock()


def begin(key: Hashable, question: Callable[[], T]) -> Future[T]:
    """Ask in a thread of its own. Nothing here can be interrupted: a question that hangs is left behind, and whoever
    asks the same before it returns waits for that answer."""
    with _lock:
        if key in _pending:
            return cast("Future[T]", _pending[key])
        answer = Future[T]()
        _pending[key] = cast("Future[object]", answer)

    def run() -> None:
        try:
            found = question()
        finally:
            with _lock:
                del _pending[key]  # first, so that whoever has this answer gets a fresh one next time
        answer.set_result(found)

    threading.Thread(target=run, name="look", daemon=True).start()
    return answer


def answers(asked: Mapping[K, Future[T]], timeout_s: float) -> dict[K, T]:
    """The answers that come within `timeout_s` seconds: one mount that hangs leaves the others theirs."""
    wait(asked.values(), timeout_s)
    return {key: answer.result() for key, answer in asked.items() if answer.done()}


def answer(asked: Future[T], timeout_s: float) -> T | None:
    """The answer, if it comes within `timeout_s` seconds."""
    return answers({None: asked}, timeout_s).get(None)


def look(
    *paths: str, timeout_s: float, files: Iterable[str] = (), limit: int = 1 << 20, examine: Examine | None = None
) -> Facts:
    """What is known of `paths`, and what is in `files`, after at most `timeout_s` seconds; `~` is this user's home.

    A file of more than `limit` bytes is not read.
    """
    deadline = time.monotonic() + timeout_s
    see, silent = examine or examine_path, f"no answer in {timeout_s:g} s"
    looks = {path: begin(("path", path), partial(see, path)) for path in dict.fromkeys(paths)}
    reads = {path: begin(("file", path), partial(read_text, path, limit)) for path in dict.fromkeys(files)}
    seen = answers(looks, timeout_s)
    read = answers(reads, max(0.0, deadline - time.monotonic()))
    return Facts(
        paths={path: seen.get(path, PathFacts(answered=False, why=silent)) for path in looks},
        files={path: read.get(path, FileText(why=silent)) for path in reads},
    )


# ---- a path -------------------------------------------------------------------------------------------------------


def examine_path(path: str) -> PathFacts:
    """What the filesystem says of `path`; takes as long as that takes."""
    try:
        place = Path(path).expanduser()
        status = _status(place)
        found = _present(place, status) if status is not None else _absent(place)
        return replace(found, real=os.path.realpath(place))
    except OSError as error:
        return PathFacts(answered=False, why=error.strerror or type(error).__name__)
    except (RuntimeError, ValueError) as error:  # an unknown user behind `~`, a zero byte
        return PathFacts(answered=False, why=str(error))


def _status(place: Path) -> os.stat_result | None:
    """What is there, None where nothing is; other failures are raised."""
    try:
        return place.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _is_empty(folder: Path) -> bool:
    with os.scandir(folder) as names:
        return next(names, None) is None


def _present(place: Path, status: os.stat_result) -> PathFacts:
    return PathFacts(
        exists=True,
        is_dir=stat.S_ISDIR(status.st_mode),
        is_file=stat.S_ISREG(status.st_mode),
        readable=os.access(place, os.R_OK),
        writable=os.access(place, os.W_OK),
        executable=os.access(place, os.X_OK),
        mode=stat.S_IMODE(status.st_mode),
        edition=(status.st_ino, status.st_mtime_ns),
        free_bytes=_free(place),
    )


def _absent(place: Path) -> PathFacts:
    above = next((folder for folder in place.absolute().parents if _status(folder) is not None), None)
    if above is None:
        return PathFacts()
    is_dir = above.is_dir()
    return PathFacts(
        ancestor=str(above),
        ancestor_empty=is_dir and _is_empty(above),
        ancestor_writable=is_dir and os.access(above, os.W_OK | os.X_OK),
        free_bytes=_free(above),
    )


def _free(place: Path) -> int:
    """What this user may still write there."""
    space = os.statvfs(place)
    return space.f_bavail * space.f_frsize


def owners(*places: Path) -> tuple[str, ...]:
    """The users that own these files, each once.

    Raises:
        OSError: one cannot be looked at.
    """
    return tuple(dict.fromkeys(_user(place.lstat().st_uid) for place in places))


def current_user() -> str:
    """The user of this process."""
    return _user(os.getuid())


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


# ---- files --------------------------------------------------------------------------------------------------------


def read_text(path: str, limit: int) -> FileText:
    """The text of a file. Links are followed, as the experiment will follow them."""
    try:
        data = read_regular(Path(os.path.realpath(Path(path).expanduser())), limit)
    except (OSError, RuntimeError, ValueError) as error:
        return FileText(why=str(error))
    if isinstance(data, Unreadable):
        return FileText(why=data.message)
    try:
        return FileText(text=data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return FileText(text=data.decode("utf-8-sig", errors="replace"))


def largest_below(folder: str) -> int:
    """The bytes in the largest folder within `folder`, as far as a few thousand files tell; 0 where there is none."""
    try:
        with os.scandir(Path(folder).expanduser()) as entries:
            inside = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
        return max((sum(_sizes(each)) for each in inside), default=0)
    except OSError:
        return 0


def _sizes(folder: str) -> Iterator[int]:
    count = 0
    for place, _, names in os.walk(folder):
        for name in names:
            count += 1
            if count > _MOST_FILES:
                return
            try:
                yield Path(place, name).lstat().st_size
            except OSError:
                continue
