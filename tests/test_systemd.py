"""The service file, and the little that is said to systemd."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ajet_inbox.edge import systemd

ROOT = Path(__file__).parents[1]
UNIT = (ROOT / "systemd/ajet-inbox.service").read_text(encoding="utf-8")


@pytest.fixture(params=["path", "abstract"])
def listener(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[socket.socket]:
    """A socket such as systemd's, named by NOTIFY_SOCKET."""
    address = str(tmp_path / "notify") if request.param == "path" else f"@{tmp_path}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(address.replace("@", "\0", 1))
        listening.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", address)
        yield listening


def test_messages_go_in_one_datagram(listener: socket.socket) -> None:
    assert systemd.notify(systemd.READY, systemd.status("2 runs\nSTOPPING=1"))
    assert listener.recv(4096) == b"READY=1\nSTATUS=2 runs STOPPING=1"


@pytest.mark.parametrize("address", ["", "relative", "/nowhere/notify", "vsock:2:1234"])
def test_nobody_listening_is_no_error(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    assert not systemd.notify(systemd.READY)


@pytest.mark.parametrize("listener", ["path"], indirect=True)
@pytest.mark.timeout(20)
def test_a_listener_that_never_reads_does_not_hold_us(listener: socket.socket) -> None:
    while systemd.notify(systemd.WATCHDOG):
        pass
    assert listener.recv(4096) == b"WATCHDOG=1"


INTERVALS = {
    ("30000000", "me"): 15.0,
    ("30000000", None): 15.0,
    ("30000000", "1"): None,
    ("", "me"): None,
    ("0", "me"): None,
    ("-5", "me"): None,
    ("soon", "me"): None,
    ("²", "me"): None,
}


@pytest.mark.parametrize(("limit", "watched"), INTERVALS)
def test_the_watchdog_is_fed_twice_as_often_as_it_bites(
    limit: str, watched: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", limit)
    monkeypatch.delenv("WATCHDOG_PID", raising=False)
    if watched:
        monkeypatch.setenv("WATCHDOG_PID", watched.replace("me", str(os.getpid())))
    assert systemd.watchdog_interval() == INTERVALS[limit, watched]


# ---- the service file ----


def filled(home: Path, venv: Path) -> str:
    return UNIT.replace("@HOME@", str(home)).replace("@VENV@", str(venv))


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The service file as it would be installed, for a home whose path is no easy one."""
    home, venv = tmp_path / "my python home", tmp_path / "ray env"
    home.mkdir()
    (venv / "bin").mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text(f"home = {Path(sys.base_prefix) / 'bin'}\n")
    (venv / "bin/inbox-watch").symlink_to(os.path.realpath(sys.executable))
    unit = tmp_path / "ajet-inbox.service"
    unit.write_text(filled(home, venv))
    return unit


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
@pytest.mark.parametrize("manager", ["--system", "--user"])
def test_systemd_finds_nothing_wrong(manager: str, installed: Path, tmp_path: Path) -> None:
    command = ["systemd-analyze", manager, "verify", str(installed)]
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    verdict = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)
    if "Failed to initialize manager" in verdict.stderr:
        pytest.skip(f"no systemd can be asked here: {verdict.stderr.splitlines()[-1]}")
    assert (verdict.returncode, verdict.stdout + verdict.stderr) == (0, "")


def test_the_service_is_neutral_by_name_and_finds_its_packages(installed: Path, tmp_path: Path) -> None:
    """What systemd does with ExecStart: run one path under the name of another (contract section 7)."""
    start = next(line for line in installed.read_text().splitlines() if line.startswith("ExecStart=@"))
    program, *shown = shlex.split(start.removeprefix("ExecStart=@"))
    assert re.search("python|ray|vllm|home", " ".join(shown), re.IGNORECASE) is None
    neutral = shown[0].replace("%t/%N", str(tmp_path))
    (tmp_path / "env").symlink_to(tmp_path / "ray env")
    told = "import sys; print(sys.prefix, open('/proc/self/comm').read())"
    answer = subprocess.run([neutral, "-c", told], executable=program, capture_output=True, text=True, check=True)
    assert answer.stdout.split() == [str(tmp_path / "env"), "inbox-watch"]


NEEDED = {
    "Type": "notify",
    "KillMode": "process",
    "Restart": "always",
    "StartLimitIntervalSec": "0",
    "OOMPolicy": "continue",
    "TasksMax": "infinity",
    "LimitMEMLOCK": "infinity",
    "LimitNOFILE": "1048576",
    "ProtectSystem": "full",
    "LockPersonality": "yes",
    "RestrictSUIDSGID": "yes",
}
HARMFUL = {
    "PrivateTmp",
    "PrivateDevices",
    "MemoryDenyWriteExecute",
    "ProtectHome",
    "RestrictNamespaces",
    "SystemCallFilter",
}


def test_what_experiments_need_and_cannot_bear() -> None:
    said = dict(line.split("=", 1) for line in UNIT.splitlines() if "=" in line and not line.startswith("#"))
    assert NEEDED.items() <= said.items()
    assert not HARMFUL & said.keys()
