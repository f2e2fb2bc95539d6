"""What may lie in the inbox, as tables (contract section 2)."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ajet_inbox.core.blueprint import Level
from ajet_inbox.core.drops import (
    READY_BYTES,
    DropKind,
    ReadyMark,
    classify,
    is_ignored,
    is_ready_mark,
    natural_key,
    printable,
    read_ready,
    ready_mark,
    run_slug,
)

IGNORED = [
    *(".exp.md", ".exp.md.X7fQ2a", ".ready", "~exp.md", "exp.md~", "exp.md.tmp", "exp.part", "exp.md.partial"),
    *(
        "exp.md.filepart",
        ".exp.md.swp",
        "exp.md.swo",
        "exp.swx",
        "exp.md.crdownload",
        "4913",
        ".nfs000000a1",
        "._exp.md",
    ),
    *("#exp.md#", ".#exp.md", ".syncthing.exp.md.tmp", "exp.sync-conflict-20260101-120000-ABC.md"),
    *("exp.md:Zone.Identifier", "README.md", "~$exp.md"),
]
NOT_IGNORED = [
    "exp.md",
    "exp",
    "exp.task.md",
    "exp.md.ready",
    "readme.md",
    "49130",
    "#1 exp.md",
    "a~b.md",
    "exp.tmp.md",
]


@pytest.mark.parametrize("name", IGNORED)
def test_is_ignored(name: str) -> None:
    assert is_ignored(name)


@pytest.mark.parametrize("name", NOT_IGNORED)
def test_is_not_ignored(name: str) -> None:
    assert not is_ignored(name)


@pytest.mark.parametrize(
    ("name", "is_dir", "inside", "kind"),
    [
        ("exp.md", False, None, DropKind.FILE),
        ("blueprint.md", False, None, DropKind.FILE),
        ("实验.md", False, None, DropKind.FILE),
        ("two\nlines.md", False, None, DropKind.FILE),
        ("exp.task.md", False, None, DropKind.TASK),
        ("exp", True, ("blueprint.md", "a.yaml"), DropKind.FOLDER),
        ("exp.md", True, ("blueprint.md",), DropKind.FOLDER),
        ("exp", True, ("exp.md",), None),
        ("exp", True, (), None),
        ("exp", True, None, None),
        ("exp.md", True, (), None),
        ("exp.txt", False, None, None),
        ("exp.MD", False, None, None),
        ("exp", False, None, None),
        ("exp.md.ready", False, None, None),
        ("bad\udcff.md", False, None, None),
        ("bad\udcff", True, ("blueprint.md",), None),
    ],
)
def test_classify(name: str, is_dir: bool, inside: tuple[str, ...] | None, kind: DropKind | None) -> None:
    assert classify(name, is_dir, inside) is kind


def test_marks() -> None:
    assert ready_mark("exp.md", DropKind.FILE) == "exp.md.ready"
    assert ready_mark("exp.task.md", DropKind.TASK) == "exp.task.md.ready"
    assert ready_mark("exp", DropKind.FOLDER) == "exp/.ready"
    assert [is_ready_mark(n) for n in ("exp.md.ready", "exp.task.md.ready", "exp.ready")] == [True, True, False]


@pytest.mark.parametrize(
    ("name", "fallback", "slug"),
    [
        ("exp-1_b.md", None, "exp-1_b"),
        ("exp.v2.md", None, "exp_v2"),
        ("draft me.task.md", None, "draft_me"),
        ("folder", None, "folder"),
        ("数学实验 第2次.md", None, "数学实验_第2次"),
        ("テスト한국.md", None, "テスト한국"),
        ("e\u0301t\u00e9.md", None, "_t_"),  # one letter, not a letter and an accent
        ("神\ufa19.md", None, "神神"),  # NFC folds compatibility ideographs
        ("a\nb/c\u202ed.md", None, "a_b_c_d"),
        ("bad\udcff.md", None, "bad_"),
        ("-rf.md", None, "rf"),
        ("..md", None, "_"),
        ("---.md", None, "run"),
        (".md", None, "run"),
        ("", None, "run"),
        ("x" * 200 + ".md", None, "x" * 80),
        ("\U00020000" * 80 + ".md", None, "\U00020000" * 60),  # 4 bytes each: the name must fit in 255
        ("blueprint.md", "ppo baseline", "ppo_baseline"),
        ("blueprint.md", None, "blueprint"),
        ("blueprint.md", "--", "blueprint"),
        ("exp.md", "other", "exp"),
    ],
)
def test_run_slug(name: str, fallback: str | None, slug: str) -> None:
    assert run_slug(name, fallback) == slug


@given(st.text(max_size=300), st.none() | st.text(max_size=300))
def test_a_slug_is_always_a_good_name(name: str, fallback: str | None) -> None:
    slug = run_slug(name, fallback)
    assert 0 < len(slug) <= 80
    assert len(slug.encode()) <= 240
    assert slug[0] not in ".-"
    assert not set(slug) & set("./\0 \n")
    assert run_slug(slug) == slug


def test_natural_order() -> None:
    names = ["run10.md", "Run2.md", "run.md", "run1.md", "run01.md", "run2b.md", "2", "10", "a", "9" * 5000]
    ordered = ["2", "10", "9" * 5000, "a", "run01.md", "run1.md", "Run2.md", "run2b.md", "run10.md", "run.md"]
    assert sorted(names, key=natural_key) == ordered


@given(st.lists(st.text(), unique=True, min_size=2, max_size=5))
def test_natural_order_is_total(names: list[str]) -> None:
    assert len({natural_key(name) for name in names}) == len(names)


def test_printable() -> None:
    assert printable("实验 1.md") == "实验 1.md"
    assert printable("a\nb\x1b[31m\udcff\u202e") == r"a\nb\x1b[31m\udcff\u202e"


def test_an_empty_mark_asks_for_nothing() -> None:
    for data in (b"", b"\n", b"# nothing\n", b"~", b"---\n...\n", b"key:\n", b"\xef\xbb\xbf"):
        assert read_ready(data) == (ReadyMark(), ())


def test_every_option() -> None:
    mark, problems = read_ready(b"key: k-1\npriority: -5\nafter: [a, b]\nretry_of: r\nreplace: s\n")
    assert mark == ReadyMark(key="k-1", priority=-5, after=("a", "b"), retry_of="r", replace="s")
    assert problems == ()


@pytest.mark.parametrize(
    ("data", "mark"),
    [
        (b"key: 007", ReadyMark(key="007")),
        (b"key: 2024-01-01", ReadyMark(key="2024-01-01")),
        (b"key: no", ReadyMark(key="no")),
        (b"key: null\npriority: ~", ReadyMark()),
        (b"after: one", ReadyMark(after=("one",))),
        (b"after:\r\n- one\r\n- two\r\n", ReadyMark(after=("one", "two"))),
        (b'{"key": "j", "priority": 3}', ReadyMark(key="j", priority=3)),
        ("key: 实验".encode(), ReadyMark(key="实验")),
    ],
)
def test_values_are_what_they_look_like(data: bytes, mark: ReadyMark) -> None:
    assert read_ready(data) == (mark, ())


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        (b"priority: high", 1, "whole number for priority"),
        (b"priority: 1.5", 1, "whole number"),
        (b"priority: [1]", 1, "whole number"),
        (b"key: a\nkey: b", 2, "key twice"),
        (b"key: [a]", 1, "one line"),
        (b'key: "a\\nb"', 1, "one line"),
        (b"key: " + b"x" * 201, 1, "at most 200"),
        (b"after: {a: b}", 1, "one line"),
        (b"after: [[a]]", 1, "one line"),
        (b"[a]: b", 1, "option's name"),
        (b"just text", 1, "lines"),
        (b"- a\n- b", 1, "lines"),
        (b"a: b: c", 1, "not YAML"),
        (b"key: 'open", 1, "not YAML"),
        (b"a: 1\n---\nb: 2", 2, "not YAML"),
        (b'key: "\\UFFFFFFFF"', None, "not YAML"),
        (b"\xff\xfe", None, "UTF-8"),
        (b"key: \x00", None, "not YAML"),
        (b"a: &a b\nkey: *a", 2, "alias"),
        (b"[" * 5000, 1, "nested"),
        (b"a:\n b:\n  c:\n   d: 1", 4, "nested"),
        (b" " * (READY_BYTES + 1), None, "larger"),
    ],
)
def test_a_bad_mark_is_an_error(data: bytes, line: int | None, words: str) -> None:
    _, problems = read_ready(data)
    assert [p.level for p in problems] == [Level.ERROR]
    assert problems[0].line == line
    assert words in problems[0].message


def test_the_good_options_of_a_bad_mark_are_kept() -> None:
    mark, problems = read_ready(b"key: k\npriority: x\nrehearse: true\n")
    assert mark == ReadyMark(key="k")
    assert [(p.level, p.line) for p in problems] == [(Level.ERROR, 2), (Level.WARNING, 3)]


def test_a_tag_constructs_nothing() -> None:
    mark, problems = read_ready(b"key: !!python/object/apply:os.system [echo]\nafter: !!python/name:os.system ''")
    assert mark == ReadyMark()
    assert len(problems) == 2


@pytest.mark.parametrize(
    "data",
    [
        b"a: &a [x,x,x,x,x,x,x,x,x]\n"
        + b"\n".join(b"%c: &%c [*%c,*%c,*%c]" % (c, c, c - 1, c - 1, c - 1) for c in b"bcdefghij"),
        b"[" * READY_BYTES,
        b"{" * READY_BYTES,
        b"- " * (READY_BYTES // 2),
        b"? " * (READY_BYTES // 2),
        b"key: " + b"!" * (READY_BYTES - 5),
        b"\n".join(b"k%d: v" % n for n in range(1500)),
    ],
)
def test_a_hostile_mark_takes_no_time(data: bytes) -> None:
    began = time.process_time()
    _, problems = read_ready(data)
    assert problems
    assert time.process_time() - began < 2


@given(st.binary(max_size=200) | st.text(alphabet="{}[]&*!|>'\"%@`:,-? \nakey0", max_size=80).map(str.encode))
def test_no_mark_crashes(data: bytes) -> None:
    mark, _ = read_ready(data)
    assert isinstance(mark, ReadyMark)
