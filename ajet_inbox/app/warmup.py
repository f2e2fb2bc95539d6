"""What takes long the first time it is done, done before a drop or a GPU waits for it."""

from __future__ import annotations

from datetime import datetime

from loguru import logger

from ajet_inbox.app.examine import examine
from ajet_inbox.app.gathering import Place
from ajet_inbox.core.blueprint import Blueprint
from ajet_inbox.core.drops import DropKind
from ajet_inbox.core.journal import Drop, Submitted
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.core.run import fold
from ajet_inbox.core.settings import Settings
from ajet_inbox.core.telling.report import report
from ajet_inbox.core.training.metrics import read_metrics
from ajet_inbox.edge.launch import Launch, render_launch
from ajet_inbox.edge.pages import render_run

_NAME = "warm-up"
_BLUEPRINT = b"## [exp_purpose]\nnone\n## [exp_launch_command]\n```\ntrue\n```\n"


def warm_up(home: HomePaths, settings: Settings) -> None:
    """Read a blueprint, make a launch script and the pages of a run, all of nothing; writes no file. Takes 0.1 s."""
    try:
        examine(_BLUEPRINT, _NAME, None, Place(settings=settings))
        render_launch(
            Launch(run=_NAME, number=1, drop="", codebase="/", interpreter="python3", command="true", result_dir="")
        )
        _render_pages(home, settings)
    except Exception:  # what it is that fails will be told where it matters
        logger.opt(exception=True).debug("The warm-up failed")


def _render_pages(home: HomePaths, settings: Settings) -> None:
    drop = Drop(id=_NAME, name=_NAME, kind=DropKind.FILE)
    entries = (Submitted(at=datetime.now().astimezone(), drop=drop, blueprint=Blueprint()),)
    if (run := fold(_NAME, entries)) is None:
        return
    told = report(run, entries, metrics=read_metrics(""), console_tail=b"", paths=home.run(_NAME))
    templates = home.root / settings.templates_dir if settings.templates_dir else None
    for _ in render_run(told, settings.language, templates):
        pass
