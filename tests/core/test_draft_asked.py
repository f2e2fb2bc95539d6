"""What a task asks for, told from its words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ajet_inbox.core.drafting.asked import only, read_task
from ajet_inbox.core.drafting.text import headline, is_name, name_for, plain

HOUR = 3600.0
TIMES = [
    ("Train for 12 hours on 4 GPUs", (12 * HOUR,)),
    ("at most 90 min, first step within 10 minutes", (1.5 * HOUR,)),
    ("单卡训练 6 小时", (6 * HOUR,)),
    ("最长 12 小时", (12 * HOUR,)),
    ("Train 30 epochs for 3h30m", (3.5 * HOUR,)),
    ("evaluate every 30 minutes", ()),
    ("24 GPU hours of training", ()),
    ("2 H200 GPUs", ()),
    ("batch 32 and 4 repeats", ()),
    ("3", ()),
    ("Run 12h or 24h?", (12 * HOUR, 24 * HOUR)),
]
GPUS = [
    ("on 4 GPUs", (4,)),
    ("8 x H200", (8,)),
    ("use 8xH100 for a day", (8,)),
    ("2 H200 GPUs", (2,)),
    ("on a single GPU", (1,)),
    ("an 8-GPU node", (8,)),
    ("GPUs: 2", (2,)),
    ("单卡训练", (1,)),
    ("用 4 张卡", (4,)),
    ("8卡", (8,)),
    ("CPU only", (0,)),
    ("不需要 GPU", (0,)),
    ("24 GPU hours", ()),
    ("per-GPU batch 8", ()),
    ("on GPU 3", ()),
    ("4 GPUs or 8 GPUs", (4, 8)),
    ("99999 GPUs", ()),
]


@pytest.mark.parametrize(("text", "seconds"), TIMES)
def test_times(text: str, seconds: tuple[float, ...]) -> None:
    assert read_task(text).max_times_s == seconds


@pytest.mark.parametrize(("text", "gpus"), GPUS)
def test_gpus(text: str, gpus: tuple[int, ...]) -> None:
    assert read_task(text).gpus == gpus


def test_the_first_step_has_a_time_of_its_own() -> None:
    asked = read_task("12 hours at most; the first step must come within 45 minutes")
    assert (asked.max_times_s, asked.first_steps_s) == ((12 * HOUR,), (45 * 60.0,))


def test_sections_in_a_task_are_taken_over() -> None:
    asked = read_task("Study lr.\n\n[exp_codebase_dir]: /data/AgentJet\n[exp_yaml_path]: tests/bench/math.yaml\n")
    assert (asked.codebase_dir, asked.yaml_path, asked.venv_exe) == (
        "/data/AgentJet",
        "/data/AgentJet/tests/bench/math.yaml",
        None,
    )
    assert read_task("Study lr in /data/AgentJet").codebase_dir is None


def test_a_swarm_is_noticed_and_its_denial_too() -> None:
    assert read_task("compare in swarm mode").swarm
    assert not read_task("classic, not swarm mode").swarm


def test_a_choice_is_left_to_a_person() -> None:
    assert (only(()), only((3,)), only((3, 4))) == (None, 3, None)


NAMES = [
    ("Compare lr=1e-6 and 2e-6", "Compare_lr_1e-6_and_2e-6"),
    ("单卡训练 6 小时", "单卡训练_6_小时"),
    ("../../etc", "etc"),
    ("", "experiment"),
    ("???", "experiment"),
    ("Study how the reward changes when the model gets larger", "Study_how_the_reward_changes_when_the"),
]


@pytest.mark.parametrize(("text", "name"), NAMES)
def test_names(text: str, name: str) -> None:
    assert name_for(text) == name


@given(st.text())
def test_a_name_is_one_whatever_the_task_says(text: str) -> None:
    assert is_name(name_for(headline(text)))


@pytest.mark.parametrize("text", ["", "a b", "a/b", "../a", "-a", "_a", "a.b", "x" * 81])
def test_what_no_run_could_be_called_is_no_name(text: str) -> None:
    assert not is_name(text)


def test_the_first_line_that_says_anything_is_the_headline() -> None:
    assert headline("\n\n## **Study** the\tlr\u200b <!-- x -->\nmore") == "Study the lr"


@given(st.text())
def test_plain_text_is_one_line_and_stays_so(text: str) -> None:
    once = plain(text)
    assert once.isprintable()
    assert plain(once) == once


@given(st.text())
def test_no_task_is_too_strange(text: str) -> None:
    assert read_task(text).text == text
