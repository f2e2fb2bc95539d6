"""What is seen while a training runs is what its results say afterwards (contract sections 3 and 4)."""

from __future__ import annotations

import csv
import json
from typing import Any

import pytest

from tests.acceptance.home import Home

EVAL = "echo '(TaskRunner pid=7) step:{0} - global_steps:{0} - task_pass_rate@1:0.{0} - mean_reward:0.{0}'\n"
TRAIN = "echo '(TaskRunner pid=7) step:{} - actor/pg_loss:0.1'\n"
TORN = "printf 'step:99 - mean_reward:0.9'\n"
FOLDER = "saved_checkpoints/math/lr"
YAML = "ajet: {project_name: math, experiment_name: lr}\n"


def trained(home: Home, command: str, yaml: str = YAML, **sections: str) -> dict[str, Any]:
    """What the last attempt of a training was seen to do."""
    (home.code / "exp.yaml").write_text(yaml)
    yaml_path = str(home.code / "exp.yaml")
    home.mark_and_move_in("exp.md", home.blueprint(command, mode="classic", gpus="0", yaml_path=yaml_path, **sections))
    home.drain()
    (*_, seen) = [entry["seen"] for entry in home.journal() if entry["event"] == "exited"]
    return dict(seen)


def results(home: Home) -> list[tuple[int, float]]:
    root = home.run().root
    with (root / "metrics.csv").open() as file:
        rows = [(int(row["global_steps"]), float(row["mean_reward"])) for row in csv.DictReader(file)]
    found = home.ajet_json("metrics", str(home.run().attempt(1) / "console.log"))
    assert found["format"] == "console"
    assert json.loads((root / "state.json").read_text())["metrics"]["mean_reward"] == rows[-1][1]
    return rows


def test_evaluations_on_the_console_are_results(home: Home) -> None:
    seen = trained(home, EVAL.format(0) + TRAIN.format(1) + EVAL.format(2) + TRAIN.format(3) + EVAL.format(3) + TORN)
    assert (seen["evals"], seen["last_eval_step"], seen["first_step"], seen["step"]) == (3, 3, 1, 3)
    assert results(home) == [(0, 0.0), (2, 0.2), (3, 0.3)]
    assert "mean_reward" in (home.run().root / "result.md").read_text()


def test_a_line_that_one_attempt_left_half_said_is_not_completed_by_the_next(home: Home) -> None:
    first = EVAL.format(0) + TRAIN.format(1) + TORN + "exit 3\n"
    again = EVAL.format(1) + TRAIN.format(2) + EVAL.format(2)
    trained(home, f'if [ "$AJET_INBOX_ATTEMPT" = 1 ]; then\n{first}fi\n{again}', retry="1")
    assert home.flag()["attempts"] == 2
    assert results(home) == [(0, 0.0), (1, 0.1), (2, 0.2)]


def test_a_run_that_finds_somebody_elses_checkpoint_says_so(home: Home) -> None:
    (home.code / FOLDER / "global_step_60").mkdir(parents=True)
    seen = trained(home, EVAL.format(60) + TRAIN.format(61))
    assert (seen["first_step"], seen["checkpoint"]) == (61, False)
    assert "resumed at step 60; 1 new step" in home.flag()["reason"]["text"]


@pytest.mark.parametrize(
    ("command", "name", "counts"),
    [
        ("echo 'Saved checkpoint to ./elsewhere'\n", "lr", True),
        (f"mkdir -p {FOLDER}/global_step_9\n", "lr", True),
        (f"echo 9 >{FOLDER}/latest_checkpointed_iteration.txt\n", "lr", True),
        (f"echo 9 >{FOLDER}/notes.txt\n", "lr", False),
        ("echo 'Saved checkpoint to ./elsewhere'\n", "read_yaml_name", False),
    ],
)
def test_a_checkpoint_is_one_that_the_trainer_will_find_again(
    home: Home, command: str, name: str, counts: bool
) -> None:
    (home.code / FOLDER).mkdir(parents=True)
    (home.code / FOLDER / "latest_checkpointed_iteration.txt").write_text("8")
    assert trained(home, TRAIN.format(9) + command, YAML.replace("lr", name))["checkpoint"] is counts
