"""Putting a blueprint into the inbox so that no watcher ever sees half of it, and nobody's drop is overwritten."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import yaml
from msgspec import Struct
from msgspec.structs import asdict, replace

from ajet_inbox.app.client.states import RunState, run_names
from ajet_inbox.app.client.waiting import Search
from ajet_inbox.app.errors import UsageError, UserError
from ajet_inbox.core.drops import (
    BLUEPRINT_NAME,
    READY_BYTES,
    READY_END,
    DropKind,
    ReadyMark,
    classify,
    is_ignored,
    read_ready,
    ready_mark,
    run_slug,
)
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.edge.files import (
    Unreadable,
    copy_tree,
    create_exclusive,
    fsync_dir,
    list_names,
    read_regular,
    write_atomic,
)

PATIENCE_S = 5.0
_POLL_S = 0.05
_MOST = 1 << 30  # what is too large is the watcher's to say; this only keeps a wrong argument from filling the disk


class Dropped(Struct, frozen=True, kw_only=True):
    """A drop that lies in the inbox, or has been taken out of it. `before`: the runs that there were."""

    name: str
    kind: DropKind
    key: str | None
    sha256: str
    before: frozenset[str]


def drop(home: HomePaths, source: Path, mark: ReadyMark, name: str | None = None) -> Dropped:
    """Put a blueprint, or a folder that holds one, into the inbox, complete and with its mark.

    Raises:
        UsageError: it is no blueprint, or its name or mark cannot be used.
        UserError: for `PATIENCE_S` something of the same name lay there and was not taken, or it cannot be read.
        OSError: the inbox cannot be written.
    """
    source = source.resolve()
    inside = list_names(source) if source.is_dir() else None
    name = _drop_name(source, name, inside)
    kind = classify(name, inside is not None, inside)
    if kind is None:
        raise UsageError(f"{source} holds no {BLUEPRINT_NAME}.", "Give a blueprint, or a folder that holds one.")
    if kind is DropKind.FOLDER and mark.retry_of is None:  # a retry must not bring the key of the first along
        mark = _with_own_mark(source, mark)
    text = _mark_text(mark)
    before = frozenset(run_names(home))
    with _staged(home, source, kind) as staged:
        sha256 = hashlib.sha256(
            (staged / BLUEPRINT_NAME if kind is DropKind.FOLDER else staged).read_bytes()
        ).hexdigest()
        _place(home, staged, name, kind, text)
    return Dropped(name=name, kind=kind, key=mark.key, sha256=sha256, before=before)


def accepted(home: HomePaths, dropped: Dropped) -> Search:
    """Finds the run that this very drop became. A receipt would not do: it may be of the same bytes dropped earlier."""
    slug = run_slug(dropped.name)

    def is_ours(state: RunState) -> bool:
        unread = state.drop_sha256 is None  # rejected without a look inside
        same = (unread or state.drop_sha256 == dropped.sha256) and state.key in (dropped.key, None)
        return same and (state.name is None or run_slug(state.name) == slug)

    return Search(home, is_ours, ignore=dropped.before)


# ---- names and marks ----------------------------------------------------------------------------------------------


def _drop_name(source: Path, given: str | None, inside: tuple[str, ...] | None) -> str:
    name = source.name if given is None else given
    if inside is None and not name.endswith(".md"):
        name += ".md"
    if "/" in name or "\0" in name or not name.isprintable() or is_ignored(name):
        raise UsageError(
            f"A drop cannot be called {name!r}: the inbox leaves such names alone.", "Name it with --name."
        )
    return name


def _with_own_mark(source: Path, mark: ReadyMark) -> ReadyMark:
    """A folder may bring a mark along: what is asked for here goes before what that says."""
    data = read_regular(source / READY_END, READY_BYTES)
    own = ReadyMark() if isinstance(data, Unreadable) else read_ready(data)[0]
    return replace(own, **_given(mark))


def _mark_text(mark: ReadyMark) -> bytes:
    """The mark as YAML, read back by the watcher's own rules before it is used."""
    given = {key: list(value) if isinstance(value, tuple) else value for key, value in _given(mark).items()}
    text = yaml.safe_dump(given, allow_unicode=True, sort_keys=False).encode() if given else b""
    if problems := read_ready(text)[1]:
        raise UsageError(problems[0].message)
    return text


def _given(mark: ReadyMark) -> dict[str, object]:
    return {key: value for key, value in asdict(mark).items() if value not in (None, ())}


# ---- into the inbox -----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _staged(home: HomePaths, source: Path, kind: DropKind) -> Iterator[Path]:
    """A durable copy beside the drops under a name that is never looked at; what is left of it there is removed."""
    staged = home.inbox / f".aj-submit-{secrets.token_hex(8)}"
    try:
        if kind is DropKind.FOLDER:
            copied = copy_tree(source, staged, _MOST)
            refused = copied if isinstance(copied, Unreadable) else None
        else:
            data = read_regular(source, _MOST)
            refused = data if isinstance(data, Unreadable) else None
            if not isinstance(data, Unreadable):
                write_atomic(staged, data)
        if refused:
            raise UserError(f"{refused.message}.", "Nothing was submitted.")
        yield staged
    finally:
        if staged.is_dir():
            shutil.rmtree(staged, ignore_errors=True)
        else:
            staged.unlink(missing_ok=True)


def _place(home: HomePaths, staged: Path, name: str, kind: DropKind, mark: bytes) -> None:
    """Let the drop appear, its mark before it, once nothing of its name is there."""
    if kind is DropKind.FOLDER:
        write_atomic(staged / READY_END, mark)
    deadline = time.monotonic() + PATIENCE_S
    while not (_is_free(home, name) and _try(home, staged, name, kind, mark)):
        if time.monotonic() >= deadline:
            raise UserError(
                f"{home.inbox / name}, or its mark, is still there and has not been taken.",
                "Start a watcher with 'ajet-inbox watch', or choose another name with --name.",
            )
        time.sleep(_POLL_S)


def _is_free(home: HomePaths, name: str) -> bool:
    """A drop that was just taken must also have its mark fetched, or it would fetch ours."""
    if name in list_names(home.inbox):
        return False
    return not any(name in list_names(home.intake / folder / "taken") for folder in list_names(home.intake))


def _try(home: HomePaths, staged: Path, name: str, kind: DropKind, mark: bytes) -> bool:
    if kind is DropKind.FOLDER:
        staged.rename(home.inbox / name)
        fsync_dir(home.inbox)
        return True
    marked = home.inbox / ready_mark(name, kind)
    if not create_exclusive(marked, mark):
        return False
    if not _link(staged, home.inbox / name):
        marked.unlink(missing_ok=True)
        return False
    fsync_dir(home.inbox)
    return True


def _link(staged: Path, place: Path) -> bool:
    """False where something has the name by now."""
    try:
        os.link(staged, place)
    except FileExistsError:
        # NFS: the server made the link, its reply was lost, and the retry found it. The count of names knows.
        return staged.stat().st_nlink == 2
    except OSError:
        staged.rename(place)  # a filesystem without links; the mark keeps other submitters away
    return True
