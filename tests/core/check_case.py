"""A good AgentJet experiment, as everything about it was looked up, and what is found when some of it differs."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ajet_inbox.core.blueprint import Blueprint, Mode, Problem
from ajet_inbox.core.checking.check import text_problems, world_problems
from ajet_inbox.core.checking.facts import Facts, FileText, PathFacts
from ajet_inbox.core.checking.rule import Case
from ajet_inbox.core.checking.sources import sources
from ajet_inbox.core.settings import Settings

FOLDER = PathFacts(exists=True, is_dir=True, readable=True, writable=True, executable=True)
PROGRAM = PathFacts(exists=True, is_file=True, readable=True, executable=True)
FILE = PathFacts(exists=True, is_file=True, readable=True)
ABSENT = PathFacts(ancestor="/srv", ancestor_writable=True)

BLUEPRINT = Blueprint(
    codebase_dir="/srv/aj",
    venv_exe="/srv/aj/venv/bin/python",
    yaml_path="/srv/aj/a.yaml",
    launch_command="python -m ajet.launcher --conf a.yaml --with-ray",
    result_dir="/srv/out",
    max_time_s=24 * 3600.0,
    mode=Mode.CLASSIC,
    lines={"exp_codebase_dir": 1, "exp_venv_exe": 2, "exp_yaml_path": 3, "exp_launch_command": 4, "exp_result_dir": 5},
)
SWARM = replace(BLUEPRINT, launch_command="python roll.py", mode=Mode.SWARM)
PATHS = {"/srv/aj": FOLDER, "/srv/aj/venv/bin/python": PROGRAM, "/srv/aj/a.yaml": FILE, "/srv/out": ABSENT}
PATHS |= {"/srv/aj/roll.py": FILE, "/models/org/q/w": FOLDER}

YAML = """\
ajet:
  project_name: p
  experiment_name: e
  model: {path: /models/org/q/w}
  data: {train_batch_size: 32}
  rollout: {num_repeat: 4, max_env_worker: 64}
  trainer_common:
    logger: console
    n_gpus_per_node: 8
    val_before_train: True
    test_freq: 10
    total_epochs: 50
    val_print_to_markdown_file_path: /srv/out/val.md
    train_print_to_markdown_file_path: /srv/out/train.md
"""


def case(
    blueprint: Blueprint = BLUEPRINT,
    *,
    yaml: str | None = YAML,
    script: str | None = None,
    text: str = "",
    settings: Settings | None = None,
    folder_drop: bool = False,
    paths: dict[str, PathFacts] | None = None,
    **facts: Any,
) -> Case:
    """The case as it is judged after everything was looked up."""
    texts = {"/srv/aj/a.yaml": yaml, "/srv/aj/roll.py": script}
    files = {path: FileText(text=text) for path, text in texts.items() if text is not None}
    known = Facts(paths=PATHS | (paths or {}), files=files, **facts)
    found = sources(blueprint, known)
    return Case(
        blueprint=replace(blueprint, mode=found.mode),
        text=text,
        folder_drop=folder_drop,
        settings=settings or Settings(),
        facts=known,
        sources=found,
    )


def problems(judged: Case) -> list[Problem]:
    """All that is found, the text first."""
    return [*text_problems(judged), *(finding.problem for finding in world_problems(judged))]


def codes(judged: Case) -> list[str]:
    """The codes of all that is found."""
    return [problem.code for problem in problems(judged)]


def one(judged: Case, code: str) -> Problem:
    """The only problem of this code."""
    (found,) = [problem for problem in problems(judged) if problem.code == code]
    return found
