"""The environment of experiments: a login shell's, what is passed on, and a file; nothing that names the service."""

from __future__ import annotations

from pathlib import Path

import pytest

from ajet_inbox.core.settings import Env
from ajet_inbox.edge.environment import gather, read_assignments

SERVICE = (
    *("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID"),
    *("LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "MAINPID", "MANAGERPID", "TMUX", "TMUX_PANE", "AJET_INBOX_HOME"),
)


def test_what_names_the_service_is_not_handed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that kept it would speak for the service, or take its sockets (systemd.exec(5))."""
    for name in (*SERVICE, "HF_HOME"):
        monkeypatch.setenv(name, "1")
    found = gather(Env(), tmp_path)
    assert found["HF_HOME"] == "1"
    assert not found.keys() & set(SERVICE)


def test_only_what_is_named_is_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "t")
    monkeypatch.setenv("OTHER", "o")
    assert gather(Env(login_shell=False, pass_=("HF_*",)), tmp_path) == {"HF_TOKEN": "t"}


def test_a_login_shell_sets_what_its_profile_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".bash_profile").write_text("export FROM_PROFILE='two words'\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert gather(Env(), tmp_path)["FROM_PROFILE"] == "two words"


def test_the_file_wins_and_one_that_is_missing_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A", "passed")
    (tmp_path / "env").write_text("A=file\n")
    assert gather(Env(login_shell=False, file="env"), tmp_path)["A"] == "file"
    assert gather(Env(login_shell=False, file="none"), tmp_path)["A"] == "passed"


def test_assignments() -> None:
    text = "# a comment\nexport A=1\nB='two words'\nC=\"x=y\"\nnot one\nD=\n"
    assert read_assignments(text) == {"A": "1", "B": "two words", "C": "x=y", "D": ""}
