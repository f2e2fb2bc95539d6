"""Times, purposes and optional sections written in many ways; what is missing or says nothing."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ajet_inbox.core.blueprint import Blueprint, Level, Mode
from ajet_inbox.core.reading.parse import read_blueprint
from tests.core.plain import PLAIN, RUN, document, read, wrong

TIMES = [
    ("12 hours", 12, None),
    ("`8h`", 8, None),
    ("90 min", 1.5, None),
    ("PT12H", 12, None),
    ("12:00:00", 12, None),
    ("- time: 12 hours\n- note: ended after 12 hours; a first step is expected within 20 minutes", 12, 20),
    ("- MaxTime per run: 24 hours\n- First step success timeout: 20 minutes", 24, 20),
    ("- content 1: 24 hours\n- content 2: first step success timeout: 30 minutes", 24, 30),
    ("Maximum runtime is 12 hours; each experiment is forcefully terminated after 12 hours", 12, None),
    ("${MaxTime} = 12 hours\nNote: must not exceed 12 hours.", 12, None),
    ("运行时间不超过 12 小时，每个实验强制在 12 小时后终止", 12, None),
    ("最长24小时；首步成功超时：20分钟", 24, 20),
    ("- 时间：两天\n- 首步超时：半小时", 48, 30),
    ("一天半", 36, None),
    ("At most 6h30m.", 6.5, None),
    ("About 9 hours expected, hard limit 12 hours", 12, None),
    ("about 9 hours", 9, None),
    ("12 hours (the previous run took 9 hours)", 12, None),
    ("12 hours, not 24 hours", 12, None),
    ("12 hours # was 24 hours", 12, None),
    ("24 小时（上次用了 9 小时）", 24, None),
    ("- description: upper bound, or ${MaxTime}\n- time: 0.5 days", 12, None),
    ("| time | 12 h |\n|---|---|\n| first step | 25 min |", 12, 25),
    ("12 hours with the first step within 20 minutes", 12, 20),
    ("**12 hours**", 12, None),
    ("1 day, 12 hours", 36, None),
    ("1 day and 12 hours", 36, None),
    ("- time: 12 hours\n- test every 30 minutes, save a checkpoint each 2 hours", 12, None),
    ("12", 12, None),
    ("- time: 12", 12, None),
    ("unlimited", 24, None),
    ("Maximum runtime is ${MaxTime}; each experiment is forcefully terminated after ${MaxTime}", 24, None),
    ("", 24, None),
    (None, 24, None),
    ("- time: 12 hours\n- description: typical runs take 8-10 hours", 12, None),
    ("不超过12小时（含验证），首个 step 应在 20 分钟内完成", 12, 20),
    ("${MaxTime} = 12 小时；首步成功超时 = 15 分钟", 12, 15),
    ("MaxTime：12小时\n首步超时：20分钟", 12, 20),
    ("Hard limit: 12 hours. If no kl loss is printed within 20 minutes, the first step has failed.", 12, 20),
    ("MaxTime per run: 12 hours; first-step timeout 25min", 12, 25),
    ("24h total wall clock (3 epochs, 500 steps)", 24, None),
    ("- time: 24 hours per run\n- hint: the previous one needed 19 hours", 24, None),
    ("43200 seconds", 12, None),
    ("12 hours (720 minutes)", 12, None),
    ("- default: 24 hours\n- time: 12 hours", 12, None),
    ("12 hours, then SIGTERM with a grace period of 60 seconds", 12, None),
    ("0.5h", 0.5, None),
    ("- max: 12h\n- expected: 9h", 12, None),
    ("12 hours per experiment; 20 minutes for the first step", 12, 20),
    ("12h / first step 20min", 12, 20),
    ("≤ 12 小时", 12, None),
    ("12 小时内必须结束（首步 20 分钟内）", 12, 20),
    ("- time: 12 hours\n- first step success timeout: 20 minutes (default)", 12, 20),
    ("- 最长运行时间：12 小时\n- 首个 kl loss 需在 20 分钟内出现", 12, 20),
    ("12 hours max, usually done in 9", 12, None),
    ("- description: ${MaxTime} = upper bound\n- ${MaxTime}: 12 hours", 12, None),
    ("12 hours. (Plus 30 minutes of start-up do not count.)", 12, None),
    ("`${MaxTime}` = `12 hours`", 12, None),
    ("Maximum: **12 h**. Evaluate every 30 min.", 12, None),
]


@pytest.mark.parametrize(("body", "hours", "first_minutes"), TIMES)
def test_times(body: str | None, hours: float, first_minutes: float | None) -> None:
    reading = read(exp_max_time=body)
    assert reading.blueprint.max_time_s == hours * 3600
    assert reading.blueprint.first_step_timeout_s == (first_minutes and first_minutes * 60)
    assert wrong(reading) == []


PURPOSES = [
    ("- purpose: lower lr\n- description: what it is for\n- hint: short", "lower lr"),
    ("- description: what it is for\n- content 1: only lr differs", "only lr differs"),
    ("- description: lower lr to 1e-6\n- content 1: only lr differs", "only lr differs"),
    ("Lower\nlr.\n\n- difference: lr 1e-6", "Lower lr."),
    ("实验目的：降低学习率。", "降低学习率"),
    ("Hypothesis: a lower lr helps; see [exp_yaml_path].", "Hypothesis: a lower lr"),
    ("> lower lr", "lower lr"),
    ("```\nlower lr\n```", "lower lr"),
]


@pytest.mark.parametrize(("body", "part"), PURPOSES)
def test_purpose(body: str, part: str) -> None:
    purpose = read(exp_purpose=body).blueprint.purpose or ""
    assert part in purpose
    assert "what it is for" not in purpose  # a description is no value where there is another


def test_a_description_alone_is_the_purpose() -> None:
    assert read(exp_purpose="- description: lower lr").blueprint.purpose == "lower lr"


BARE = ["python3", "- `python3`", "- path: python3.11", "Whatever there is:\n\n```\npython3\n```"]


@pytest.mark.parametrize("body", BARE)
def test_an_interpreter_without_a_folder_is_kept_as_it_is_written(body: str) -> None:
    reading = read(exp_venv_exe=body)
    assert re.fullmatch(r"python3(?:\.11)?", reading.blueprint.venv_exe or "")
    assert wrong(reading) == []


OPTIONS: list[tuple[str, str, str, Any]] = [
    ("exp_mode", "swarm", "mode", Mode.SWARM),
    ("exp_mode", "- mode: `generic`", "mode", Mode.GENERIC),
    ("exp_mode", "classic (non-swarm)", "mode", Mode.CLASSIC),
    ("exp_prepare_command", "```\npip install -e .\n```", "prepare_command", "pip install -e ."),
    ("exp_prepare_command", "none", "prepare_command", None),
    ("exp_cleanup_command", "`rm -rf tmp`", "cleanup_command", "rm -rf tmp"),
    ("exp_env", "- A=1\n- B: two words\n- export C='3'", "env", {"A": "1", "B": "two words", "C": "3"}),
    ("exp_env", "```\nA=1\n# b\nB=2\n```", "env", {"A": "1", "B": "2"}),
    ("exp_priority", "5", "priority", 5),
    ("exp_priority", "- value: -3", "priority", -3),
    ("exp_after", "- lr1\n- lr2", "after", ("lr1", "lr2")),
    ("exp_after", "lr1, lr2", "after", ("lr1", "lr2")),
    ("exp_after", "无", "after", ()),
    ("exp_gpus", "8", "gpus", 8),
    ("exp_gpus", "4 GPUs", "gpus", 4),
    ("exp_gpus", "0 (CPU only)", "gpus", 0),
    ("exp_host", "`gpu07`", "host", "gpu07"),
    ("exp_first_step_timeout", "30 minutes", "first_step_timeout_s", 1800.0),
    ("exp_plateau", "off", "plateau", "off"),
    (
        "exp_retry",
        "- resume\n- on oom: ajet.rollout.max_num_seqs=8",
        "retry",
        "resume\non oom: ajet.rollout.max_num_seqs=8",
    ),
    ("exp_parent", "lr1", "parent", "lr1"),
    ("exp_snapshot", "yes", "snapshot", True),
    ("exp_snapshot", "否", "snapshot", False),
]


@pytest.mark.parametrize(("key", "body", "field", "value"), OPTIONS)
def test_options(key: str, body: str, field: str, value: object) -> None:
    reading = read(**{key: body})
    assert getattr(reading.blueprint, field) == value
    assert wrong(reading) == []


def test_services_section() -> None:
    body = """
