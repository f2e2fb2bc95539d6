"""What the settings forbid, what an open inbox is worth, space, and the page that lists all rules."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from ajet_inbox.core.blueprint import Kind, Level, Mode
from ajet_inbox.core.checking.check import POLICY, RULES, policy_problems
from ajet_inbox.core.checking.facts import Interpreter
from ajet_inbox.core.checking.page import READING, WATCHER, page
from ajet_inbox.core.settings import Limits, Security, Settings
from tests.core.check_case import BLUEPRINT, FOLDER, PATHS, case, codes, one

ROOT = Path(__file__).parents[2]

OWNERS: list[tuple[tuple[str, ...], tuple[str, ...], str | None]] = [
    ((), (), None),
    ((), ("mallory",), None),
    (("alice", "bob"), ("alice",), None),
    (("alice",), ("mallory",), "mallory"),
    (("alice",), ("alice", "mallory"), "mallory"),  # a folder of hers with a blueprint of his
    (("alice",), (), "nobody knows who"),
]


@pytest.mark.parametrize(("allowed", "owners", "said"), OWNERS)
def test_who_may_drop(allowed: tuple[str, ...], owners: tuple[str, ...], said: str | None) -> None:
    settings = Settings(security=Security(owners=allowed))
    told = policy_problems(case(settings=settings, dropped_by=owners))
    assert [(p.code, p.kind, p.level) for p in told] == ([("refused_by_policy", "text", "error")] if said else [])
    assert not said or said in told[0].message


def test_where_codebases_may_live() -> None:
    settings = Settings(security=Security(codebases=("/srv", "/data")))
    assert policy_problems(case(settings=settings)) == ()
    linked = {"/srv/aj": replace(FOLDER, real="/home/eve/aj")}
    assert "/home/eve/aj" in policy_problems(case(settings=settings, paths=linked))[0].message
    beside = replace(BLUEPRINT, codebase_dir="/srvx")
    assert policy_problems(case(beside, settings=settings))
    allowed = {"/data": replace(FOLDER, real="/home/eve"), **linked}
    assert policy_problems(case(settings=settings, paths=allowed)) == ()


@pytest.mark.parametrize(
    ("mode", "code", "level"),
    [
        (0o777, "inbox_open_to_all", Level.WARNING),
        (0o1777, "inbox_open_to_all", Level.WARNING),
        (0o775, "inbox_open_to_group", Level.INFO),
    ],
)
def test_an_open_inbox(mode: int, code: str, level: Level) -> None:
    judged = case(inbox="/home/inbox", paths={"/home/inbox": replace(FOLDER, mode=mode)})
    assert codes(judged) == [code]
    assert one(judged, code).level is level


def test_a_closed_inbox() -> None:
    assert codes(case(inbox="/home/inbox", paths={"/home/inbox": replace(FOLDER, mode=0o755)})) == []


GIB = 1 << 30


def test_space() -> None:
    settings = Settings(limits=Limits(free_disk=10 * GIB))
    full = {"/srv/aj": replace(FOLDER, free_bytes=9 * GIB), "/srv/out": replace(PATHS["/srv/out"], free_bytes=9 * GIB)}
    assert codes(case(settings=settings, paths=full)) == ["disk_space_low"]  # once for one filesystem
    roomy = {"/srv/aj": replace(FOLDER, free_bytes=11 * GIB)}
    assert codes(case(settings=settings, paths=roomy)) == []
    assert codes(case(settings=settings, paths=roomy, checkpoint_bytes=12 * GIB)) == ["disk_space_below_checkpoints"]
    assert codes(case(settings=settings, paths=roomy, checkpoint_bytes=10 * GIB)) == []


def test_results_of_an_earlier_run() -> None:
    there = {"/srv/out": FOLDER, "/srv/out/finish.flag": FOLDER}
    assert "holds finish.flag" in one(case(paths=there), "result_dir_used").message


def test_an_interpreter_that_is_no_python() -> None:
    assert codes(case(interpreter=Interpreter(version="3.11.2"))) == []
    broken = Interpreter(said="No module named 'encodings'")
    found = one(case(interpreter=broken), "interpreter_no_python")
    assert found.level is Level.ERROR
    assert "No module named 'encodings'" in found.message
    generic = replace(BLUEPRINT, mode=Mode.GENERIC)
    assert one(case(generic, interpreter=broken), "interpreter_no_python").level is Level.WARNING
    odd = replace(BLUEPRINT, venv_exe="/usr/bin/env")
    other = case(odd, paths={"/usr/bin/env": PATHS["/srv/aj/venv/bin/python"]})
    assert one(other, "interpreter_no_python").level is Level.WARNING


# ---- the rules as data ----------------------------------------------------------------------------------------------


def test_every_code_is_told_once_and_well() -> None:
    codes_told = [code for rule in RULES for code in rule.codes] + list(READING + WATCHER)
    codes_told.append(POLICY[0].codes[0])
    names = [code.name for code in codes_told]
    assert len(names) == len(set(names))
    for code in codes_told:
        assert re.fullmatch(r"[a-z]+(?:_[a-z0-9]+)*", code.name)
        assert code.about.endswith(".")
        assert code.fix.endswith(".") or code.fix.endswith("inbox.")
        assert "\n" not in code.about + code.fix


def test_every_rule_finds_things_of_one_kind() -> None:
    assert all(len({code.kind for code in rule.codes}) == 1 for rule in RULES)
    assert all(code.kind is Kind.TEXT for rule in POLICY for code in rule.codes)


def test_the_page_is_fresh() -> None:
    assert (ROOT / "docs/checks.md").read_text(encoding="utf-8") == page(), "stale: run `make docs`"


def test_the_page_tells_what_the_reader_says_too() -> None:
    """Its codes stand where it notes them; one that is not listed is found here."""
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "ajet_inbox/core/reading").glob("*.py"))
    said = set(re.findall(r"\.say\(\s*\"(\w+)\"", source)) | set(re.findall(r"code=\"(\w+)\"", source))
    assert said
    assert said <= {code.name for code in READING}
