"""Consoles as trainers really fill them, fed as bytes in pieces of any size."""

from __future__ import annotations

import json
import tracemalloc
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ajet_inbox.core.training.bars import Bar, read_bar
from ajet_inbox.core.training.console import Origin, clean, split_origin
from ajet_inbox.core.training.console_events import (
    Complaint,
    ConsoleEvent,
    EvalSeen,
    Patterns,
    Phase,
    PhaseSeen,
    Severity,
)
from ajet_inbox.core.training.progress import LINE_LIMIT, Console
from ajet_inbox.core.training.step_lines import StepPatterns, StepSeen

CONSOLE = Path(__file__).parent.parent / "data" / "metrics" / "console.txt"

BOX = """\
╭──── main_val_dataset ────╮
│ ┌─────────────┬────────┐ │
│ │ TGC@1       │ 0.25   │ │
│ │ mean_reward │ 0.3    │ │
│ └─────────────┴────────┘ │
╰──────────────────────────╯
"""
RUN = f"""\
INFO worker.py:1879 -- Started a local Ray instance. View the dashboard at 127.0.0.1:8265
\x1b[36m(WorkerDict pid=53000)\x1b[0m Loading checkpoint shards:  25%|██        | 1/4 [00:02<00:06, 2.01s/it]
\x1b[36m(TaskRunner pid=52001)\x1b[0m test_gen_batch meta info: {{'do_sample': True}}
{BOX}(TaskRunner pid=52001) step:0 - task_pass_rate@1:0.25 - mean_reward:0.3 - std_reward:np.float64(0.4)
Training Progress:   0%|          | 0/3 [00:00<?, ?it/s]\r\
Training Progress:  33%|███       | 1/3 [00:49<01:38, 49.09s/it](TaskRunner pid=52001) \
step:1 - actor/kl_loss:0.1 - critic/score/mean:0.5 - timing_s/step:49 - training/global_step:1\r
(TaskRunner pid=52001) local_global_step_folder: /ckpt/global_step_2
(TaskRunner pid=52001) step:2 - actor/kl_loss:nan - training/global_step:2 - global_steps:2 - mean_reward:0.6
(raylet) Traceback (most recent call last):
(raylet) ValueError: 坏了 [repeated 3x across cluster] (Ray deduplicates logs by default)
""".encode()


def events(data: bytes, patterns: Patterns | None = None) -> list[ConsoleEvent]:
    return Console(patterns or Patterns()).feed(data)


def steps(data: bytes) -> list[StepSeen]:
    return [event for event in events(data) if isinstance(event, StepSeen)]


def test_a_real_console() -> None:
    want = json.loads(CONSOLE.with_suffix(".json").read_text())
    console = Console()
    seen = [event for event in console.feed(CONSOLE.read_bytes()) if isinstance(event, StepSeen)]
    assert [e.step for e in seen if e.trained] == want["steps"]
    assert next(e.step for e in seen if e.trained) == want["first_training_step"]
    assert [e.step for e in seen if e.not_finite] == want["nan_at"]
    assert console.training_bar is not None
    assert {"done": console.training_bar.done, "total": console.training_bar.total} == want["progress"]
    assert (seen[2].kl_loss, seen[2].reward, seen[2].step_time_s) == (0.0021, 0.0953, 47.9)


def test_a_run_from_ray_to_traceback() -> None:
    told = events(RUN)
    assert [e.phase for e in told if isinstance(e, PhaseSeen)] == [
        Phase.STARTING_RAY,
        Phase.LOADING_MODEL,
        Phase.VALIDATING,
        Phase.TRAINING,
        Phase.SAVING,
        Phase.TRAINING,
    ]
    found = [e.eval for e in told if isinstance(e, EvalSeen)]
    assert [(e.global_steps, e.dataset, e.mean_reward) for e in found] == [(0, "main_val_dataset", 0.3), (2, None, 0.6)]
    assert [(e.step, e.trained, e.not_finite) for e in told if isinstance(e, StepSeen)] == [
        (0, False, ()),
        (1, True, ()),
        (2, True, ("actor/kl_loss",)),
    ]
    raylet = Origin(actor="raylet")
    assert [e for e in told if isinstance(e, Complaint)] == [
        Complaint(severity=Severity.ERROR, origin=raylet, text="Traceback (most recent call last):"),
        Complaint(severity=Severity.ERROR, origin=Origin(actor="raylet", repeated=3), text="ValueError: 坏了"),
    ]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("step:5 - actor/pg_loss:0.1", [(5, True)]),
        ("step:60 - val-core/x/acc/mean@1:0.5 - mean_reward:0.9", [(60, False)]),  # a resumed run's first validation
        ("step:0 - actor/kl_loss:0.1", [(0, False)]),
        ("training/global_step:5 - actor/kl_loss:1", []),
        ("the next step: 5 - not a metric:line", []),
        ("step:5", []),
        ("step:five - actor/kl_loss:1", []),
        ("step:" + "9" * 40 + " - actor/kl_loss:1", []),
        ("microstep:5 - actor/kl_loss:1", []),
    ],
)
def test_what_is_a_step(line: str, found: list[tuple[int, bool]]) -> None:
    assert [(e.step, e.trained) for e in steps(line.encode() + b"\n")] == found


