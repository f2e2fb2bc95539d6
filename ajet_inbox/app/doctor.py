"""Whether a home and this machine can do what is asked of them: one finding a line, each with what to do about it."""

from __future__ import annotations

import contextlib
import re
import secrets
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from ajet_inbox.app.client.watchers import Watchers
from ajet_inbox.app.identity import host_name
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.core.settings import Settings
from ajet_inbox.core.settings.fields import inert
from ajet_inbox.core.settings.read import SettingsError
from ajet_inbox.edge.files import list_names
from ajet_inbox.edge.settings import load
from ajet_inbox.edge.slots import CannotTell, discover

_OLDEST_TMUX = (3, 0)
_OLDEST_PYTHON = (3, 11)
_FULL = 1 << 30
_NEARLY_FULL = 20 << 30
_TIMEOUT_S = 5.0
_NO_SLOTS = "This host has no slots, so it runs nothing: 'slots' in ajet-inbox.yaml names only those of others."
_MEND_SLOTS = "'nvidia-smi -L' lists what there is; 'slots' in ajet-inbox.yaml says what is used, and 'auto' uses all."


class Health(StrEnum):
    """How it stands."""

    OK = "ok"  # as it should be
    WARN = "warn"  # it works, but somebody should look
    BAD = "bad"  # it does not work


class Finding(Struct, frozen=True, kw_only=True):
    """What a check found out, in one sentence."""

    check: str
    health: Health
    text: str


class Examined(Struct, frozen=True, kw_only=True):
    """The findings, and the settings that hold; None where the file cannot be used."""

    findings: tuple[Finding, ...]
    settings: Settings | None

    @property
    def is_well(self) -> bool:
        """Whether nothing is bad."""
        return all(finding.health is not Health.BAD for finding in self.findings)


def examine_home(home: HomePaths) -> Examined:
    """Check everything. It writes one file, moves it from inbox to outbox as a watcher would, and removes it."""
    settings: Settings | None = None
    findings: list[Finding] = []
    try:
        settings = load(home.config)
        findings.append(_ok("settings", f"{home.config} can be used." if _has_config(home) else "All are defaults."))
    except SettingsError as error:
        findings += [_bad("settings", problem) for problem in error.problems]
    findings += _inert(settings or Settings())
    findings += (finding for check in _CHECKS for finding in check(home))
    findings += _gpus(settings or Settings())
    return Examined(findings=tuple(findings), settings=settings)


def _has_config(home: HomePaths) -> bool:
    return home.config.name in list_names(home.root)


def _inert(settings: Settings) -> Iterator[Finding]:
    """Whoever sets a key that does nothing yet may feel protected by it."""
    if keys := inert(settings):
        yield _warn("settings", f"Set, and not acted on yet: {', '.join(keys)}. Do not rely on them.")


def _ok(check: str, text: str) -> Finding:
    return Finding(check=check, health=Health.OK, text=text)


def _warn(check: str, text: str) -> Finding:
    return Finding(check=check, health=Health.WARN, text=text)


def _bad(check: str, text: str) -> Finding:
    return Finding(check=check, health=Health.BAD, text=text)


# ---- the home -----------------------------------------------------------------------------------------------------


def _folders(home: HomePaths) -> Iterator[Finding]:
    """One filesystem is not enough: a bind mount has the same device number and still refuses the rename."""
    name = f".aj-doctor-{secrets.token_hex(4)}.tmp"
    here, there = home.inbox / name, home.outbox / name
    try:
        here.touch()
        here.rename(there)
        yield _ok("folders", "inbox and outbox can be written and are on one filesystem.")
    except OSError as error:
        yield _bad("folders", f"A drop could not be moved from inbox to outbox: {error.strerror} ({error.filename}).")
    finally:
        for path in (here, there):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)


def _openness(home: HomePaths) -> Iterator[Finding]:
    """A blueprint is a program: whoever may drop one runs commands as the watcher's user."""
    try:
        mode = home.inbox.stat().st_mode
    except OSError:
        return  # the check of the folders says so
    if mode & stat.S_IWOTH:
        text = f"EVERY user of this machine may write {home.inbox}, and so run commands as you: chmod o-w {home.inbox}"
        yield _warn("access", text)
    elif mode & stat.S_IWGRP:
        yield _ok("access", f"Its group may drop blueprints too: {home.inbox.group()}.")
    else:
        yield _ok("access", "Only its owner may drop blueprints.")


def _disk(home: HomePaths) -> Iterator[Finding]:
    try:
        free = shutil.disk_usage(home.outbox).free
    except OSError as error:
        yield _bad("disk", f"The free space of outbox is not known: {error.strerror}.")
        return
    health = Health.BAD if free < _FULL else Health.WARN if free < _NEARLY_FULL else Health.OK
    yield Finding(check="disk", health=health, text=f"{free / (1 << 30):.1f} GiB are free in outbox.")


def _watcher(home: HomePaths) -> Iterator[Finding]:
    living = Watchers(home).living()
    if host_name() in living:
        yield _ok("watcher", f"A watcher lives on {', '.join(sorted(living))}.")
    else:
        elsewhere = f" Elsewhere one lives on {', '.join(sorted(living))}." if living else ""
        yield _warn("watcher", f"No watcher lives on this host: start one with 'ajet-inbox watch'.{elsewhere}")


# ---- the machine --------------------------------------------------------------------------------------------------


def _python(_: HomePaths) -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield (_ok if sys.version_info >= _OLDEST_PYTHON else _bad)("python", f"Python {version} at {sys.executable}.")


def _tmux(_: HomePaths) -> Iterator[Finding]:
    try:
        said = subprocess.run(["tmux", "-V"], capture_output=True, text=True, timeout=_TIMEOUT_S, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        yield _bad("tmux", "tmux cannot be started; install it: every experiment runs in a session of it.")
        return
    version = tmux_version(said)
    if version is None or version < _OLDEST_TMUX:
        yield _warn("tmux", f"{said.strip()} is not known to work; 3.0 or later is.")
    else:
        yield _ok("tmux", f"{said.strip()} at {Path(shutil.which('tmux') or 'tmux')}.")


def tmux_version(said: str) -> tuple[int, int] | None:
    """What `tmux -V` says: "tmux 3.3a", "tmux next-3.6"; None where it is something else."""
    found = re.search(r"(\d{1,4})\.(\d{1,4})", said)
    return (int(found[1]), int(found[2])) if found else None


def _gpus(settings: Settings) -> Iterator[Finding]:
    slots = discover(settings, host_name())
    if isinstance(slots, CannotTell):
        yield _bad("gpus", f"{slots.message} {_MEND_SLOTS}")
        return
    told = [f"{slot.name} with {len(slot.gpus) or 'no'} GPU{'' if len(slot.gpus) == 1 else 's'}" for slot in slots]
    yield _ok("gpus", f"Slots of this host: {', '.join(told)}.") if told else _warn("gpus", _NO_SLOTS)


_CHECKS: tuple[Callable[[HomePaths], Iterator[Finding]], ...] = (
    _folders,
    _openness,
    _disk,
    _watcher,
    _python,
    _tmux,
)
