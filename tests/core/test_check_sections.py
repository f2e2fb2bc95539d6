"""What the text says around the values: notes that nobody executes, values without a word, relative paths."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ajet_inbox.core.blueprint import Level, Problem
from ajet_inbox.core.checking.check import text_problems
from ajet_inbox.core.checking.rule import Case
from ajet_inbox.core.reading.parse import read_blueprint

BLUEPRINT = """\
## [exp_purpose]
Compare two batch sizes.
## [exp_codebase_dir]
The code of the whole team.
- path: /srv/aj
## [exp_venv_exe]
It has the newest vllm.
- path: {venv}
## [exp_launch_command]
One training of a single host.
- command: python x.py
## [exp_result_dir]
Read by the plots of the paper.
- path: {results}
## [exp_max_time]
2 hours
{more}
"""


def found(
    code: str, *, venv: str = "/srv/aj/venv/bin/python", results: str = "/srv/out", more: str = ""
) -> list[Problem]:
    text = BLUEPRINT.format(venv=venv, results=results, more=more)
    case = Case(blueprint=read_blueprint(text).blueprint, text=text)
    return [problem for problem in text_problems(case) if problem.code == code]


NOTES = [
    ("- Before running, pip install -e .", "exp_prepare_command"),
    ("- Preparation: download the model with modelscope first", "exp_prepare_command"),
    ("- note 1: install flash-attn into the venv", "exp_prepare_command"),
    ("- The dataset must be downloaded to /data", "exp_prepare_command"),
    ("- `export HF_HOME=/data/hf`", "exp_prepare_command"),
    ("git clone https://example.org/x", "exp_prepare_command"),
    ("- 运行前需要安装 flash-attn", "exp_prepare_command"),
    ("- 请先启动 appworld 服务", "exp_prepare_command"),
    ("- 准备：下载模型到 /data", "exp_prepare_command"),
    ("- After training, delete the checkpoints", "exp_cleanup_command"),
    ("- Cleanup: remove saved_checkpoints", "exp_cleanup_command"),
    ("- 实验结束后清理 saved_checkpoints", "exp_cleanup_command"),
    ("- Nothing to prepare before the run.", None),
    ("- No cleanup after the run.", None),
    ("- The model is already downloaded.", None),
    ("- The data does not have to be downloaded", None),
    ("- 无需安装任何依赖", None),
    ("- 模型已下载", None),
    ("- [ ] todo: download the other model for the next experiment", None),
    ("- Learning rate 1e-6 was better than 1e-5 in the last experiment.", None),
    ("- The reward is sparse; the curves are noisy.", None),
    ("- 学习率 1e-6 比 1e-5 稳定。", None),
    ("", None),
]


@pytest.mark.parametrize(("note", "section"), NOTES)
def test_notes_that_nobody_executes(note: str, section: str | None) -> None:
    told = found("bp_notes_not_executed", more=f"## Other Notes\n{note}\n")
    assert [section in problem.hint for problem in told] == ([True] if section else [])
    assert all((problem.level, problem.line) == (Level.WARNING, 18) for problem in told)


AGAIN = [
    ("- if it crashes restart it up to 2 times", True),
    ("- Restart it when it fails with OOM.", True),
    ("- retry up to 3 times", True),
    ("- 如果崩溃请重启", True),
    ("- 失败后重试 2 次", True),
    ("- Nobody has to restart it if it crashes; never retry 3 times.", False),
    ("- The last one crashed at step 20.", False),
]


@pytest.mark.parametrize(("note", "is_told"), AGAIN)
def test_notes_that_ask_for_another_attempt(note: str, is_told: bool) -> None:
    told = found("bp_notes_not_executed", more=f"## Other Notes\n{note}\n")
    assert ["[exp_retry]" in problem.hint for problem in told] == ([True] if is_told else [])
    assert found("bp_notes_not_executed", more=f"## [exp_retry]\n2\n## Other Notes\n{note}\n") == []


def test_notes_beside_a_command_are_executed() -> None:
    more = "## [exp_prepare_command]\n    pip install -e .\n## Other Notes\n- Before running, pip install -e .\n"
    assert found("bp_notes_not_executed", more=more) == []


def test_a_value_without_a_word() -> None:
    assert found("section_unexplained") == []
    text = BLUEPRINT.format(venv="/srv/aj/venv/bin/python", results="/srv/out", more="")
    bare = text.replace("The code of the whole team.\n", "").replace("Read by the plots of the paper.\n", "")
    (told,) = [
        problem
        for problem in text_problems(Case(blueprint=read_blueprint(bare).blueprint, text=bare))
        if problem.code == "section_unexplained"
    ]
    assert (told.level, told.section, told.line) == (Level.INFO, "exp_codebase_dir", 4)
    assert "[exp_codebase_dir], [exp_result_dir]" in told.message


EXPLAINED = [
    ("- /srv/aj, my AgentJet checkout", True),
    ("- path: /srv/aj (the checkout of last week)", True),
    ("- 路径：/srv/aj，就是上周拷贝的那份", True),
    ("- path: /srv/aj", False),
    ("`/srv/aj`", False),
]


@pytest.mark.parametrize(("body", "is_explained"), EXPLAINED)
def test_a_word_beside_the_value_explains_it(body: str, is_explained: bool) -> None:
    text = BLUEPRINT.format(venv="/srv/aj/venv/bin/python", results="/srv/out", more="")
    text = text.replace("The code of the whole team.\n- path: /srv/aj", body)
    told = [p.code for p in text_problems(Case(blueprint=read_blueprint(text).blueprint, text=text))]
    assert ("section_unexplained" in told) != is_explained


def test_a_section_that_is_given_twice_is_told_once() -> None:
    text = BLUEPRINT.format(venv="/srv/aj/venv/bin/python", results="/srv/out", more="## [exp_codebase_dir]\n/srv/aj")
    text = text.replace("The code of the whole team.\n", "")
    told = [
        p for p in text_problems(Case(blueprint=read_blueprint(text).blueprint, text=text)) if p.level is Level.INFO
    ]
    assert [problem.message for problem in told] == ["Only the value is given in [exp_codebase_dir]."]


@pytest.mark.parametrize("name", ["python3", "- `python`"])
def test_a_bare_interpreter_is_unclear_and_nothing_else(name: str) -> None:
    text = BLUEPRINT.format(venv="VENV", results="/srv/out", more="").replace("- path: VENV", name)
    told = text_problems(Case(blueprint=read_blueprint(text).blueprint, text=text))
    assert [problem.code for problem in told if problem.section == "exp_venv_exe"] == ["interpreter_unclear"]


def test_placeholders_below_a_placeholder_are_told_with_it() -> None:
    text = BLUEPRINT.format(venv="/path/to/code/venv/bin/python", results="/path/to/results", more="")
    text = text.replace("/srv/aj", "/path/to/code")
    told = text_problems(Case(blueprint=read_blueprint(text).blueprint, text=text))
    assert [p.section for p in told if p.code == "placeholder_unresolved"] == ["exp_codebase_dir", "exp_result_dir"]


RELATIVE = [
    ({}, None),
    ({"venv": "./venv/bin/python"}, "exp_venv_exe"),
    ({"venv": "venv/bin/python"}, "exp_venv_exe"),
    ({"results": "auto_agent/exp_results/a"}, "exp_result_dir"),
    ({"venv": "/srv/aj/venv"}, None),  # the environment is meant, and written absolute
    ({"results": "${exp_codebase_dir}/out"}, None),
    ({"results": "~/out"}, None),
]


@pytest.mark.parametrize(("changes", "section"), RELATIVE)
def test_relative_paths_where_absolute_ones_are_asked_for(changes: dict[str, str], section: str | None) -> None:
    told = found("path_written_relative", **changes)
    assert [problem.section for problem in told] == ([section] if section else [])
    assert all(problem.level is Level.WARNING and problem.line for problem in told)


@given(st.text(alphabet="- [x]:.;`#\n/下载a e运行前install before", max_size=80))
def test_any_notes_are_judged_without_a_crash(notes: str) -> None:
    found("bp_notes_not_executed", more=f"## Other Notes\n{notes}")
