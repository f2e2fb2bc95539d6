"""Whole blueprints in many shapes, all saying the same: sections in headings, bold, lists, tables, quotes, fences."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ajet_inbox.core.blueprint import Level, Mode, Problem
from ajet_inbox.core.checking.check import text_problems
from ajet_inbox.core.checking.rule import Case
from ajet_inbox.core.reading.parse import MAX_LINES, decode, read_blueprint

VALUES = {
    "exp_purpose": "Compare lr 1e-6 with 2e-6.",
    "exp_codebase_dir": "/srv/aj",
    "exp_venv_exe": "/srv/aj/.venv/bin/python",
    "exp_yaml_path": "cfg/a.yaml",
    "exp_launch_command": "python -m ajet.launcher --conf cfg/a.yaml",
    "exp_result_dir": "/srv/out/lr",
    "exp_max_time": "12 hours",
}
TITLES = {
    "exp_purpose": "实验目的",
    "exp_codebase_dir": "主实验代码路径（绝对路径）",
    "exp_venv_exe": "python虚拟环境路径（python的绝对路径）",
    "exp_yaml_path": "实验配置文件路径（相对路径，相对于主实验代码路径）",
    "exp_launch_command": "执行训练的命令（字符串）",
    "exp_result_dir": "结果数据存储路径（绝对路径）",
    "exp_max_time": "最长运行时间",
}


def each(form: str, between: str = "\n\n") -> str:
    rows = enumerate(VALUES.items(), 1)
    return between.join(form.format(n=n, key=key, value=value, title=TITLES[key]) for n, (key, value) in rows)


def indented(text: str, by: str = "    ") -> str:
    return "\n".join(by + line if line else "" for line in text.split("\n"))


def fenced(text: str, mark: str = "```", info: str = "markdown") -> str:
    return f"{mark}{info}\n{text}\n{mark}"


WITH_FENCE = (
    each("## [{key}]\n{value}")
    .replace("\npython -m", "\n```bash\npython -m")
    .replace("a.yaml\n\n## [exp_res", "a.yaml\n```\n\n## [exp_res")
)
WITH_BARE_FENCES = each("## [{key}]\n```\n{value}\n```")

SHAPES = {
    "headings": each("## [{key}]\n{value}"),
    "headings with a title": each("### {n}. [{key}] {title}\n{value}"),
    "headings with a title and a colon": each("# [{key}] {title}：\n{value}"),
    "title before the key": each("## {title} [{key}]\n{value}"),
    "value in the heading": each("## [{key}]: {value}"),
    "full-width brackets": each("## 【{key}】\n{value}"),
    "escaped brackets": each("## \\[{key}\\]\n{value}"),
    "key in backticks": each("## `[{key}]`\n{value}"),
    "closed headings": each("## [{key}] ##\n{value}"),
    "no blank lines": each("## [{key}]\n{value}", "\n"),
    "underlined headings": each("[{key}]\n-------\n{value}"),
    "rules between": each("## [{key}]\n{value}", "\n---\n"),
    "bold": each("**[{key}]** {value}"),
    "bold with a colon": each("**[{key}]:** `{value}`"),
    "bold, then lines": each("**[{key}]**\n{value}"),
    "bold with a title": each("**[{key}] {title}：** {value}"),
    "bold, rules between": each("**[{key}]**\n\n{value}", "\n---\n"),
    "bold without brackets": each("**{key}**: {value}"),
    "numbers": each("{n}. [{key}]: {value}", "\n"),
    "numbers without a colon": each("{n}. [{key}] {value}", "\n"),
    "numbers, values below": each("{n}. [{key}]\n   {value}", "\n"),
    "numbers, bullets below": each("{n}. **[{key}]** {title}\n   - hint: absolute\n   - content 1: {value}", "\n"),
    "numbers, bullets beside": each("{n}. [{key}]\n- description: see the title\n- content 1: {value}", "\n"),
    "chinese numbers": each("第{n}部分、[{key}] {title}\n{value}"),
    "bullets": each("- [{key}]: {value}", "\n"),
    "bullets, bullets below": each("* **[{key}]**\n  * {value}", "\n"),
    "bullets, bullets beside": each("- [{key}]\n- content 1: {value}\n- hint: none", "\n"),
    "check boxes": each("- [x] [{key}]: {value}", "\n"),
    "bare lines": each("[{key}]: {value}", "\n"),
    "bare lines, values below": each("[{key}]\n{value}", "\n"),
    "bare full-width": each("【{key}】：{value}", "\n"),
    "yaml-like": each("{key}: {value}", "\n"),
    "table": "| section | value |\n|---|---|\n" + each("| [{key}] | {value} |", "\n"),
    "table with notes": "| Key | Description | Value |\n|:--|:--|:--|\n"
    + each("| **[{key}]** | like /x/y.yaml | `{value}` |", "\n"),
    "numbered table": "| # | 字段 | 内容 | 备注 |\n|--|--|--|--|\n"
    + each("| {n} | [{key}] | {value} | 不要用 /x |", "\n"),
    "headless table": each("| [{key}] | {value} |", "\n").replace("\n", "\n|---|---|\n", 1),
    "quote": "\n".join("> " + line for line in each("## [{key}]\n{value}").split("\n")),
    "fence": fenced(each("## [{key}]\n{value}")),
    "fence after a word": "Here it is:\n\n" + fenced(each("## [{key}]\n{value}"), info="") + "\n\nGood luck!",
    "fence around fences": fenced(WITH_FENCE),
    "fence around bare fences": fenced(WITH_BARE_FENCES),
    "long fence around fences": fenced(WITH_FENCE, "````"),
    "tildes around fences": fenced(WITH_FENCE, "~~~"),
    "fence around indented": fenced(indented(each("## [{key}]\n- content 1: {value}"))),
    "indented": indented(each("## [{key}]\n{value}")),
    "indented, below a title": "# Experiment Blueprint\n\n" + indented(WITH_FENCE),
    "tabs": indented(each("## [{key}]\n{value}"), "\t"),
    "each in a fence": each("```\n[{key}]\n{value}\n```"),
    "fence left open": WITH_FENCE.replace("a.yaml\n```\n", "a.yaml\n"),
    "bare fences": WITH_BARE_FENCES,
    "carriage returns": each("## [{key}]\r\n- content 1: {value}", "\r\n\r\n"),
    "upper case": each("## [{key}]\n{value}").replace("exp_result_dir", "EXP_RESULT_DIR"),
    "no-break spaces": each("## [{key}]\n-\u00a0content\u00a01:\u00a0{value}"),
    "details": "<details>\n<summary>blueprint</summary>\n\n" + each("## [{key}]\n{value}") + "\n\n</details>",
    "reverse": "\n\n".join(reversed(each("## [{key}]\n{value}").split("\n\n"))),
    "blank template first": each("## [{key}]\n- content 1:\n- hint:")
    + "\n\n"
    + each("## [{key}]\n- content 1: {value}"),
    "contents first": each("- [{key}](#{key}) {title}", "\n") + "\n\n" + each("## [{key}]\n{value}"),
    "front matter": "---\nauthor: li\n---\n\n" + each("## [{key}]\n{value}"),
    "nested headings": each("## Part {n}\n### [{key}]\n{value}"),
    "comments": each("<!-- [{key}]: /x/y.yaml -->\n## [{key}]\n{value} <!-- here -->"),
}
NOTES = {
    "heading": "\n\n## Other Notes\n- [exp_codebase_dir] is on NFS; before it was /old/code.\n- first run took 9 hours",
    "heading in chinese": "\n\n## 其他注意事项\n1. [exp_venv_exe] 不要用 /old/bin/python\n2. 上次用了 9 小时",
    "none": "",
}


@pytest.mark.parametrize("notes", NOTES)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_says_the_same(shape: str, notes: str) -> None:
    reading = read_blueprint(SHAPES[shape] + NOTES[notes])
    found = reading.blueprint
    assert [p.message for p in reading.problems if p.level is Level.ERROR] == []
    assert VALUES["exp_purpose"] in (found.purpose or "")
    assert (found.codebase_dir, found.venv_exe, found.yaml_path, found.launch_command, found.result_dir) == (
        "/srv/aj",
        "/srv/aj/.venv/bin/python",
        "/srv/aj/cfg/a.yaml",
        VALUES["exp_launch_command"],
        "/srv/out/lr",
    )
    assert (found.max_time_s, found.mode) == (43200, Mode.CLASSIC)


@pytest.mark.parametrize(
    "shape", ["headings", "bold, then lines", "table", "fence", "indented", "quote", "carriage returns"]
)
def test_every_shape_knows_its_lines(shape: str) -> None:
    lines = SHAPES[shape].replace("\r\n", "\n").split("\n")
    for key, line in read_blueprint(SHAPES[shape]).blueprint.lines.items():
        assert VALUES[key] in lines[line - 1]


@pytest.mark.parametrize(
    "tail",
    [
        "8. Notes: none",
        "8. 备注：无",
    ],
)
def test_notes_that_say_nothing_are_none(tail: str) -> None:
    reading = read_blueprint(each("{n}. [{key}]: {value}", "\n") + "\n" + tail)
    assert reading.blueprint.notes is None
    assert reading.blueprint.max_time_s == 43200


@pytest.mark.parametrize(
    ("shape", "tail"),
    [
        ("headings", "\n\n## Additional notes\nkeep the seed"),
        ("headings", "\n\n# 备注\n- keep the seed"),
        ("bold", "\n\n**Other notes:** keep the seed"),
        ("bold, then lines", "\n\n**Notes**\n- keep the seed"),
        ("numbers", "\n8. Other information: keep the seed"),
        ("numbers without a colon", "\n8. keep the seed"),
        ("table", "\n| notes | keep the seed |"),
        ("bare lines", "\n\n其他注意事项：\n- keep the seed"),
        ("fence", "\n\n## Other notes\nkeep the seed"),
    ],
)
def test_the_rest_is_kept_as_notes(shape: str, tail: str) -> None:
    blueprint = read_blueprint(SHAPES[shape] + tail).blueprint
    assert "keep the seed" in (blueprint.notes or "")
    assert blueprint.max_time_s == 43200


MENTIONS = [
    "The path in [exp_codebase_dir] is /other/code.",
    "See [exp_venv_exe] and [exp_result_dir] for /other/paths.",
    "[exp_result_dir] must not be /other/out.",
    "- [exp_codebase_dir] was /other/code in the last run",
    "> note: [exp_max_time] was 99 hours before",
    "| [exp_yaml_path] and [exp_max_time] | differ |\n|---|---|",
]


@pytest.mark.parametrize("mention", MENTIONS)
@pytest.mark.parametrize("where", ["exp_codebase_dir", "exp_yaml_path", "exp_max_time"])
def test_a_key_in_prose_opens_no_section(mention: str, where: str) -> None:
    start = SHAPES["headings"].index(f"## [{where}]") + len(f"## [{where}]\n{VALUES[where]}")
    with_mention, without = (
        read_blueprint(SHAPES["headings"][:start] + "\n\nNote: as follows.\n\n" + said + SHAPES["headings"][start:])
        for said in (mention, "Note: nothing.")
    )
    assert replace(with_mention.blueprint, lines={}) == replace(without.blueprint, lines={})
    assert with_mention.problems == without.problems == ()


def test_unknown_and_misspelled_keys_are_said() -> None:
    text = SHAPES["headings"].replace("[exp_venv_exe]", "[exp_venv_path]") + "\n\n## [exp_banana]\nyellow"
    problems = {p.code: p for p in read_blueprint(text).problems}
    assert problems["section_unknown"].section == "exp_banana"
    assert (problems["section_misspelled"].section, problems["section_misspelled"].level) == (
        "exp_venv_exe",
        Level.WARNING,
    )


def test_max_time_set_elsewhere() -> None:
    text = SHAPES["headings"].replace("12 hours", "${MaxTime}") + "\n\n## Other notes\n- MaxTime = 10 hours"
    assert read_blueprint(text).blueprint.max_time_s == 36000


def test_the_drop_names_a_blueprint_without_a_title() -> None:
    assert read_blueprint(SHAPES["headings"], name="lr").blueprint.title == "lr"
    assert read_blueprint("# A title\n\n" + SHAPES["headings"], name="lr").blueprint.title == "A title"


DECODED: list[tuple[bytes, str, list[str]]] = [
    (b"abc", "abc", []),
    (b"\xef\xbb\xbfabc", "abc", []),
    ("路径".encode(), "路径", []),
    ("路径".encode("utf-16"), "路径", []),
    (b"a\nb\xff\xfec", "a\nb\ufffd\ufffdc", ["not_utf8"]),
    ("路径".encode("gbk"), "·��", ["not_utf8"]),
    (b"", "", []),
]


@pytest.mark.parametrize(("data", "text", "codes"), DECODED)
def test_decode(data: bytes, text: str, codes: list[str]) -> None:
    found, problems = decode(data)
    assert [p.code for p in problems] == codes
    assert found == text or codes


def test_decode_tells_the_line_of_the_first_bad_byte() -> None:
    (problem,) = decode(b"a\nb\n\xff\n")[1]
    assert (problem.line, problem.level) == (3, Level.ERROR)


def test_too_many_lines_are_a_problem() -> None:
    reading = read_blueprint("\n" * MAX_LINES)
    assert [p.code for p in reading.problems] == ["too_long"]


def test_empty_text_is_missing_sections() -> None:
    problems: tuple[Problem, ...] = read_blueprint("").problems
    assert {p.code for p in problems} == {"section_missing", "max_time_default"}


KIB, MIB = 1 << 10, 1 << 20
REPEATED: dict[str, Callable[[int], str]] = {
    "quotes": lambda n: ">" * n,
    "bullets": lambda n: "- " * (n // 2),
    "bullet lines": lambda n: "- a\n" * min(n // 4, MAX_LINES - 1),
    "deep bullets": lambda n: "".join(" " * (2 * (k % 100)) + "- a\n" for k in range(n // 104)),
    "fences": lambda n: "```\n[exp_purpose]\n" * min(n // 18, MAX_LINES // 2 - 1),
    "brackets": lambda n: "[" * n,
    "keys": lambda n: "## [exp_launch_command]\n" * min(n // 24, MAX_LINES - 1),
    "keys in a line": lambda n: "[exp_purpose] " * (n // 14),
    "dirs": lambda n: "## [exp_codebase_dir]\n" + "/a/b (/c/d) `/e/f`, not /g " * (n // 27),
    "stars": lambda n: "**" * (n // 2),
    "comments": lambda n: "<!-- " * (n // 5),
    "comment lines": lambda n: "<!--\n" * min(n // 5, MAX_LINES - 1),
    "cells": lambda n: "| a | b |\n|---|---|\n" + "|" * n,
    "rows": lambda n: "| [exp_purpose] | b |\n|---|---|\n" * min(n // 32, MAX_LINES // 2 - 1),
    "command": lambda n: "## [exp_launch_command]\n" + "a b " * (n // 4),
    "options": lambda n: "## [exp_launch_command]\n" + "a -b " * (n // 5),
    "assignments": lambda n: "## [exp_launch_command]\n" + "A=1 " * (n // 4),
    "continued": lambda n: "## [exp_launch_command]\n" + "a b \\\n" * min(n // 6, MAX_LINES - 2),
    "open quote": lambda n: "## [exp_launch_command]\necho '\n" + "a\n" * min(n // 2, MAX_LINES - 3),
    "digits": lambda n: "## [exp_max_time]\n" + "1" * n,
    "hours": lambda n: "## [exp_max_time]\n" + "1 hour " * (n // 7),
    "han": lambda n: "## [exp_max_time]\n" + "十" * n,
    "colons": lambda n: "## [exp_codebase_dir]\n" + "a: " * (n // 3),
    "parentheses": lambda n: "## [exp_codebase_dir]\n" + "(" * n,
    "slashes": lambda n: "## [exp_codebase_dir]\n" + "/" * n,
    "dots": lambda n: "## [exp_codebase_dir]\n" + "../" * (n // 3),
    "blanks": lambda n: "## [exp_codebase_dir]\na" + " " * n + "b",
    "words": lambda n: "## [exp_purpose]\n" + "word " * (n // 5),
    "paragraph": lambda n: "## [exp_purpose]\n" + ("x" * 40 + "\n") * min(n // 41, MAX_LINES - 2),
}


@pytest.mark.parametrize("size", [64 * KIB, MIB])
@pytest.mark.parametrize("kind", REPEATED)
def test_no_text_takes_long(kind: str, size: int) -> None:
    began = process_time()
    read_blueprint(REPEATED[kind](size))
    assert process_time() - began < (1 if size < MIB else 5)


PARTS = st.sampled_from(
    [
        *"#-*>|`~[]()：:=/\\'\"<!&;$ \n\t",
        *(
            "```",
            "\n\n",
            "    ",
            "1. ",
            "exp_",
            "/a/b",
            "12 hours",
            "note: ",
            "path: ",
            "路径：",
            "或",
            "\x00",
            "\u2028",
        ),
        *("[exp_launch_command]", "[exp_max_time]", "[exp_codebase_dir]", "[exp_env]", "[exp_services]", "${MaxTime}"),
        *("python x.py", "ajet-swarm start", "<<EOF", "<!--", "-->", "| a | b |\n|---|---|\n"),
    ]
)


@given(st.lists(PARTS, max_size=60).map("".join))
def test_any_text_is_read_without_a_crash(text: str) -> None:
    reading = read_blueprint(text)
    text_problems(Case(blueprint=reading.blueprint, text=text))
    count = len(text.replace("\r\n", "\n").split("\n"))
    assert all(1 <= line <= count for line in reading.blueprint.lines.values())
    assert all(p.line is None or 1 <= p.line <= count for p in reading.problems)
