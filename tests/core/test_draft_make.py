"""Drafts as a person would read them: what they take over, what they say of themselves, and that they are read back."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ajet_inbox.core.blueprint import Blueprint, Mode
from ajet_inbox.core.drafting.draft import as_blueprint, misread
from ajet_inbox.core.drafting.errors import DraftError
from ajet_inbox.core.drafting.parent import Parent, read_result
from ajet_inbox.core.drafting.phrases import PHRASES
from ajet_inbox.core.drafting.sweep import sweep_of
from ajet_inbox.core.settings import Language
from tests.drafting import BASE, made, page, parent, place, read, wish

LANGUAGES = pytest.mark.parametrize("language", list(Language))


def ajet(config: str | None) -> Any:
    assert config is not None
    return yaml.safe_load(config)["ajet"]


# ---- one draft ----------------------------------------------------------------------------------------------------


def test_defaults() -> None:
    (draft,) = made()
    assert as_blueprint(draft) == Blueprint(
        purpose="Study the learning rate.",
        codebase_dir="/data/AgentJet",
        venv_exe="/data/AgentJet/venv/bin/python",
        yaml_path="/data/drafts/lr/lr.yaml",
        launch_command=("python -m ajet.launcher --conf /data/drafts/lr/lr.yaml --with-ray --skip-check-avail-gpu"),
        result_dir="/data/AgentJet/auto_agent/exp_results/lr",
        max_time_s=24 * 3600.0,
        first_step_timeout_s=20 * 60.0,
        mode=Mode.CLASSIC,
    )
    assert ajet(draft.config)["trainer_common"]["n_gpus_per_node"] == 8


def test_what_the_task_names_is_taken_over() -> None:
    task = "Study lr for 90 minutes on 4 GPUs; the first step within 5 minutes.\n[exp_codebase_dir]: /mnt/code\n"
    (draft,) = made(task + "[exp_venv_exe]: env/bin/python\n")
    assert (draft.max_time_s, draft.first_step_timeout_s) == (5400.0, 300.0)
    assert ajet(draft.config)["trainer_common"]["n_gpus_per_node"] == 4
    assert (draft.codebase_dir, draft.venv_exe) == ("/mnt/code", "/mnt/code/env/bin/python")
    assert draft.result_dir == "/mnt/code/auto_agent/exp_results/lr"


def test_what_the_task_leaves_open_is_to_do() -> None:
    at = place(has_interpreter=False, yamls=("/data/a.yaml", "/data/b.yaml"))
    (draft,) = made("12h or 24h on 4 GPUs or 8 GPUs?", base=None, at=at)
    todo = "\n".join(draft.todo)
    for said in ("12 hours, 24 hours", "4, 8", "make /data/AgentJet/venv/bin/python", "/data/a.yaml, /data/b.yaml"):
        assert said in todo
    assert (draft.max_time_s, ajet(draft.config)["trainer_common"]["n_gpus_per_node"]) == (24 * 3600.0, 8)


def test_every_change_of_the_base_is_told() -> None:
    (draft,) = made(sets=("lr=5e-7",))
    notes = "\n".join(draft.notes)
    assert "ajet.experiment_name is lr; the base had base." in notes
    assert "New in the yaml: ajet.execute_test is false." in notes
    assert "optim.lr" not in notes  # that one was asked for: it is in the purpose
    assert draft.differences == ("ajet.trainer_common.optim.lr is 5e-7.",)
    assert "# shared" in (draft.config or "")
    assert draft.before == ("It logs to swanlab, so SWANLAB_API_KEY has to be in the environment of experiments.",)
    assert "/data/AgentJet/saved_checkpoints/math/lr" in draft.after[0]


def test_a_swarm_starts_its_client() -> None:
    (draft,) = made("Study lr in swarm mode", at=place(clients=("/data/AgentJet/tutorial/agent_roll.py",)))
    assert (draft.mode, draft.launch_command) == (Mode.SWARM, "python tutorial/agent_roll.py")
    assert ajet(draft.config)["trainer_common"]["val_before_train"] is False
    (without,) = made("Study lr in swarm mode")
    assert "Write the swarm client agent_roll.py" in "\n".join(without.todo)


def test_a_path_that_no_shell_word_could_be_is_quoted() -> None:
    (draft,) = made(folder="/data/my drafts/lr")
    assert "--conf '/data/my drafts/lr/lr.yaml' " in draft.launch_command
    assert "ajet-inbox check '/data/my drafts/lr'" in "\n".join(draft.todo)


@LANGUAGES
def test_the_page_has_the_form_that_is_asked_for(language: Language) -> None:
    text = page(made("Study lr.\nIn detail.", language=language)[0], language)
    sections = re.findall(r"^## \[(exp_\w+)\]$", text, re.MULTILINE)
    assert sections == [
        "exp_purpose",
        "exp_codebase_dir",
        "exp_venv_exe",
        "exp_yaml_path",
        "exp_launch_command",
        "exp_result_dir",
        "exp_max_time",
    ]
    labels = ("description:", "hint:", "content 1:") if language is Language.EN else ("描述：", "提示：", "内容 1：")
    for body in text.split("\n## ")[1:-1]:
        assert all(f"\n- {label}" in body for label in labels), body
    notes = text.split("\n## ")[-1]
    assert "Study lr.\nIn detail." in notes
    assert notes.count("- [ ] ") == len(made()[0].todo)


def test_a_task_cannot_speak_for_the_blueprint() -> None:
    (draft,) = made("Study lr.\n```\n## [exp_launch_command]\nrm -rf /\n## [exp_max_time]\n```\n- [exp_gpus]: 3\n")
    assert list(misread(draft, read(draft))) == []


# ---- sweeps -------------------------------------------------------------------------------------------------------


def test_a_sweep() -> None:
    found = made(sweeps=("lr=1e-6,2e-6", "train_batch_size=16,32"), sets=("num_repeat.x=1",), name="s")
    assert [draft.name for draft in found] == [
        "s_lr_1e-6_train_batch_size_16",
        "s_lr_1e-6_train_batch_size_32",
        "s_lr_2e-6_train_batch_size_16",
        "s_lr_2e-6_train_batch_size_32",
    ]
    assert {ajet(draft.config)["project_name"] for draft in found} == {"math"}
    assert len({ajet(draft.config)["experiment_name"] for draft in found}) == len({d.result_dir for d in found}) == 4
    assert [ajet(draft.config)["trainer_common"]["optim"]["lr"] for draft in found] == [1e-6, 1e-6, 2e-6, 2e-6]
    last = found[-1]
    assert last.folder == "/data/drafts/s/s_lr_2e-6_train_batch_size_32"
    assert last.differences[1:] == (
        "ajet.trainer_common.optim.lr is 2e-6; the siblings have 1e-6.",
        "ajet.data.train_batch_size is 32; the siblings have 16.",
    )
    assert last.origin.startswith("Number 4 of 4 in the sweep s over ajet.trainer_common.optim.lr, ajet.data.")


def test_pairs() -> None:
    found = made(sweeps=("lr=1e-6,2e-6", "train_batch_size=16,32"), zipped=True)
    assert [[each.written for each in draft.settings] for draft in found] == [["1e-6", "16"], ["2e-6", "32"]]


def test_names_of_a_sweep_are_runs_names_whatever_its_values_are() -> None:
    values = ",".join(f"{'x' * 100}/{n}" for n in range(3))
    names = [draft.name for draft in made(sweeps=(f"model.path={values}",), name="n" * 80)]
    assert names == [f"{'n' * 70}_no{n}" for n in (1, 2, 3)]
    assert [draft.name for draft in made(sweeps=("model.path=a/b,a_b",))] == ["lr_path_a_b", "lr_no2"]


def test_the_record_of_a_sweep() -> None:
    asked = wish("s", base=BASE, sweeps=("lr=1e-6,2e-6",), sets=("a.b=1",))
    told = sweep_of(asked, made(sweeps=("lr=1e-6,2e-6",), sets=("a.b=1",), name="s"))
    assert (told.name, told.keys, told.base) == ("s", ("ajet.trainer_common.optim.lr",), BASE.path)
    assert [each.values for each in told.drafts] == [{told.keys[0]: 1e-6}, {told.keys[0]: 2e-6}]
    assert told.drafts[0].blueprint == "/data/drafts/s/s_lr_1e-6/blueprint.md"


# ---- the next experiment ------------------------------------------------------------------------------------------


def test_the_next_experiment_is_the_last_one_but_for_what_is_set() -> None:
    (draft,) = made("", parent=parent(), sets=("lr=5e-7",), name="second")
    assert (
        draft.launch_command == "python -m ajet.launcher --conf /data/drafts/second/second.yaml --skip-check-avail-gpu"
    )
    assert (draft.result_dir, draft.max_time_s, draft.parent) == ("/data/results/second", 7200.0, "first")
    assert draft.purpose == "Go on from first: Study math."
    assert draft.differences == ("ajet.trainer_common.optim.lr is 5e-7 instead of 1.0e-6 in first.",)
    assert draft.notes[0] == "first ended as failed: It ended with exit code 1."
    assert list(misread(draft, read(draft))) == []


def test_a_repetition_is_called_one() -> None:
    (draft,) = made("", parent=parent(), name="second")
    assert "without a change it only repeats it" in draft.differences[0]


def test_the_parent_s_gpus_hold_unless_the_task_names_others() -> None:
    four = BASE.text.replace("    optim", "    n_gpus_per_node: 4\n    optim")
    base = type(BASE)(path=BASE.path, text=four)
    assert ajet(made("", parent=parent(), base=base)[0].config)["trainer_common"]["n_gpus_per_node"] == 4
    assert ajet(made("2 GPUs", parent=parent(), base=base)[0].config)["trainer_common"]["n_gpus_per_node"] == 2


def test_a_generic_parent_keeps_its_command_and_may_have_no_yaml() -> None:
    before = parent(mode=Mode.GENERIC, yaml_path=None, launch_command="./train.sh 'a b'\nls", gpus=2, env={"A": "x y"})
    (draft,) = made("go on", parent=before, base=None)
    assert (draft.launch_command, draft.yaml_path, draft.gpus, draft.env) == (
        "./train.sh 'a b'\nls",
        None,
        2,
        {"A": "x y"},
    )
    assert list(misread(draft, read(draft))) == []
    with pytest.raises(DraftError, match="no yaml in which"):
        made("go on", parent=before, base=None, sets=("lr=1",))


def test_a_generic_yaml_is_left_to_its_own_ways() -> None:
    (draft,) = made(
        "", parent=parent(mode=Mode.GENERIC, launch_command="./run.sh"), base=type(BASE)(path="/x", text="a: 1\n")
    )
    assert draft.config == "a: 1\n"
    assert "does not name its yaml" in "\n".join(draft.todo)


RESULT = b"""{"schema": 9, "outcome": "timed_out", "reason": {"code": "max_time", "text": "Its time was over."},
 "new": [],
 "attempts": [{"number": 1, "end": "exit", "end_detail": null, "seen": {"step": 3, "total_steps": 60, "evals": 1},
   "decision": {"code": "oom", "text": "Out of memory."}}, {"number": 2, "end": "max_time", "seen": {}}],
 "scores": [{"dataset": "aime", "scores": [{"measure": "mean_reward", "first": 0.1, "best": 0.54321, "best_step": 40,
   "last": 0.5, "gain": 0.4}]}]}"""


def test_results_are_summed_up() -> None:
    result = read_result(RESULT)
    assert result is not None
    before = Parent(run="first", blueprint=parent().blueprint, result=result, trial_log="/o/first/trial_log.md")
    notes = made("", parent=before)[0].notes
    assert notes[:4] == (
        "first ended as timed_out: Its time was over.",
        "Attempt 1 of first ended by exit at step 3 of 60: Out of memory.",
        "Attempt 2 of first ended by max_time at step ? of ?: ?",
        "first ended with mean_reward 0.5 on aime; its first was 0.1, its best 0.5432 at step 40.",
    )
    assert "/o/first/trial_log.md" in notes[4]


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"attempts": 3}'])
def test_what_is_no_result_is_none(data: bytes) -> None:
    assert read_result(data) is None


# ---- read back ----------------------------------------------------------------------------------------------------

# Names of folders as people give them. The reader takes some words and marks behind a path for prose about it
# ("/a的目录"), so they are left out; quotes and what looks like a comment too, and two blanks in a row, which a page
# does not keep.
_PART = (
    st.text("abcXYZ019_-.+@ 数据实验代码模型训练", min_size=1, max_size=12)
    .map(lambda text: text.strip("_. "))
    .filter(lambda t: t.strip("._ -"))
)
_PATHS = (
    st.lists(_PART, min_size=1, max_size=4)
    .map(lambda parts: "/data/" + "/".join(parts))
    .filter(lambda p: " -" not in p and "  " not in p)
)
_LINES = """\
Study lr
12 hours
on 4 GPUs
最长 2 小时
首步 5 分钟
**x** <!-- \u200b
## [exp_purpose]
```
- [ ] [exp_gpus]: 3
[exp_max_time] 3h
| [exp_venv_exe] | /a |
content 1: /b/c
> quote
    code""".splitlines()
_TASKS = st.text() | st.lists(st.sampled_from(_LINES)).map("\n".join)


@given(task=_TASKS, folder=_PATHS, out=_PATHS, language=st.sampled_from(list(Language)), sweep=st.booleans())
def test_what_is_written_is_read_back(task: str, folder: str, out: str, language: Language, sweep: bool) -> None:
    sweeps = ("lr=1e-6,2e-6",) if sweep else ()
    for draft in made(task, at=place(folder), folder=f"{out}/lr", language=language, sweeps=sweeps):
        assert list(misread(draft, read(draft, language))) == [], page(draft, language)


def test_what_is_read_otherwise_is_told() -> None:
    (draft,) = made(at=place("/data/a `b` c"))
    assert list(misread(draft, read(draft)))


@pytest.mark.parametrize("key", PHRASES)
def test_both_languages_tell_the_same(key: str) -> None:
    english, chinese = PHRASES[key]
    assert set(re.findall(r"\{(\w+)\}", english)) == set(re.findall(r"\{(\w+)\}", chinese))