- vllm: vllm serve /m/q --port 8000 (ready: http://127.0.0.1:8000/health)
- web: python -m http.server
  - ready: port 8000
"""
    services = read(exp_services=body).blueprint.services
    assert [(s.name, s.command, s.ready) for s in services] == [
        ("vllm", "vllm serve /m/q --port 8000", "http://127.0.0.1:8000/health"),
        ("web", "python -m http.server", "port 8000"),
    ]


UNREADABLE = [
    ("exp_codebase_dir", "the usual place"),
    ("exp_codebase_dir", "- dir:\n- hint: absolute"),
    ("exp_venv_exe", "conda activate aj"),
    ("exp_launch_command", "Ask Li how to start it."),
    ("exp_launch_command", "- hint: `python x.py`"),
    ("exp_result_dir", ""),
    ("exp_priority", "high"),
    ("exp_gpus", "0,1,2,3"),
    ("exp_env", "the usual ones"),
    ("exp_mode", "fast"),
    ("exp_first_step_timeout", "soon"),
    ("exp_snapshot", "maybe"),
    ("exp_services", "the usual ones"),
]


@pytest.mark.parametrize(("key", "body"), UNREADABLE)
def test_a_section_that_says_nothing_is_an_error_with_its_line(key: str, body: str) -> None:
    text = document(**{key: body})
    problems = [p for p in read_blueprint(text).problems if p.level is Level.ERROR]
    line = text.split("\n").index(f"## [{key}]") + 1
    assert [(p.code, p.section, p.line) for p in problems] == [("value_missing", key, line)]


@pytest.mark.parametrize("key", ["exp_codebase_dir", "exp_venv_exe", "exp_launch_command", "exp_result_dir"])
def test_a_missing_section_is_an_error(key: str) -> None:
    problems = [p for p in read(**{key: None}).problems if p.level is Level.ERROR]
    assert [(p.code, p.section) for p in problems] == [("section_missing", key)]


def test_a_missing_purpose_or_time_is_a_warning() -> None:
    reading = read(exp_purpose=None, exp_max_time=None)
    assert [(p.code, p.level) for p in reading.problems] == [
        ("section_missing", Level.WARNING),
        ("max_time_default", Level.WARNING),
    ]


def test_a_number_without_a_unit_is_hours_in_max_time_only() -> None:
    assert [p.code for p in read(exp_max_time="12").problems] == ["time_without_unit"]
    problems = read(exp_first_step_timeout="20").problems
    assert [(p.code, p.level) for p in problems] == [("time_without_unit", Level.ERROR)]


def test_plain_sections_have_no_problem_and_know_their_lines() -> None:
    text = document()
    reading = read_blueprint(text)
    lines = text.split("\n")
    assert reading.problems == ()
    assert {key: lines[line - 1] for key, line in reading.blueprint.lines.items()} == PLAIN | {
        "exp_launch_command": RUN
    }
    assert reading.blueprint == Blueprint(
        purpose=PLAIN["exp_purpose"],
        codebase_dir="/srv/aj",
        venv_exe="/srv/aj/.venv/bin/python",
        yaml_path="/srv/aj/a.yaml",
        launch_command=RUN,
        result_dir="/srv/out/lr",
        max_time_s=43200.0,
        mode=Mode.CLASSIC,
        lines=reading.blueprint.lines,
    )
