"""The environment that experiments get: `env` in the settings, never simply the watcher's own (contract section 10)."""

from __future__ import annotations

import os
import re
import subprocess
from fnmatch import fnmatchcase
from pathlib import Path

from loguru import logger

from ajet_inbox.core.settings import Env
from ajet_inbox.edge.files import Unreadable, read_regular

LOGIN_S = 10.0
_FILE_BYTES = 1 << 20
_LINE = re.compile(r"(?:export\s+)?([A-Za-z_]\w*)=(.*)")
# What a service manager or a terminal told the watcher alone; an experiment that answered it would confuse them.
_OURS = re.compile(
    r"NOTIFY_SOCKET|WATCHDOG_\w+|INVOCATION_ID|JOURNAL_STREAM|LISTEN_\w+|MAINPID|MANAGERPID|TMUX\w*|AJET_\w+|SYSTEMD_EXEC_PID"
    r"|OLDPWD|PWD|SHLVL|_"
)


def gather(settings: Env, home: Path) -> dict[str, str]:
    """The variables experiments start with: a login shell's, those passed on, those of the file; the later wins.

    Takes up to `LOGIN_S` seconds.
    """
    passed = {name: value for name, value in os.environ.items() if _is_passed(name, settings.pass_)}
    login = _login_shell(passed) if settings.login_shell else {}
    file = _read_file(home / settings.file) if settings.file else {}
    together = {**login, **passed, **file}
    return {name: value for name, value in together.items() if not _OURS.fullmatch(name)}


def _is_passed(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _login_shell(base: dict[str, str]) -> dict[str, str]:
    """What a login shell of this user sets; nothing where it fails or hangs, which is said."""
    # PATH is left to the profile: one that was passed on wins anyhow.
    shell_env = {name: value for name, value in base.items() if name in ("HOME", "USER", "LOGNAME", "LANG", "TERM")}
    try:
        done = subprocess.run(
            ["/bin/bash", "-lc", "env -0"],
            env=shell_env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            timeout=LOGIN_S, check=True, start_new_session=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        logger.warning("The login shell gave no environment: {}", error)
        return {}
    pairs = (line.partition("=") for line in done.stdout.decode(errors="surrogateescape").split("\0"))
    return {name: value for name, _, value in pairs if name}


def _read_file(path: Path) -> dict[str, str]:
    data = read_regular(path, _FILE_BYTES)
    if isinstance(data, Unreadable):
        logger.warning("The environment file is left out: {}", data.message)
        return {}
    return read_assignments(data.decode(errors="replace"))


def read_assignments(text: str) -> dict[str, str]:
    """NAME=VALUE lines; quotes around a value are taken off, comments and other lines are left out."""
    matches = (_LINE.fullmatch(line.strip()) for line in text.splitlines())
    return {match[1]: _unquoted(match[2]) for match in matches if match}


def _unquoted(value: str) -> str:
    quoted = len(value) >= 2 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if quoted else value