BAR = "Training Progress:   3%|#  | 2/60 [00:00<00:11,  0.20s/it]"
BEHIND = "\x1b[36m(TaskRunner pid=1)\x1b[0m "


@pytest.mark.parametrize(
    ("line", "phases"),
    [
        (f"{BAR}{BEHIND}local_global_step_folder: ./x/global_step_20", [Phase.SAVING, Phase.TRAINING]),
        (f"{BAR}{BEHIND}Saved checkpoint to ./x/global_step_20", [Phase.SAVING, Phase.TRAINING]),
        (f"{BAR}{BEHIND}test_gen_batch meta info: {{}}", [Phase.VALIDATING, Phase.TRAINING]),
        (f"{BAR}{BEHIND}rollout step begin", [Phase.TRAINING]),
        (f"{BEHIND}Saving checkpoint, local_global_step_folder: ./x", [Phase.SAVING]),
        ("local_global_step_folder was here\rand is gone", []),
    ],
)
def test_every_phase_of_a_line_is_told(line: str, phases: list[Phase]) -> None:
    assert [event.phase for event in events(f"{line}\n".encode()) if isinstance(event, PhaseSeen)] == phases


def test_an_evaluation_waits_for_its_step() -> None:
    console = Console()
    assert console.feed(BOX.encode()) == []
    (waiting,) = console.unplaced
    assert (waiting.global_steps, waiting.mean_reward) == (None, 0.3)
    (placed, _) = console.feed(b"step:0 - a:1\n")
    assert isinstance(placed, EvalSeen)
    assert placed.eval.global_steps == 0
    assert console.unplaced == ()


def test_another_trainer() -> None:
    patterns = Patterns(
        step=StepPatterns(mark="iter ", separator=", ", assign="=", training=("loss",), reward=("return",)),
        phases=(("writing snapshot", Phase.SAVING),),
    )
    assert events(b"[12:00] iter 40, loss=0.5, return=3.5\nwriting snapshot\n", patterns) == [
        StepSeen(step=40, trained=True, reward=3.5),
        PhaseSeen(phase=Phase.TRAINING),
        PhaseSeen(phase=Phase.SAVING),
    ]


@pytest.mark.parametrize(
    ("text", "bar"),
    [
        ("Training Progress:   0%|          | 0/140 [00:00<?, ?it/s]", ("Training Progress", 0, 140, None, None)),
        ("a b: 50%|#####5    | 7/14 [01:00<1:00:01,  4.00it/s, loss=1]", ("a b", 7, 14, 0.25, 3601.0)),
        ("Loading shards:  25% Completed | 1/4 [00:02<00:06, 2.5s/it]", ("Loading shards", 1, 4, 2.5, 6.0)),
        ("100%|██████████| 4/4 [00:08<00:00,  2.01s/it] | INFO | done", ("", 4, 4, 2.01, 0.0)),
    ],
)
def test_bars(text: str, bar: tuple[str, int, int, float | None, float | None]) -> None:
    label, done, total, pace, eta = bar
    assert read_bar(text) == Bar(label=label, done=done, total=total, seconds_per_item=pace, eta_s=eta)


@pytest.mark.parametrize("text", ["", "50%| |", "use 50%|of it", "| 1/2 [00:00<00:01, 1it/s]", "%|\x1b| 1/2 [x<y, z]"])
def test_no_bars(text: str) -> None:
    assert read_bar(text) is None


def test_a_bar_shows_before_its_line_ends_and_after() -> None:
    console = Console()
    console.feed(b"\rTraining Progress:  10%|#         | 1/10 [00:01<00:09, 1.00s/it]\rTraining Progress:  20%|##")
    assert console.training_bar is None  # half drawn
    console.feed(b"        | 2/10 [00:02<00:08, 1.00s/it]")
    assert console.training_bar == Bar(label="Training Progress", done=2, total=10, seconds_per_item=1.0, eta_s=8.0)
    console.feed(b"\nother words\n")
    assert console.training_bar is not None
    assert console.training_bar.done == 2


