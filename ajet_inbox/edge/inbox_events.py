"""Being told of changes in the inbox by the kernel, for as long as it tells (contract section 2)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, cast

from loguru import logger
from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers.inotify import InotifyFullEmitter, InotifyObserver
from watchdog.observers.inotify_c import InotifyConstants

if TYPE_CHECKING:
    from watchdog.observers.inotify_c import Mask

_WAKING: list[type[FileSystemEvent]] = [
    *(FileMovedEvent, DirMovedEvent, FileCreatedEvent, DirCreatedEvent, FileClosedEvent, DirDeletedEvent)
]


class _Emitter(InotifyFullEmitter):
    """Hears what comes, not what goes.

    For an entry that leaves, watchdog waits half a second whether it turns up again under another name, and holds back
    all later events: every drop that we take away would delay the next. Unasked for, a rename within the inbox looks
    like one into it, which is what we want.
    """

    def get_event_mask_from_filter(self) -> Mask:
        return cast("Mask", super().get_event_mask_from_filter() & ~InotifyConstants.IN_MOVED_FROM)


class _Observer(InotifyObserver):
    def __init__(self) -> None:
        super().__init__(generate_full_events=True)
        self._emitter_class = _Emitter


class _Handler(FileSystemEventHandler):
    """An exception here would end watchdog's thread for good (measured), so none leaves."""

    def __init__(self, on_wake: Callable[[], None], on_renamed_in: Callable[[str], None]) -> None:
        self._on_wake = on_wake
        self._on_renamed_in = on_renamed_in

    def on_any_event(self, event: FileSystemEvent) -> None:
        try:
            if isinstance(event, FileMovedEvent | DirMovedEvent):
                self._on_renamed_in(PurePosixPath(os.fsdecode(event.dest_path)).name)
            self._on_wake()
        except Exception:
            logger.exception("An inbox event was lost")


class InboxEvents:
    """Tells of changes in the inbox as this host's kernel sees them; both callbacks run in a thread of their own.

    It may fall silent at any time (another host's drops, an overflow, the folder replaced): call `check` before every
    scan, and scan now and then without being woken.
    """

    def __init__(self, folder: Path, on_wake: Callable[[], None], on_renamed_in: Callable[[str], None]) -> None:
        self._folder = folder
        self._handler = _Handler(on_wake, on_renamed_in)
        self._observer: _Observer | None = None
        self._watched: tuple[int, int] | None = None

    def check(self) -> bool:
        """Watches the folder that is there now, anew where need be; False: events cannot be had at the moment."""
        identity = _identity(self._folder)
        if self._observer and self._watched == identity and _is_alive(self._observer):
            return True
        self.close()
        return identity is not None and self._start(identity)

    def close(self) -> None:
        """Stops watching."""
        if self._observer:
            _stop(self._observer)
        self._observer = None

    def _start(self, identity: tuple[int, int]) -> bool:
        try:
            observer = _Observer()
        except OSError as error:
            return _no_events(error)
        try:
            # watchdog does not follow a link, and an inbox may be one.
            observer.schedule(self._handler, self._folder.resolve(), event_filter=_WAKING)
            observer.start()
        except OSError as error:
            _stop(observer)
            return _no_events(error)
        self._observer, self._watched = observer, identity
        return True


def _identity(folder: Path) -> tuple[int, int] | None:
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _is_alive(observer: _Observer) -> bool:
    """The observer outlives its emitter, which dies with the folder (measured)."""
    return observer.is_alive() and all(emitter.is_alive() for emitter in observer.emitters)


def _stop(observer: _Observer) -> None:
    observer.stop()
    if observer.is_alive():
        observer.join()


def _no_events(error: OSError) -> bool:
    logger.debug("No inbox events, only scans: {}", error)
    return False
