"""The files that configure an experiment, as files: broken ones, unknown keys, and settings in two places."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ajet_inbox.core.blueprint import Level, Mode
from ajet_inbox.core.checking.facts import PathFacts
from ajet_inbox.core.training.ajet_job import Given, Job, read_job
from ajet_inbox.core.training.ajet_keys import ARGUMENTS, DEFAULTS, KEYS, OPEN
from ajet_inbox.core.training.yaml_file import Fault, YamlFile, read_yaml
from tests.core.check_case import ABSENT, BLUEPRINT, FILE, SWARM, YAML, case, codes, one, problems

# ---- yaml as a table of values --------------------------------------------------------------------------------------


def values(text: str) -> dict[str, object]:
    found = read_yaml(text)
    assert isinstance(found, YamlFile)
    return {key: leaf.value for key, leaf in found.leaves.items()}


VALUES: list[tuple[str, dict[str, object]]] = [
    ("", {}),
    ("# only a remark", {}),
    ("a: 1", {"a": 1}),
    ("a: {b: 'x', c: [1, two, 3.5], d: {}}", {"a.b": "x", "a.c": (1, "two", 3.5), "a.d": None}),
    ("a: yes\nb: null\nc: ~\nd: 1e-6\ne: 1.0e-6", {"a": True, "b": None, "c": None, "d": "1e-6", "e": 1.0e-6}),
    ("a: 1\na: 2", {"a": 2}),
    ("x: &x {a: 1, b: 2}\ny:\n  <<: *x\n  b: 3", {"x.a": 1, "x.b": 2, "y.b": 3, "y.a": 1}),
    ("a: !!python/object/apply:os.system ['x']", {"a": ("x",)}),
    ("a: !env X", {"a": "X"}),
    ("a: " + "9" * 5000, {"a": "9" * 5000}),
    ("? [a, b]\n: 1\nc: 2", {"c": 2}),
]


@pytest.mark.parametrize(("text", "expected"), VALUES)
def test_values(text: str, expected: dict[str, object]) -> None:
    assert values(text) == expected


FAULTS = [
    ("a:\n  - b\n c: d", 3, 2, "did not find expected key"),
    ("a: b\n\tc: d", 2, 1, "tab"),
    ("a: [1, 2\nb: 3", 2, 2, "','"),
    ("a: 'x\nb: 3\n", 3, 1, "end of stream"),
    ("a: b: c", 1, 5, "mapping values are not allowed"),
    ("a: *nobody", 1, 4, "undefined alias"),
    ("a: 1\n---\nb: 2", 2, 1, "another document"),
    ("a: 1\nb: \x01", 2, 1, "control characters"),
    ("- a", 1, 1, "no mapping"),
    ("just text", 1, 1, "no mapping"),
]


@pytest.mark.parametrize(("text", "line", "column", "said"), FAULTS)
def test_faults(text: str, line: int, column: int, said: str) -> None:
    found = read_yaml(text)
    assert isinstance(found, Fault)
    assert (found.line, found.column) == (line, column)
    assert said in found.message


BOMBS = {
    "merges": "a0: &a0 {x: 1}\n" + "\n".join(f"a{i}: &a{i} {{<<: [*a{i - 1}, *a{i - 1}]}}" for i in range(1, 60)),
    "aliases": "a0: &a0 {x: 1}\n" + "\n".join(f"a{i}: &a{i} {{u: *a{i - 1}, v: *a{i - 1}}}" for i in range(1, 60)),
    "wide merges": "a: &a {" + ", ".join(f"k{i}: 1" for i in range(5000)) + "}\nb: {<<: [" + "*a, " * 20000 + "]}",
    "circle": "a: &a {b: *a}",
    "deep": "{a: " * 50_000,
    "brackets": "[" * 200_000,
}


@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.timeout(20)
def test_bombs_cost_nothing(name: str) -> None:
    found = read_yaml(BOMBS[name])
    assert isinstance(found, Fault) or len(found.leaves) <= 20_000


YAML_PARTS = st.sampled_from(
    [
        "a",
        "ajet",
        ": ",
        "\n",
        "  ",
        "- ",
        "[",
        "]",
        "{",
        "}",
        "&x ",
        "*x",
        "<<: *x",
        "'",
        '"',
        "|\n",
        "# ",
        "!!int ",
        "\t",
    ]
)


@given(st.lists(YAML_PARTS, max_size=40).map("".join) | st.text(max_size=60))
def test_any_yaml_is_read_without_a_crash(text: str) -> None:
    found = read_yaml(text)
    lines = text.count("\n") + 2
    places = [found.line] if isinstance(found, Fault) else [leaf.line for leaf in found.leaves.values()]
    assert all(1 <= line <= lines for line in places)
    problems(case(yaml=text))


# ---- the yaml of a blueprint ----------------------------------------------------------------------------------------


def test_a_broken_yaml_is_told_with_line_and_column() -> None:
    found = one(case(yaml="ajet:\n  - a\n b: c\n"), "yaml_unparsable")
    assert (found.level, found.section, found.line) == (Level.ERROR, "exp_yaml_path", 3)
    assert "a.yaml cannot be read, line 3 column 2" in found.message
    generic = case(replace(BLUEPRINT, mode=Mode.GENERIC, launch_command="./x"), yaml="a: [")
    assert one(generic, "yaml_unparsable").level is Level.WARNING


def test_a_yaml_of_something_else() -> None:
    assert one(case(yaml="trainer: {x: 1}\n"), "yaml_no_ajet").level is Level.ERROR
    assert codes(case(SWARM, yaml="trainer: {x: 1}\n")) == []
    own = replace(BLUEPRINT, launch_command="torchrun train.py a.yaml")  # a trainer that only calls itself classic
    assert codes(case(own, yaml="trainer: {x: 1}\n")) == []


def test_a_message_stays_short_whatever_it_quotes() -> None:
    long = YAML.replace("/srv/out/val.md", "saved/" + "v" * 100_000)
    message = one(case(yaml=long), "yaml_file_elsewhere").message
    assert len(message) == 600


def test_a_key_given_twice() -> None:
    assert (
        "ajet.project_name is given a second time in line 16"
        in one(case(yaml=YAML + "  # again\n  project_name: q\n"), "yaml_key_twice").message
    )


UNKNOWN = [
    (
        "  trainer_commom: {test_freq: 1}\n",
        Level.WARNING,
        "ajet.trainer_commom (line 15 of the yaml)",
        "trainer_common",
    ),
    ("    test_frequency: 1\n", Level.WARNING, "trainer_common.test_frequency", "ajet.trainer_common.test_freq?"),
    ("  num_repeat: 4\n", Level.WARNING, "ajet.num_repeat", "did you mean ajet.rollout.num_repeat?"),
    ("trainer_common: {test_freq: 1}\n", Level.WARNING, "no key trainer_common ", "ajet.trainer_common?"),
    ("  my_own: {a: 1, b: 2}\n", Level.INFO, "ajet.my_own (line 15", "."),
]


@pytest.mark.parametrize(("more", "level", "said", "near"), UNKNOWN)
def test_keys_that_agentjet_does_not_have(more: str, level: Level, said: str, near: str) -> None:
    found = one(case(yaml=YAML + more), "yaml_key_unknown")
    assert found.level is level
    assert said in found.message
    assert near in found.message


def test_what_is_handed_on_or_belongs_to_others_is_not_judged() -> None:
    more = "actor_rollout_ref: {actor: {x: 1}}\nhydra: {a: 1}\ndata: {seed: 1}\n"
    own = YAML.replace("  trainer_common:\n", "  trainer_common:\n    fsdp_config: {whatever: True}\n")
    assert codes(case(yaml=own + more)) == []


def test_the_known_keys_agree_with_each_other() -> None:
    assert set(ARGUMENTS.values()) <= KEYS
    assert DEFAULTS.keys() <= KEYS
    assert not any(key.startswith(f"{group}.") for key in KEYS for group in OPEN)


def test_where_the_yaml_lies() -> None:
    outside = replace(BLUEPRINT, yaml_path="/srv/other/a.yaml", launch_command="./x")
    there = {"/srv/other/a.yaml": FILE}
    assert "yaml_outside_codebase" in codes(case(outside, paths=there))
    assert "yaml_outside_codebase" not in codes(case(outside, paths=there, folder_drop=True))
    linked = {"/srv/other/a.yaml": replace(FILE, real="/srv/aj/a.yaml")}
    assert "yaml_outside_codebase" not in codes(case(outside, paths=linked))


def test_conf_that_leads_nowhere() -> None:
    lost = replace(BLUEPRINT, launch_command="python -m ajet.launcher --conf b.yaml --with-ray")
    gone = {"/srv/aj/b.yaml": ABSENT}
    found = one(case(lost, paths=gone), "conf_absent")
    assert (found.level, found.section) == (Level.ERROR, "exp_launch_command")
    made = replace(lost, launch_command=f"cp a.yaml b.yaml && {lost.launch_command}")
    assert one(case(made, paths=gone), "conf_absent").level is Level.WARNING
    assert "conf_absent" not in codes(case(lost, paths={"/srv/aj/b.yaml": FILE}))
    away = {"/srv/aj": ABSENT, "/srv/aj/b.yaml": ABSENT}  # one problem is enough where nothing is there
    assert "conf_absent" not in codes(case(lost, paths=away))


def test_a_yaml_that_does_not_end_like_one() -> None:
    odd = replace(BLUEPRINT, yaml_path="/srv/aj/a.yml", launch_command="ajet --conf a.yml --with-ray")
    assert "yaml_ending" in codes(case(odd, paths={"/srv/aj/a.yml": FILE}))


# ---- scripts --------------------------------------------------------------------------------------------------------

SCRIPT = """\
import os
from ajet.copilot.job import AgentJetJob
BATCH = 64
MODEL = os.getenv("M")
job = AgentJetJob(
    base_yaml_config="a.yaml",
    batch_size=BATCH,
    model=MODEL,
    n_gpu=None,
    lr=-1.5,
    compute_madness_checklist=["nonsense"],
)
job.config.ajet.rollout.temperature = 0.7
trainer = job.config.ajet.trainer_common
trainer.test_freq = 5
trainer.save_freq += 1
"""


def test_a_job_is_read_from_its_script() -> None:
    job = read_job(SCRIPT)
    assert job == Job(
        line=5,
        arguments={
            "base_yaml_config": Given(value="a.yaml", line=6),
            "batch_size": Given(value=64, line=7),
            "model": Given(line=8, known=False),
            "n_gpu": Given(value=None, line=9),
            "lr": Given(value=-1.5, line=10),
            "compute_madness_checklist": Given(value=("nonsense",), line=11),
        },
        writes={
            "ajet.rollout.temperature": Given(value=0.7, line=13),
            "ajet.trainer_common.test_freq": Given(value=5, line=15),
            "ajet.trainer_common.save_freq": Given(line=16, known=False),
        },
    )


JOBS: list[tuple[str, dict[str, Given] | None]] = [
    ("x = 1", None),
    ("j = AgentJetJob('b.yaml')", {"base_yaml_config": Given(value="b.yaml", line=1)}),
    ("import a\nj = a.AgentJetJob(n_gpu=4, **more)", {"n_gpu": Given(value=4, line=2)}),
    ("N = 1\nN = 2\nj = AgentJetJob(n_gpu=N)", {"n_gpu": Given(line=3, known=False)}),
    ("N = 1\ndef f():\n    global N\n    N += 1\nj = AgentJetJob(n_gpu=N)", {"n_gpu": Given(line=5, known=False)}),
    ("def f(n):\n    return AgentJetJob(n_gpu=n)", {"n_gpu": Given(line=2, known=False)}),
]


@pytest.mark.parametrize(("text", "arguments"), JOBS)
def test_arguments(text: str, arguments: dict[str, Given] | None) -> None:
    job = read_job(text)
    assert job is None if arguments is None else isinstance(job, Job) and job.arguments == arguments


HOPELESS = ["def f(:\n", "x = (\n", "\0", "(" * 10_000, "-" * 100_000 + "1", "a" + ".b" * 100_000, "1+" * 100_000 + "1"]


@pytest.mark.parametrize("text", HOPELESS)
def test_what_is_no_script(text: str) -> None:
    assert isinstance(read_job(text), Fault)


SCRIPT_PARTS = st.sampled_from(
    [
        "AgentJetJob",
        "(",
        ")",
        "=",
        ",",
        "\n",
        "    ",
        "job",
        ".config.ajet",
        ".a",
        "'x'",
        "1",
        "None",
        "[",
        "]",
        "*",
        "def f():",
    ]
)


@given(st.lists(SCRIPT_PARTS, max_size=40).map("".join) | st.text(max_size=60))
def test_any_script_is_read_without_a_crash(text: str) -> None:
    read_job(text)
    problems(case(SWARM, script="AgentJetJob" + text))


def test_the_script_tells_the_mode() -> None:
    generic = replace(SWARM, mode=Mode.GENERIC)
    assert case(generic, script="from ajet import AgentJetJob").blueprint.mode is Mode.SWARM
    assert case(generic, script="import torch").blueprint.mode is Mode.GENERIC
    said = replace(generic, lines=generic.lines | {"exp_mode": 9})
    assert case(said, script="from ajet import AgentJetJob").blueprint.mode is Mode.GENERIC


def test_a_broken_script_is_told_with_its_line() -> None:
    found = one(case(SWARM, script="import AgentJetJob\nx = (\n"), "script_unparsable")
    assert (found.level, found.section, found.line) == (Level.WARNING, "exp_launch_command", 4)
    assert "roll.py cannot be read, line 2" in found.message


def test_a_script_that_is_not_there() -> None:
    assert one(case(SWARM, paths={"/srv/aj/roll.py": ABSENT}), "script_absent").section == "exp_launch_command"


# ---- two places -----------------------------------------------------------------------------------------------------

QUIET = YAML.replace("val_before_train: True", "val_before_train: False")


def test_settings_in_two_places_are_listed_with_both_values() -> None:
    judged = case(SWARM, yaml=QUIET, script=SCRIPT)
    twice = [p.message for p in problems(judged) if p.code == "config_key_twice"]
    model = "ajet.model.path is '/models/org/q/w' in a.yaml line 4, and model=something computed in line 8"
    assert twice == [
        "ajet.data.train_batch_size is 32 in a.yaml line 5, and batch_size=64 in line 7 of the script, which wins.",
        f"{model} of the script, which wins.",
    ]
    assert [p.message for p in problems(judged) if p.code == "config_written_later"] == [
        "ajet.trainer_common.test_freq, 10 before, is written to 5 in line 15 of the script, which wins."
    ]
    assert one(judged, "config_split").level is Level.INFO


def test_one_place_is_praised_by_silence() -> None:
    alone = "j = AgentJetJob(batch_size=64, n_gpu=8, project_name='p', experiment_name='e')"
    told = codes(case(SWARM, yaml=QUIET, script=alone))
    assert not [code for code in told if code.startswith("config_")]
    yaml_only = "j = AgentJetJob(base_yaml_config='a.yaml', batch_size=None)"
    assert not [code for code in codes(case(SWARM, yaml=QUIET, script=yaml_only)) if code.startswith("config_")]


def test_the_script_wins_over_the_yaml() -> None:
    script = "j = AgentJetJob(base_yaml_config='a.yaml', num_repeat=7)"
    found = one(case(SWARM, yaml=QUIET, script=script), "yaml_env_workers_uneven")
    assert "num_repeat 7: the engine makes it 70" in found.message


def test_without_a_base_yaml_the_script_alone_configures() -> None:
    yaml = QUIET.replace("max_env_worker: 64", "max_env_worker: 63")
    assert "yaml_env_workers_uneven" in codes(case(SWARM, yaml=yaml))
    assert "yaml_env_workers_uneven" not in codes(case(SWARM, yaml=yaml, script="j = AgentJetJob(n_gpu=8)"))


def test_an_argument_that_agentjet_does_not_have() -> None:
    found = one(case(SWARM, yaml=QUIET, script="j = AgentJetJob(batchsize=64)"), "job_argument_unknown")
    assert "no argument batchsize; did you mean batch_size?" in found.message


def test_the_base_yaml_of_a_script_is_the_one_that_counts() -> None:
    script = "j = AgentJetJob(base_yaml_config='b.yaml')"
    judged = case(SWARM, script=script)
    assert judged.sources.yaml_path == "/srv/aj/b.yaml"


def test_a_path_that_nobody_could_look_at_is_no_missing_one() -> None:
    silent = PathFacts(answered=False, why="no answer in 5 s")
    assert "script_absent" not in codes(case(SWARM, yaml=QUIET, paths={"/srv/aj/roll.py": silent}))
