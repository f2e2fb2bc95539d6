"""Who goes next, where, and what a waiting run says that it waits for (contract sections 1, 2 and 4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.acceptance.home import Home, poll

MakeHome = Callable[..., Home]
UNTIL_GO = "until [ -e go ]; do sleep 0.05; done"


def test_order_is_by_priority_then_arrival(home: Home) -> None:
    for name, mark in {"late10": "", "late9": "", "urgent": "priority: 5", "never": "priority: -1"}.items():
        home.mark_and_move_in(f"{name}.md", home.counted("true", name), mark)
    home.drain()
    assert home.order() == ["urgent", "late9", "late10", "never"]


def test_arrival_counts_before_the_name(home: Home) -> None:
    home.ajet("pause")
    watcher = home.watch("--drain")
    for name in ("c", "a", "b"):
        home.mark_and_move_in(f"{name}.md", home.counted("true", name))
        home.until(name, state="queued")
    home.ajet("resume")
    assert watcher.wait() == 0
    assert home.order() == ["c", "a", "b"]


def test_the_blueprints_priority_and_the_marks(home: Home) -> None:
    home.mark_and_move_in("low.md", home.counted("true", "low", priority="9"), "priority: 1")
    home.mark_and_move_in("high.md", home.counted("true", "high", priority="3"))
    home.drain()
    assert home.order() == ["high", "low"]
    assert (home.state("low")["priority"], home.state("high")["priority"]) == (1, 3)


def test_slots_run_side_by_side_one_run_each(make_home: MakeHome) -> None:
    home = make_home(slots=[{"name": name, "gpus": []} for name in ("left", "middle", "right")])
    for name in ("a", "b", "c", "d"):
        home.mark_and_move_in(f"{name}.md", home.counted(UNTIL_GO, name))
    watcher = home.watch("--drain")
    running = [home.until(name, state="running") for name in ("a", "b", "c")]
    assert {state["slot"] for state in running} == {"left", "middle", "right"}
    waiting = home.until("d", state="queued")
    assert waiting["slot"] is None
    assert "no_free_slot" in poll(lambda: home.state("d")["blocked"])
    poll(lambda: home.counts() == (3, 0))
    (home.code / "go").touch()
    assert watcher.wait() == 0
    assert home.counts() == (4, 4)


def test_a_run_that_needs_gpus_waits_and_says_so(make_home: MakeHome) -> None:
    home = make_home(limits={"grace": "2 s", "world_wait": "10 min"})
    home.mark_and_move_in("trains.md", home.counted("true", "trains", gpus="8"), "priority: 9")
    home.mark_and_move_in("exp.md", home.counted("true"))
    home.watch()
    assert home.flag()["outcome"] == "succeeded"
    state = home.until("trains", state="queued")
    assert "no_slot" in poll(lambda: home.state("trains")["blocked"])
    assert "8 GPUs" in home.state("trains")["blocked"]
    assert (state["attempt"], state["outcome"]) == (None, None)
    assert home.order() == ["exp"]


def test_a_classic_run_needs_8_gpus_unless_it_says_otherwise(make_home: MakeHome) -> None:
    home = make_home(limits={"grace": "2 s", "world_wait": "10 min"})
    (home.code / "two.yaml").write_text("ajet: {trainer_common: {n_gpus_per_node: 2}}\n")
    cases: dict[str, dict[str, str]] = {"eight": {}, "two": {"yaml_path": "two.yaml"}, "five": {"gpus": "5"}}
    for name, sections in cases.items():
        home.mark_and_move_in(f"{name}.md", home.blueprint("true", name, mode="classic", **sections))
    home.watch()
    said = {name: poll(lambda name=name: home.state(name).get("blocked")) for name in cases}
    assert all(f"{number} GPUs" in said[name] for name, number in (("eight", 8), ("two", 2), ("five", 5))), said


def test_after_waits_for_a_good_end(make_home: MakeHome) -> None:
    home = make_home(slots=[{"name": name, "gpus": []} for name in ("left", "right")])
    home.mark_and_move_in("second.md", home.counted("true", "second"), "after: [first]")
    home.mark_and_move_in("third.md", home.counted("true", "third", after="second"))
    home.mark_and_move_in("first.md", home.counted(UNTIL_GO, "first"))
    watcher = home.watch("--drain")
    home.until("first", state="running")
    assert "after" in poll(lambda: home.state("second")["blocked"])
    poll(lambda: home.counts() == (1, 0))
    (home.code / "go").touch()
    assert watcher.wait() == 0
    assert home.order() == ["first", "second", "third"]


def test_after_a_bad_end_the_others_are_rejected(home: Home) -> None:
    home.mark_and_move_in("first.md", home.counted("exit 1", "first"))
    home.mark_and_move_in("second.md", home.counted("true", "second"), "after: first")
    home.mark_and_move_in("third.md", home.counted("true", "third"), "after: second")
    home.drain()
    for name in ("second", "third"):
        flag = home.flag(name)
        assert (flag["outcome"], flag["reason"]["code"]) == ("rejected", "dependency_failed")
    assert home.order() == ["first"]


def test_a_path_that_comes_back_in_time(make_home: MakeHome) -> None:
    """A codebase below an empty folder, as of a mount that is away: the run waits, others go first."""
    home = make_home(limits={"grace": "2 s", "world_wait": "10 min"})
    mount = home.root.parent / "mount"
    mount.mkdir()
    home.mark_and_move_in("exp.md", home.counted("pwd", codebase_dir=str(mount / "code")), "priority: 9")
    home.mark_and_move_in("other.md", home.counted("true", "other"))
    watcher = home.watch("--drain")
    assert home.flag("other")["outcome"] == "succeeded"
    assert str(mount) in poll(lambda: home.state()["blocked"])
    (mount / "code").mkdir()
    assert watcher.wait() == 0
    assert home.console().strip() == str(mount / "code")


def test_a_path_that_stays_away(home: Home) -> None:
    mount = home.root.parent / "mount"
    mount.mkdir()
    home.move_in("exp.md", home.counted("true", codebase_dir=str(mount / "code")))
    home.drain()
    flag = home.flag()
    assert flag["outcome"] == "rejected"
    assert str(mount) in flag["reason"]["text"]
    assert home.counts() == (0, 0)


def test_a_path_that_is_certainly_wrong(make_home: MakeHome) -> None:
    home = make_home(limits={"grace": "2 s", "world_wait": "10 min"})
    wrong: dict[str, dict[str, Any]] = {
        "codebase": {"codebase_dir": str(home.code / "no" / "such")},
        "interpreter": {"venv_exe": str(home.code / "venv" / "bin" / "python9")},
        "yaml": {"yaml_path": str(home.code / "absent.yaml")},
    }
    for name, sections in wrong.items():
        home.move_in(f"{name}.md", home.counted("true", name, **sections))
    home.drain()
    assert {name: home.flag(name)["outcome"] for name in wrong} == dict.fromkeys(wrong, "rejected")
    assert home.counts() == (0, 0)
