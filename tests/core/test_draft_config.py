"""A yaml that is changed key by key, and what an unattended experiment needs in it."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ajet_inbox.core.blueprint import Mode
from ajet_inbox.core.drafting import hygiene
from ajet_inbox.core.drafting.config import Change, Config
from ajet_inbox.core.drafting.errors import DraftError
from ajet_inbox.core.drafting.settings import combinations, read_axis, read_setting

BASE = """\
# the base of all
ajet:
    project_name: math   # shared
    experiment_name: base
    execute_test: True
    model: {path: /models/qwen}
    data:
        train_batch_size: 32
    trainer_common:
        # how often
        test_freq: 20
        n_gpus_per_node: 4
        optim:
            lr: 1.0e-6
        hosts:
          - a   # the first
          - b
"""


def config(text: str = BASE) -> Config:
    return Config(text, "base.yaml")


def run(**more: Any) -> hygiene.Run:
    usual = {"name": "lr_a", "project": "lr", "result_dir": "/out/lr_a", "mode": Mode.CLASSIC, "gpus": 8}
    return hygiene.Run(**{**usual, **more})


def tidied(text: str, kept: set[str] | None = None, **more: Any) -> Any:
    found = config(text)
    hygiene.tidy(found, run(**more), kept or set())
    return yaml.safe_load(found.text())["ajet"]


# ---- changing -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [BASE, BASE.replace("True", "true"), "---\n" + BASE, "ajet:\n- a\n- b\n"])
def test_what_is_not_changed_stays_to_the_letter(text: str) -> None:
    assert config(text).text() == text


def test_a_change_leaves_the_rest_alone() -> None:
    found = config()
    found.put("ajet.data.train_batch_size", 64)
    found.put("ajet.execute_test", False)
    assert found.text() == BASE.replace("32", "64").replace("execute_test: True", "execute_test: False")
    assert found.changes == (
        Change(key="ajet.data.train_batch_size", before="32", after="64"),
        Change(key="ajet.execute_test", before="true", after="false"),
    )


def test_what_is_there_already_is_no_change() -> None:
    found = config()
    found.put("ajet.data.train_batch_size", 32)
    found.put("ajet.project_name", "math")
    assert (found.text(), found.changes) == (BASE, ())
    found.put("ajet.data.train_batch_size", 64)
    found.put("ajet.data.train_batch_size", 32)
    assert found.changes == ()


def test_groups_are_made_where_they_are_missing() -> None:
    found = config("")
    found.put("ajet.rollout.num_repeat", 4)
    assert yaml.safe_load(found.text()) == {"ajet": {"rollout": {"num_repeat": 4}}}


@pytest.mark.parametrize("name", ["8_1", "on", "1e5", "null", "2026-01-01", "中文"])
def test_a_name_stays_a_text_for_every_reader(name: str) -> None:
    found = config("")
    found.put("ajet.experiment_name", name)
    assert yaml.safe_load(found.text()) == {"ajet": {"experiment_name": name}}


@pytest.mark.parametrize(
    ("key", "whole"),
    [
        ("lr", "ajet.trainer_common.optim.lr"),
        ("optim.lr", "ajet.trainer_common.optim.lr"),
        ("ajet.data.train_batch_size", "ajet.data.train_batch_size"),
        ("rollout.num_repeat", "ajet.rollout.num_repeat"),
        ("ajet.rollout.num_repeat", "ajet.rollout.num_repeat"),
    ],
)
def test_a_key_may_be_named_by_its_end(key: str, whole: str) -> None:
    assert config().whole_key(key) == whole


REFUSED = [
    (lambda: config().whole_key("num_repeat"), "no key num_repeat"),
    (lambda: config("ajet: {a: {x: 1}, b: {x: 2}}").whole_key("x"), "x could be ajet.a.x or ajet.b.x"),
    (lambda: config().put("ajet.project_name.x", 1), "ajet.project_name in base.yaml holds a value"),
    (lambda: config("a: ["), "base.yaml:1 is no YAML"),
    (lambda: config("a: 1\na: 2"), "base.yaml:2 is no YAML"),
    (lambda: config("- a"), "base.yaml holds no keys"),
    (lambda: config("just text"), "base.yaml holds no keys"),
    (lambda: config("[" * 5000), "no YAML"),
    (lambda: config("#" * 300_000), "longer than"),
]


@pytest.mark.parametrize(("act", "message"), REFUSED)
def test_what_cannot_be_done_is_said(act: Any, message: str) -> None:
    with pytest.raises(DraftError, match=message):
        act()


def test_an_anchor_that_holds_itself_does_no_harm() -> None:
    assert config("ajet: &a {x: *a, y: 1}").whole_key("y") == "ajet.y"


@given(st.text())
def test_no_base_is_too_strange(text: str) -> None:
    with contextlib.suppress(DraftError, yaml.YAMLError):  # the second: what only YAML 1.2 takes
        found = config(text)
        hygiene.tidy(found, run())
        assert yaml.safe_load(found.text())["ajet"]["execute_test"] is False


# ---- what every experiment needs ----------------------------------------------------------------------------------


def test_hygiene() -> None:
    ajet = tidied(BASE)
    assert (ajet["project_name"], ajet["experiment_name"], ajet["execute_test"]) == ("math", "lr_a", False)
    assert ajet["model"] == {"path": "/models/qwen"}
    trainer = ajet["trainer_common"]
    assert trainer["val_print_to_markdown_file_path"] == "/out/lr_a/val_result.md"
    assert trainer["train_print_to_markdown_file_path"] == "/out/lr_a/train_result.md"
    assert (trainer["val_before_train"], trainer["test_freq"], trainer["n_gpus_per_node"]) == (True, 20, 8)


def test_what_the_caller_sets_is_kept() -> None:
    assert tidied(BASE, kept={"ajet.execute_test"})["execute_test"] is True


def test_a_base_without_a_project_gets_the_shared_one() -> None:
    assert tidied("")["project_name"] == "lr"


def test_a_swarm_is_not_validated_before_it_trains() -> None:
    assert tidied(BASE, mode=Mode.SWARM)["trainer_common"]["val_before_train"] is False


@pytest.mark.parametrize(("gpus", "text", "count"), [(None, BASE, 4), (None, "", 8), (0, BASE, 0), (2, "", 2)])
def test_gpus(gpus: int | None, text: str, count: int) -> None:
    assert tidied(text, gpus=gpus)["trainer_common"]["n_gpus_per_node"] == count


FREQUENCIES = [
    ("{}", 20),
    ("{test_freq: 5}", 5),
    ("{test_freq: 0}", 20),
    ("{test_freq: -1}", 20),
    ("{test_freq: often}", 20),
    ("{test_freq: 1000}", 20),
    ("{test_freq: 100, total_training_steps: 300}", 100),
    ("{test_freq: 100, total_training_steps: 60}", 20),
    ("{test_freq: 20, total_training_steps: 10}", 5),
    ("{total_training_steps: 1}", 1),
]


@pytest.mark.parametrize(("trainer", "freq"), FREQUENCIES)
def test_a_run_is_validated_more_than_once(trainer: str, freq: int) -> None:
    assert tidied(f"ajet: {{trainer_common: {trainer}}}")["trainer_common"]["test_freq"] == freq


# ---- settings and sweeps ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "written", ["1e-6", "5E-7", "1.e3", "2e4", "-1e-3", "0.5", "3", "true", "[1, 2]", "/a b/c", '"x, y"']
)
def test_every_reader_sees_the_same_value(written: str) -> None:
    """YAML 1.1, which AgentJet may be read with, takes 1e-6 for a text."""
    setting = read_setting(f"a.b={written}")
    found = config("")
    found.put("a.b", setting.value)
    assert yaml.safe_load(found.text())["a"]["b"] == setting.plain_value


@pytest.mark.parametrize("text", ["", "a", "=1", "a=", "a b=1", "a..b=1", "a=[", "a=*x", "a=}"])
def test_no_setting(text: str) -> None:
    with pytest.raises(DraftError):
        read_setting(text)


AXES = [
    ("lr=1e-6,2e-6", ["1e-6", "2e-6"]),
    ("x=[1,2],[3]", ["[1,2]", "[3]"]),
    ('m="a,b",c', ['"a,b"', "c"]),
    ("m=a", ["a"]),
    ("m=a, b,a", ["a", "b"]),
    ("m=/mnt/a b,c", ["/mnt/a b", "c"]),
]


@pytest.mark.parametrize(("text", "values"), AXES)
def test_axes(text: str, values: list[str]) -> None:
    assert [each.written for each in read_axis(text).settings] == values


@pytest.mark.parametrize("text", ["m", "m=", "m=,", "=a", 'm=a"b', "m=a,,b", "m=[1,2"])
def test_no_axis(text: str) -> None:
    with pytest.raises(DraftError):
        read_axis(text)


def test_grid_and_pairs() -> None:
    axes = [read_axis("a=1,2"), read_axis("b=3,4")]

    def values(*, zipped: bool) -> list[str]:
        return ["".join(each.written for each in own) for own in combinations(axes, zipped=zipped)]

    assert values(zipped=False) == ["13", "14", "23", "24"]
    assert values(zipped=True) == ["13", "24"]
    assert combinations([], zipped=False) == ((),)


@pytest.mark.parametrize(
    ("axes", "zipped", "message"),
    [
        (["a=1,2", "b=1,2,3"], True, "2 and 3 values make no pairs"),
        (["a=1", "a=2"], False, "a is swept twice"),
        ([f"{key}={','.join(map(str, range(17)))}" for key in "ab"], False, "289 drafts"),
    ],
)
def test_no_sweep(axes: list[str], zipped: bool, message: str) -> None:
    with pytest.raises(DraftError, match=message):
        combinations(list(map(read_axis, axes)), zipped=zipped)