@pytest.mark.parametrize(
    ("line", "origin", "text"),
    [
        ("(TaskRunner pid=22) hi", Origin(actor="TaskRunner", pid=22), "hi"),
        (
            "(WorkerDict pid=8, ip=10.2.0.7) [rank3]: w [repeated 7x across cluster]",
            Origin(actor="WorkerDict", pid=8, ip="10.2.0.7", rank=3, repeated=7),
            "w",
        ),
        ("(pid=gcs_server) x", Origin(), "(pid=gcs_server) x"),
        ("(raylet, ip=10.0.0.1) gone", Origin(actor="raylet", ip="10.0.0.1"), "gone"),
        ("(see below) text", Origin(), "(see below) text"),
        ("", Origin(), ""),
    ],
)
def test_origins(line: str, origin: Origin, text: str) -> None:
    assert split_origin(line) == (origin, text)


def test_cleaning() -> None:
    assert clean("old\rnew\x1b[1;31m red\x1b[0m\x1b]0;title\x07\r\n") == "new red"


def test_complaints_are_bounded_in_number_and_length() -> None:
    lines = b"WARNING: w\n" * 500 + b"RuntimeError: " + b"x" * 10_000 + b"\n" + b"KeyError: k\n" * 500
    told = [event for event in events(lines) if isinstance(event, Complaint)]
    assert [e.severity for e in told] == [Severity.WARNING] * 20 + [Severity.ERROR] * 20
    assert max(len(e.text) for e in told) == 500


def test_invalid_bytes_are_replaced() -> None:
    assert steps(b"\xff\xfe\xe2\x94 step:3 - actor/kl_loss:0.1 - note:\xf0\x28\n") == [
        StepSeen(step=3, trained=True, kl_loss=0.1)
    ]


def test_a_mark_that_escape_codes_broke_up_counts_for_nothing() -> None:
    """Else it would count or not by whether the line drew attention for another reason, which may be spent."""
    broken = b"(raylet) Error, and st\x1b[0mep:1 - actor/kl_loss:1, Saving ch\x1b[0meckpoint\n"
    kinds = [type(event) for event in events(broken * 30)]
    assert kinds == [Complaint] * 20


def test_the_bars_drawn_last_are_kept() -> None:
    console = Console()
    console.feed(b"".join(b"bar%d: 1%%|# | 1/9 [00:01<00:09, 1.00s/it]\n" % n for n in [*range(40), 30]))
    assert [bar.label for bar in console.bars] == [f"bar{n}" for n in [*range(24, 30), *range(31, 40), 30]]


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


def outcome(pieces: list[bytes]) -> tuple[list[ConsoleEvent], tuple[Bar, ...]]:
    console = Console()
    return [event for piece in pieces for event in console.feed(piece)], console.bars


@given(st.lists(st.integers(0, 10_000), max_size=12))
def test_any_cut_of_a_run_tells_the_same(places: list[int]) -> None:
    assert outcome(cut(RUN, places)) == outcome([RUN])


def test_byte_by_byte() -> None:
    assert outcome([bytes([byte]) for byte in RUN]) == outcome([RUN])


SCRAPS = [
    b"\n", b"\r", b"\x1b[0m", b"\x1b", b"st", b"ep:", b"step:1 - actor/x:1", b" - ", b"Error", b"WARN",
    b"\xe2", b"\x94\x82", "│ a │ 1 │".encode(), "╭ t ╮".encode(), "│ mean_reward │ 1 │".encode(), "╰".encode(),
    b"x" * (LINE_LIMIT - 7),
    b"Training Progress: 10%|# | 1/10 [00:01<00:09, 1.00s/it]", b"[EVAL @ step 3] a mean_reward=1",
    b"Saving checkpoint", b"(T pid=1) ",
]  # fmt: skip


@given(st.lists(st.sampled_from(SCRAPS), max_size=30).map(b"".join), st.lists(st.integers(0, 10**6), max_size=8))
def test_any_cut_of_anything_tells_the_same(data: bytes, places: list[int]) -> None:
    assert outcome(cut(data, places)) == outcome([data])


@pytest.mark.parametrize(
    "piece",
    [
        b"x" * 65536,
        b"\r" * 65536,
        b"\rstep:1 - " * 6000,
        b"\x1b[" * 30000,
        "╭│ k │ v │".encode() * 4000,
        b"Error\n" * 10000,
        "".join(f"│ k{n} │ v{n} │\n" for n in range(20_000)).encode(),
        b"".join(b"bar%d: 1%%|# | 1/9 [00:01<00:09, 1.00s/it]\n" % n for n in range(2000)),
    ],
    ids=lambda piece: repr(piece[:8]),
)
def test_memory_stays_flat(piece: bytes) -> None:
    tracemalloc.start()
    try:
        console = Console()
        for _ in range(12):
            console.feed(piece)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 500_000
