"""What is refused unread, and what is left alone in the inbox (contract section 2)."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.acceptance.home import Home, names, poll


@contextmanager
def listening(path: Path) -> Iterator[None]:
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(path.parent)  # a socket's address is short
        try:
            server.bind(path.name)
        finally:
            os.chdir(here)
        yield


def test_what_is_no_plain_file_is_refused_unread(home: Home) -> None:
    inbox, secret = home.paths.inbox, home.root.parent / "secret.md"
    secret.write_text(home.counted("true"))
    (inbox / "link.md").symlink_to(secret)
    (inbox / "folder_link").symlink_to(home.code)
    os.mkfifo(inbox / "fifo.md")
    home.copy_in("large.md", home.counted("true") + "x" * (1 << 20))
    (inbox / "vast").mkdir()
    (inbox / "vast" / "blueprint.md").write_text(home.counted("true"))
    with (inbox / "vast" / "hole").open("wb") as hole:
        hole.truncate(65 << 20)
    (inbox / "trap").mkdir()
    (inbox / "trap" / "blueprint.md").write_text(home.counted("true"))
    (inbox / "trap" / "link").symlink_to(secret)
    (inbox / "bait").mkdir()
    (inbox / "bait" / "blueprint.md").symlink_to(secret)
    with listening(inbox / "socket.md"):
        home.drain()
    refused = {run: home.flag(run) for run in ("link", "fifo", "large", "vast", "trap", "bait", "socket")}
    assert {(flag["outcome"], flag["reason"]["code"]) for flag in refused.values()} == {("rejected", "unreadable")}
    told = {run: flag["reason"]["text"] for run, flag in refused.items()}
    assert "symbolic link" in told["link"]
    assert "symbolic link" in told["trap"]
    assert "symbolic link" in told["bait"]
    assert "FIFO" in told["fifo"]
    assert "socket" in told["socket"]
    assert "1 MiB" in told["large"] or "1048576" in told["large"], told["large"]
    assert (home.run("link").drop / "link.md").is_symlink()
    assert home.counts() == (0, 0)
    assert names(inbox) == {"folder_link"}
    assert secret.exists()


def test_what_may_not_be_read_is_refused(home: Home) -> None:
    home.copy_in("exp.md", home.counted("true"))
    (home.paths.inbox / "exp.md").chmod(0)
    root = os.geteuid() == 0  # who may read everything, unless told otherwise
    prefix = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if root else []
    watcher = home.watch("--drain", prefix=prefix)
    assert watcher.wait() == 0, watcher.log
    assert home.flag()["reason"]["code"] == "unreadable"
    assert home.counts() == (0, 0)


STRANGERS = {"notes.txt", "exp.MD", "data", "exp.yaml", "lonely.md.ready"}
NEVER_TOUCHED = {
    "README.md", ".hidden.md", "~x.md", "x.md~", "x.md.tmp", "x.md.part", "x.md.partial", "x.md.filepart",
    "x.md.swp", "x.swo", "x.swx", "x.md.crdownload", "4913", ".nfs0001.md", "._x.md", "#x.md#", ".syncthing.x.md.tmp",
    "x.sync-conflict-20250101-1.md", "x.md:Zone.Identifier",
}  # fmt: skip


def test_strangers_are_left_where_they_are(home: Home) -> None:
    inbox = home.paths.inbox
    content = home.counted("true")
    for name in NEVER_TOUCHED | STRANGERS - {"data"}:
        (inbox / name).write_text(content)
    (inbox / "data").mkdir()
    (inbox / "data" / "train.md").write_text(content)
    watcher = home.watch()
    poll(lambda: all(f"inbox/{name} " in watcher.log for name in STRANGERS - {"lonely.md.ready"}))
    home.move_in("exp.md", home.blueprint("true"))
    home.flag()
    assert home.runs() == ["exp"]
    assert names(inbox) == NEVER_TOUCHED | STRANGERS
    assert all((inbox / name).read_text() == content for name in NEVER_TOUCHED)
    assert all(watcher.log.count(f"inbox/{name} ") == 1 for name in STRANGERS - {"lonely.md.ready"})
    assert not any(name in watcher.log for name in NEVER_TOUCHED)
    status = home.ajet("status").stdout
    assert all(name in status for name in ("notes.txt", "exp.MD", "data"))
