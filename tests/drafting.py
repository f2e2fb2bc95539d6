"""What drafting tests share: a place, wishes, and the page of a draft."""

from __future__ import annotations

from typing import Any

from ajet_inbox.core.blueprint import Blueprint, Reading
from ajet_inbox.core.drafting.asked import read_task
from ajet_inbox.core.drafting.draft import Base, Draft, Place, Wish
from ajet_inbox.core.drafting.make import drafts
from ajet_inbox.core.drafting.parent import Parent, Result
from ajet_inbox.core.drafting.settings import read_axis, read_setting
from ajet_inbox.core.journal import Reason
from ajet_inbox.core.reading.parse import read_blueprint
from ajet_inbox.core.settings import Language
from ajet_inbox.edge.drafts import render_blueprint

YAML = """\
ajet:
  project_name: math  # shared
  experiment_name: base
  data:
    train_batch_size: 32
  trainer_common:
    logger: swanlab
    optim:
      lr: 1.0e-6
"""
BASE = Base(path="/data/AgentJet/base.yaml", text=YAML)


def place(folder: str = "/data/AgentJet", **more: Any) -> Place:
    usual = {"folder": folder, "codebase": folder, "interpreter": f"{folder}/venv/bin/python", "has_interpreter": True}
    return Place(**{**usual, **more})


def wish(name: str = "lr", *, sets: tuple[str, ...] = (), sweeps: tuple[str, ...] = (), **more: Any) -> Wish:
    settings, axes = tuple(map(read_setting, sets)), tuple(map(read_axis, sweeps))
    return Wish(**{"name": name, "folder": f"/data/drafts/{name}", "settings": settings, "axes": axes, **more})


def made(task: str = "Study the learning rate.", *, at: Place | None = None, **more: Any) -> tuple[Draft, ...]:
    return drafts(read_task(task), wish(**{"base": BASE, **more}), at or place())


def page(draft: Draft, language: Language = Language.EN) -> str:
    return render_blueprint(draft, language)


def read(draft: Draft, language: Language = Language.EN) -> Reading:
    return read_blueprint(page(draft, language), name=draft.name)


def parent(**blueprint: Any) -> Parent:
    usual = {
        "purpose": "Study math.\nMore of it.",
        "codebase_dir": "/data/AgentJet",
        "venv_exe": "/data/AgentJet/venv/bin/python",
        "yaml_path": "/data/AgentJet/base.yaml",
        "launch_command": "python -m ajet.launcher --conf base.yaml --autokill",
        "result_dir": "/data/results/first",
        "max_time_s": 7200.0,
    }
    result = Result(outcome="failed", reason=Reason(code="exit_code", text="It ended with exit code 1."))
    read = read_blueprint("").blueprint
    values = {name: getattr(read, name) for name in read.__struct_fields__} | {"mode": "classic"} | usual | blueprint
    return Parent(
        run="first", blueprint=Blueprint(**values), result=result, trial_log="/home/outbox/first/trial_log.md"
    )
