"""Validation and training files of every form, as programs really left them."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ajet_inbox.core.training.console_events import EvalSeen
from ajet_inbox.core.training.evals import timeline
from ajet_inbox.core.training.literals import read_dict, read_number
from ajet_inbox.core.training.metrics import Format, read_metrics, read_train_steps
from ajet_inbox.core.training.progress import Console

DATA = Path(__file__).parent.parent / "data" / "metrics"


@pytest.mark.parametrize("path", sorted(DATA.glob("*.md")), ids=lambda p: p.stem)
def test_real_files(path: Path) -> None:
    want = json.loads(path.with_suffix(".json").read_text())
    got = json.loads(json.dumps(read_metrics(path.read_text()).as_dict(), allow_nan=False))
    assert got["format"] == want["format"]
    assert len(got["evals"]) == len(want["evals"])
    for found, wanted in zip(got["evals"], want["evals"], strict=True):
        assert {key: found[key] for key in wanted} == pytest.approx(wanted)


def row(step: int, reward: float = 0.5, dataset: str = "main_val_dataset") -> str:
    return f"{{'global_steps': {step}, 'pass_n': 4, 'mean_reward': {reward}, 'target_dataset_name': '{dataset}'}}\n"


def block(step: int, reward: float = 0.5, label: str = "") -> str:
    measured = f"- task_pass_rate@1: 50.00%\n- mean_reward: {reward:.4f}\n"
    return f"\n## Step {step}{label}\n- pass_n: 1\n{measured}- n_rollouts: 9\n"


BOX = """\
(TaskRunner pid=7) ╭──────── main_val_dataset ────────╮
(TaskRunner pid=7) │ ┌──────────────────────┬───────┐ │
(TaskRunner pid=7) │ │ pass_n               │ 4     │ │
(TaskRunner pid=7) │ ├──────────────────────┼───────┤ │
(TaskRunner pid=7) │ │ TGC@1                │ 0.25  │ │
(TaskRunner pid=7) │ │ TGC@4                │ 0.5   │ │
(TaskRunner pid=7) │ │ TGC@4-all-pass       │ 0.125 │ │
(TaskRunner pid=7) │ │ mean_reward          │ 0.3   │ │
(TaskRunner pid=7) │ └──────────────────────┴───────┘ │
(TaskRunner pid=7) ╰──────────────────────────────────╯
"""
SUMMARY = (
    "[EVAL @ step {}] client/aime  mean_reward=0.4000  std_reward=0.1000  "
    "task_pass_rate@1=40.00%  task_pass_rate@4=70.00%  n_tasks=30  n_rollouts=120\n"
)

VALIDATED = (
    "\x1b[36m(TaskRunner pid=7)\x1b[0m step:{0} - global_steps:{0} - pass_n:4 - task_pass_rate@1:0.5"
    " - mean_reward:np.float64({1}) - training/global_step:{0}\n"
)
TRAINED = "(TaskRunner pid=7) step:{} - actor/kl_loss:0.1 - critic/score/mean:0.5\n"
BAR = "\rTraining Progress:  33%|###       | 20/60 [00:04<00:08,  5.00it/s]"

Curve = list[tuple[int | None, float | None]]
FILES: dict[str, tuple[str, Format, Curve]] = {
    "empty": ("", Format.NONE, []),
    "prose": ("# Results\nTBD: step: 3, mean_reward: soon {'a': 1}\n", Format.NONE, []),
    "a rerun without step 0": (row(10, 0.1) + row(20, 0.2) + row(10, 0.3), Format.CLASSIC, [(10, 0.3)]),
    "resumed from a checkpoint": (
        row(0, 0.0) + row(10, 0.1) + row(20, 0.2) + row(10, 0.3) + row(20, 0.4),
        Format.CLASSIC,
        [(0, 0.0), (10, 0.3), (20, 0.4)],
    ),
    "a step measured twice": (row(0, 0.1) + row(10, 0.2) + row(10, 0.3), Format.CLASSIC, [(0, 0.1), (10, 0.3)]),
    "torn last line": (row(0, 0.1) + row(10)[:40], Format.CLASSIC, [(0, 0.1)]),
    "no last newline": (row(0, 0.1) + row(10, 0.2).rstrip(), Format.CLASSIC, [(0, 0.1), (10, 0.2)]),
    "a rerun after a torn line": (row(0, 0.1) + row(10)[:40] + row(0, 0.2), Format.CLASSIC, [(0, 0.2)]),
    "torn within a name": (row(0, 0.1) + "{'global_steps': 10, 'pa" + row(0, 0.2), Format.CLASSIC, [(0, 0.2)]),
    "wrapped numbers": (
        "{'global_steps': np.int64(5), 'mean_reward': np.float64(0.45), 'x': array([9.]), 'y': [7], 'z': {'q': 6}}\n",
        Format.CLASSIC,
        [(5, 0.45)],
    ),
    "quotes and braces in text": (
        "{'note': \"it's }, {'mean_reward': 9\", 'global_steps': 1, 'mean_reward': 0.5, 'b': 'a\\'}'}\n",
        Format.CLASSIC,
        [(1, 0.5)],
    ),
    "carriage returns": (row(1, 0.1).replace("\n", "\r\n"), Format.CLASSIC, [(1, 0.1)]),
    "swarm, torn in a value": (block(0, 0.1) + block(10, 0.2).split("0.2000")[0] + "0.2", Format.SWARM, [(0, 0.1)]),
    "swarm, torn heading": (block(0, 0.1) + "\n## Step 1", Format.SWARM, [(0, 0.1)]),
    "swarm, torn then run again": (block(0, 0.1) + "\n## Step 10\n- pass" + block(0, 0.2), Format.SWARM, [(0, 0.2)]),
    "swarm, a rate is missing at the end": (
        block(0, 0.1) + "\n## Step 10\n- pass_n: 1\n- task_pass_rate@1: 50.00%\n",
        Format.SWARM,
        [(0, 0.1)],
    ),
    "client summary lines": (SUMMARY.format(0) + SUMMARY.format(10), Format.SWARM, [(0, 0.4), (10, 0.4)]),
    "boxes": (
        BOX + "(T pid=7) step:0 - a:1\n" + BOX + "step:10 - a:1\n" + BOX,
        Format.BOX,
        [(0, 0.3), (10, 0.3), (None, 0.3)],
    ),
    "lines of steps": (
        VALIDATED.format(0, 0.1) + TRAINED.format(1) + VALIDATED.format(20, 0.2) + VALIDATED.format(40, 0.3)[:-2],
        Format.CONSOLE,
        [(0, 0.1), (20, 0.2)],
    ),
    "lines of steps behind bars": (
        BAR + VALIDATED.format(20, 0.2) + BAR + TRAINED.format(21),
        Format.CONSOLE,
        [(20, 0.2)],
    ),
    "a training without an evaluation": (TRAINED.format(1) + TRAINED.format(2), Format.NONE, []),
    "a torn box": (BOX + "step:0 - a:1\n" + BOX[: len(BOX) // 2], Format.BOX, [(0, 0.3)]),
}


@pytest.mark.parametrize(("text", "form", "curve"), FILES.values(), ids=FILES)
def test_forms_and_faults(text: str, form: Format, curve: Curve) -> None:
    metrics = read_metrics(text)
    assert metrics.format is form
    assert [(e.global_steps, e.mean_reward) for e in metrics.evals] == curve


SAID = (
    BOX,
    VALIDATED.format(0, 0.1),
    VALIDATED.format(20, 0.2),
    TRAINED.format(21),
    SUMMARY.format(30),
    BAR,
    BOX[:200],
)


@given(st.lists(st.sampled_from(SAID)).map("".join), st.integers(1, 3000))
def test_afterwards_is_read_what_was_seen_meanwhile(text: str, piece: int) -> None:
    console, data = Console(), text.encode()
    events = [event for at in range(0, len(data), piece) for event in console.feed(data[at : at + piece])]
    seen = (event.eval for event in events if isinstance(event, EvalSeen))
    assert read_metrics(text).evals == timeline((*seen, *console.unplaced))


def test_old_names_are_given_the_new_ones() -> None:
    (found,) = read_metrics(BOX + "step:20 - a:1\n").evals
    assert found.as_dict() == {
        "dataset": "main_val_dataset",
        "global_steps": 20,
        "pass_n": 4,
        "task_pass_rate@1": 0.25,
        "task_pass_rate@4": 0.5,
        "task_pass_rate@4-all-pass": 0.125,
        "mean_reward": 0.3,
    }


def test_a_summary_line_is_read_whole() -> None:
    (found,) = read_metrics(SUMMARY.format(30)).evals
    assert found.dataset == "client/aime"
    assert found.values == {
        "mean_reward": 0.4,
        "std_reward": 0.1,
        "task_pass_rate@1": 0.4,
        "task_pass_rate@4": 0.7,
        "total_tasks": 30,
        "n_rollouts": 120,
    }


def test_datasets_are_kept_apart_and_a_rerun_ends_all_of_them() -> None:
    first = row(0, 0.1, "a") + row(0, 0.2, "b") + row(10, 0.3, "a") + row(10, 0.4, "b")
    assert [(e.dataset, e.global_steps) for e in read_metrics(first).evals] == [
        ("a", 0),
        ("b", 0),
        ("a", 10),
        ("b", 10),
    ]
    rerun = read_metrics(first + row(0, 0.5, "a")).evals
    assert [(e.dataset, e.global_steps) for e in rerun] == [("a", 0)]
    twice = read_metrics(row(0, 0.1, "a") + row(0, 0.2, "b") + row(0, 0.3, "a")).evals
    assert [(e.dataset, e.mean_reward) for e in twice] == [("b", 0.2), ("a", 0.3)]
    labels = read_metrics(block(0, label=" (aime)") + block(0, label=" (math)")).evals
    assert [e.dataset for e in labels] == ["aime", "math"]


def test_what_is_not_finite_becomes_null_in_json() -> None:
    (found,) = read_metrics("{'global_steps': 3, 'mean_reward': nan, 'std_reward': -inf}").evals
    assert math.isnan(found.values["mean_reward"])
    assert json.loads(json.dumps(found.as_dict(), allow_nan=False))["mean_reward"] is None


def test_train_steps_of_the_last_run() -> None:
    lines = [
        f"{{'actor/kl_loss': np.float64({n}.5), 'training/global_step': {s}}}\n" for n, s in enumerate((1, 2, 3, 2, 3))
    ]
    torn = lines[0][:-3]
    assert read_train_steps("".join(lines) + torn) == (
        (1, {"actor/kl_loss": 0.5, "training/global_step": 1}),
        (2, {"actor/kl_loss": 3.5, "training/global_step": 2}),
        (3, {"actor/kl_loss": 4.5, "training/global_step": 3}),
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("-0.5", -0.5),
        ("1e-06", 1e-6),
        ("np.float64(0.0021)", 0.0021),
        ("tensor(3.)", 3.0),
        ("94.74%", 0.9474),
        ("100.00 %", 1.0),
        ("inf", math.inf),
        ("", None),
        ("0.5x", None),
        ("nano", None),
        ("1 2", None),
        ("__import__('os')", None),
    ],
)
def test_numbers(text: str, value: float | None) -> None:
    assert read_number(text) == value


plain = st.none() | st.booleans() | st.integers(-(10**17), 10**17) | st.floats(allow_nan=False)
keys = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1)


@given(st.dictionaries(keys, plain))
def test_every_printed_dict_is_read_back(values: dict[str, float]) -> None:
    assert read_dict(str(values)) == values


@given(st.dictionaries(keys, plain, min_size=1), st.data())
def test_a_torn_dict_is_none(values: dict[str, float], data: st.DataObject) -> None:
    text = str(values)
    assert read_dict(text[: data.draw(st.integers(0, len(text) - 1))]) is None


@given(st.text())
def test_no_text_breaks_the_readers(text: str) -> None:
    read_dict("{" + text)
    read_train_steps("{'training/global_step'" + text)
    for start in ("{'global_steps'", "## Step 1\n- ", "│", "[EVAL @ step 1]"):
        read_metrics(start + text)


@pytest.mark.parametrize(
    "text",
    [
        "{'global_steps" + "\\'" * 2_000_000,
        "{'global_steps': " + "{'a" * 1_000_000,
        "{'global_steps': \"" * 200_000,
        "{'global_steps': " + "9" * 4_000_000,
        "## Step 1\n-" + " " * 4_000_000 + "\n",
        "## Step 1" + " " * 4_000_000 + "(",
        "[EVAL @ step 1]" + "a" * 4_000_000,
        "╭" + " " * 4_000_000,
    ],
    ids=lambda text: text[:16],
)
def test_hostile_megabytes_take_linear_time(text: str) -> None:
    """Quadratic would be hours; the bound is wide, for a busy machine."""
    began = time.monotonic()
    read_metrics(text)
    assert time.monotonic() - began < 20
