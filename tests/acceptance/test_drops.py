"""What lands in the inbox, by whatever way, becomes exactly one run of exactly these bytes (contract section 2)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from tests.acceptance.home import Home, names, poll

MakeHome = Callable[..., Home]
# So long that what is taken at all was taken for its mark or its rename, not for having settled.
NEVER_SETTLED = {"settle": "10 min", "scan": "200 ms", "heartbeat": "500 ms"}


def dropped(home: Home, run: str = "exp") -> bytes:
    return (home.run(run).drop / f"{run}.md").read_bytes()


# ---- ways in ------------------------------------------------------------------------------------------------------


def test_a_copy_that_grows_slowly_is_taken_whole(make_home: MakeHome) -> None:
    home = make_home(watch={"settle": "1 s", "scan": "200 ms", "heartbeat": "500 ms"})
    watcher = home.watch()
    text = home.blueprint("true") + "".join(f"\nnote {n}" for n in range(100))
    with (home.paths.inbox / "exp.md").open("w") as file:
        for start in range(0, len(text), len(text) // 12):
            file.write(text[start : start + len(text) // 12])
            file.flush()
            time.sleep(0.1)  # the writer's own pace
    assert home.flag()["outcome"] == "succeeded", watcher.log
    assert dropped(home).decode() == text
    assert home.runs() == ["exp"]


def see_events(home: Home) -> None:
    """Start a watcher, and wait until the kernel tells it of renames, which it does from before its first look."""
    home.watch()
    home.mark_and_move_in("first.md", home.blueprint("true", "first"))
    home.flag("first")


def test_a_rename_is_taken_at_once(make_home: MakeHome) -> None:
    home = make_home(watch=NEVER_SETTLED)
    see_events(home)
    home.move_in("exp.md", home.blueprint("true"))
    home.move_in("folder", {"blueprint.md": home.blueprint("true", "folder")})
    assert home.flag()["outcome"] == "succeeded"
    assert home.flag("folder")["outcome"] == "succeeded"


def test_a_mark_makes_a_copy_complete(make_home: MakeHome) -> None:
    home = make_home(watch=NEVER_SETTLED)
    home.watch()
    home.copy_in("exp.md", home.blueprint("true"))
    (home.paths.inbox / "exp.md.ready").touch()
    folder = home.paths.inbox / "folder"
    folder.mkdir()
    (folder / "blueprint.md").write_text(home.blueprint("true", "folder"))
    (folder / ".ready").write_text("key: k-1\n")
    assert home.flag()["outcome"] == "succeeded"
    assert home.flag("folder")["key"] == "k-1"
    assert names(home.paths.inbox) == set()


def test_without_a_mark_a_copy_has_to_settle(make_home: MakeHome) -> None:
    home = make_home(watch=NEVER_SETTLED)
    see_events(home)
    home.copy_in("exp.md", home.blueprint("true"))
    home.move_in("other.md", home.blueprint("true", "other"))
    home.flag("other")
    assert home.runs() == ["first", "other"]


def test_an_editor_saves(home: Home) -> None:
    """As vim does it, then as emacs, then as an editor that writes in place: each within the time to settle."""
    home.configure(watch={"settle": "1500 ms", "scan": "200 ms", "heartbeat": "500 ms"})
    watcher = home.watch()
    poll(lambda: "Watching" in watcher.log)
    inbox = home.paths.inbox
    (inbox / "4913").touch()
    (inbox / "4913").unlink()
    (inbox / ".exp.md.swp").write_bytes(b"b0VIM")
    home.copy_in("exp.md", home.counted("echo first"))
    (inbox / "exp.md").rename(inbox / "exp.md~")
    home.copy_in("exp.md", home.counted("echo second"))
    (inbox / "#exp.md#").write_text("auto-saved")
    home.copy_in("exp.md", home.counted("echo third"))
    home.flag()
    assert home.console() == "third\n"
    assert home.runs() == ["exp"]
    assert names(inbox) == {".exp.md.swp", "exp.md~", "#exp.md#"}


def test_a_drop_that_lay_there_before(home: Home) -> None:
    home.copy_in("exp.md", home.blueprint("true"))
    home.copy_in("last.md", home.blueprint("true", "last"))
    (home.paths.inbox / "folder").mkdir()
    (home.paths.inbox / "folder" / "blueprint.md").write_text(home.blueprint("true", "folder"))
    home.drain()
    assert home.runs() == ["exp", "folder", "last"]


def test_once_takes_what_is_there_and_ends(home: Home) -> None:
    home.copy_in("exp.md", home.counted("sleep 2; cp late.md ../home/inbox/late.md"))
    (home.code / "late.md").write_text(home.counted("true", "late"))
    assert home.watch("--once").wait() == 0
    assert home.counts() == (1, 1)
    assert names(home.paths.inbox) == {"late.md"}


def test_the_nameless_take_the_name_of_their_results(home: Home) -> None:
    home.copy_in("blueprint.md", home.blueprint("true", "lr_sweep_1"))
    home.drain()
    assert home.runs() == ["lr_sweep_1"]


def test_a_name_that_is_taken_gets_a_number(home: Home) -> None:
    for command in ("echo 1", "echo 2", "echo 3"):
        home.move_in("exp.md", home.blueprint(command))
        home.drain()
    assert home.runs() == ["exp", "exp-2", "exp-3"]
    assert [home.console(run) for run in home.runs()] == ["1\n", "2\n", "3\n"]


# ---- marks --------------------------------------------------------------------------------------------------------


def test_a_mark_with_mistakes_rejects(home: Home) -> None:
    home.mark_and_move_in("exp.md", home.counted("true"), "priority: high\n")
    home.mark_and_move_in("evil.md", home.counted("true", "evil"), "!!python/object/apply:os.system ['touch pwned']\n")
    home.drain()
    assert home.flag()["reason"]["code"] == home.flag("evil")["reason"]["code"] == "ready_mark"
    assert home.counts() == (0, 0)


def test_a_key_is_used_once(home: Home) -> None:
    home.mark_and_move_in("exp.md", home.counted("true"), "key: sweep-7\n")
    home.drain()
    home.mark_and_move_in("again.md", home.counted("true", "again"), "key: sweep-7\n")
    home.mark_and_move_in("other.md", home.counted("true", "other"), "key: sweep-8\n")
    home.drain()
    assert home.flag("again")["reason"] == {"code": "duplicate", "text": "It was dropped before, as exp."}
    assert home.flag("other")["outcome"] == "succeeded"
    assert home.counts() == (2, 2)


def test_of_drops_that_come_together_with_one_key_one_runs(home: Home) -> None:
    for name in ("a", "b", "c"):
        home.mark_and_move_in(f"{name}.md", home.counted("true", name), "key: same\n")
    home.drain()
    outcomes = [home.flag(name)["outcome"] for name in ("a", "b", "c")]
    assert outcomes == ["succeeded", "rejected", "rejected"]
    assert home.counts() == (1, 1)


def test_a_duplicate_is_rejected_while_the_first_is_unfinished(home: Home) -> None:
    text = home.counted("until [ -e go ]; do sleep 0.05; done")
    home.move_in("exp.md", text)
    watcher = home.watch("--drain")
    home.until("exp", state="running")
    receipt = home.paths.receipt(home.state()["drop_sha256"])
    told = receipt.read_text()
    home.move_in("exp.md", text)
    assert home.flag("exp-2")["reason"] == {"code": "duplicate", "text": "It was dropped before, as exp."}
    assert receipt.read_text() == told
    assert names(home.results / "exp") <= {"trial_log.md"}
    (home.code / "go").touch()
    assert watcher.wait() == 0
    assert home.flag()["outcome"] == "succeeded"
    home.move_in("exp.md", text)
    home.drain()
    assert home.flag("exp-3")["outcome"] == "succeeded"
    assert home.counts() == (2, 2)


def test_a_drop_replaces_one_that_waits(home: Home) -> None:
    home.ajet("pause")
    watcher = home.watch("--drain")
    home.mark_and_move_in("old.md", home.counted("true", "old"), "key: k1\n")
    home.mark_and_move_in("older.md", home.counted("true", "older"))
    home.until("old", state="queued")
    home.until("older", state="queued")
    home.mark_and_move_in("new.md", home.counted("true", "new"), "replace: k1\n")
    home.mark_and_move_in("newer.md", home.counted("true", "newer"), "replace: older\n")
    old, older = home.flag("old"), home.flag("older")
    assert (old["outcome"], old["reason"]["code"]) == ("cancelled", "replaced")
    assert (older["outcome"], older["reason"]["code"]) == ("cancelled", "replaced")
    home.ajet("resume")
    assert watcher.wait() == 0
    assert sorted(home.order()) == ["new", "newer"]


# ---- names --------------------------------------------------------------------------------------------------------

ODD_NAMES = {
    "new\nline.md": "new_line",
    f"{'a' * 252}.md": "a" * 80,
    f"{'实' * 84}.md": "实" * 80,
    "实验 一.md": "实验_一",
    "\u202egnp.exe.md": "_gnp_exe",
    "e\u0301te\u0301.md": "_t_",
    "$(touch pwned).md": "__touch_pwned_",
    "`touch pwned`; exit 3 #.md": "_touch_pwned___exit_3__",
    "{{ 7*7 }}{% for.md": "___7_7______for",
    "'\"\\.md": "___",
    "-rf.md": "rf",
    "..%2f..%2fetc.md": None,  # begins with a dot: never touched
    "a..%2f..b.md": "a___2f__b",
    "%s%n\x01\x7f.md": "_s_n__",
    "con.fig.v2.md": "con_fig_v2",
    "a.md.md": "a_md",
}


def test_odd_names_are_names_and_nothing_else(make_home: MakeHome) -> None:
    home = make_home(slots=[{"name": f"s{n}", "gpus": []} for n in range(4)])
    for number, name in enumerate(ODD_NAMES):
        text = home.counted('echo "$AJET_INBOX_RUN"', f"r{number}", purpose=f"what {name!r} does {{{{ 7*7 }}}} $(id)")
        home.copy_in(name, text)
    home.drain(90)
    expected = {run: name for name, run in ODD_NAMES.items() if run}
    assert home.runs() == sorted(expected)
    for run, name in expected.items():
        flag = home.flag(run)
        assert (flag["outcome"], flag["run"], flag["name"]) == ("succeeded", run, name)
        assert names(home.run(run).drop) == {name}
        assert home.console(run) == f"{run}\n"
    assert names(home.paths.inbox) == {"..%2f..%2fetc.md"}
    assert not list(home.root.parent.rglob("pwned"))


@pytest.mark.parametrize("name", ["", "../evil", "a/b", ".", "..", "/tmp/x", "x" * 300])
def test_submit_puts_nothing_outside_the_inbox(home: Home, name: str) -> None:
    source = home.root.parent / "exp.md"
    source.write_text(home.blueprint("true"))
    before = names(home.root.parent)
    done = home.ajet("submit", str(source), "--name", name)
    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr
    assert names(home.root.parent) == before
    assert names(home.paths.inbox) == set()


# ---- the inbox itself ---------------------------------------------------------------------------------------------


def inbox_is_missing(home: Home) -> bool:
    return "missing" in home.ajet("status").stdout


def test_the_inbox_may_go_and_come_back(home: Home) -> None:
    home.watch()
    inbox, away = home.paths.inbox, home.root / "away"
    inbox.rmdir()
    poll(lambda: inbox_is_missing(home))
    inbox.mkdir()
    home.move_in("deleted.md", home.blueprint("true", "deleted"))
    assert home.flag("deleted")["outcome"] == "succeeded"

    inbox.rename(away)
    inbox.mkdir()
    home.copy_in("replaced.md", home.blueprint("true", "replaced"))
    assert home.flag("replaced")["outcome"] == "succeeded"

    (away / "waited.md").write_text(home.blueprint("true", "waited"))
    inbox.rmdir()
    away.rename(inbox)
    assert home.flag("waited")["outcome"] == "succeeded"
    assert not inbox_is_missing(home)


def test_a_run_goes_on_while_the_inbox_is_missing(home: Home) -> None:
    home.move_in("exp.md", home.counted("until [ -e go ]; do sleep 0.05; done"))
    home.watch()
    home.until("exp", state="running")
    home.paths.inbox.rmdir()
    poll(lambda: inbox_is_missing(home))
    (home.code / "go").touch()
    assert home.flag()["outcome"] == "succeeded"


def test_a_run_folder_that_somebody_removes_harms_no_other(home: Home) -> None:
    home.mark_and_move_in("exp.md", home.counted('rm -rf "$(dirname "$AJET_INBOX_DROP")"; sleep 0.5'))
    home.mark_and_move_in("next.md", home.counted("true", "next"), "priority: -1")
    home.drain()
    assert home.flag("next")["outcome"] == "succeeded"
    assert home.order() == ["exp", "next"]


def test_many_drops_at_once(make_home: MakeHome) -> None:
    home = make_home(slots=[{"name": f"s{n}", "gpus": []} for n in range(4)])
    watcher = home.watch("--drain")

    def put(part: int) -> None:
        for number in range(part, 40, 4):
            way = (home.copy_in, home.move_in)[number % 2]
            way(f"e{number}.md", home.counted("true", f"e{number}"))

    threads = [threading.Thread(target=put, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert watcher.wait(90) == 0, watcher.log
    missing = {f"e{number}" for number in range(40)} - set(home.runs())
    if missing:  # a watcher may have drained an inbox that was still empty
        home.drain(90)
    assert home.runs() == sorted(f"e{number}" for number in range(40))
    assert {home.flag(run)["outcome"] for run in home.runs()} == {"succeeded"}
    assert home.counts() == (40, 40)
