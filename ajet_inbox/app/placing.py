"""Where the paths of a blueprint lead on this host, and what its yaml says."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec.structs import replace

from ajet_inbox.core.blueprint import Blueprint
from ajet_inbox.core.drops import DropKind
from ajet_inbox.core.paths import RunPaths
from ajet_inbox.core.reading.resolve import rebase
from ajet_inbox.core.run import Run
from ajet_inbox.core.training.ajet_config import AjetConfig, read_config
from ajet_inbox.edge.files import list_names
from ajet_inbox.edge.world import read_text

_YAML_BYTES = 1 << 20


def placed(blueprint: Blueprint, folder: Path | None, dropped_at: Path | None) -> Blueprint:
    """`blueprint` with its paths as they are here. `folder` holds what it brought with it, None where it came alone;
    `dropped_at` is where that lay in the inbox."""
    if folder is None:
        return _at_home(blueprint)
    here = rebase(blueprint, str(folder), dropped_at=str(dropped_at) if dropped_at else None)
    return _with_yaml_beside(_at_home(here), folder)


def _at_home(here: Blueprint) -> Blueprint:
    """A path that begins with `~` means the home folder of the service's user, who runs the experiment."""
    fields = ("codebase_dir", "venv_exe", "yaml_path", "result_dir")
    given = {name: path for name in fields if (path := getattr(here, name)) and path.startswith("~")}
    # An unknown user behind `~` stays as written, which Path.expanduser would raise for; the check tells of it.
    return replace(here, **{name: os.path.expanduser(path) for name, path in given.items()})  # noqa: PTH111


def _with_yaml_beside(here: Blueprint, folder: Path) -> Blueprint:
    """A yaml that lies beside the blueprint is meant, where the codebase has none of that name."""
    if here.yaml_path is None or Path(here.yaml_path).name not in list_names(folder):
        return here
    is_there = Path(here.yaml_path).is_file()
    return here if is_there else replace(here, yaml_path=str(folder / Path(here.yaml_path).name))


def placed_run(run: Run, paths: RunPaths) -> Blueprint:
    """The blueprint of a run whose work folder stands, or is about to."""
    folder = paths.work if run.drop.kind is DropKind.FOLDER else None
    return placed(run.blueprint, folder, inbox_place(run, paths))


def result_folder(run: Run, paths: RunPaths) -> Path | None:
    """Where the results of a run are delivered: into its exp_result_dir, which a folder drop may have in `work/`."""
    if run.result_dir is not None:
        return Path(run.result_dir)
    return own_result_folder(run, paths)


def own_result_folder(run: Run, paths: RunPaths) -> Path | None:
    """The exp_result_dir of a folder drop that lies in the run's own `work/`; None where it lies elsewhere."""
    if run.drop.kind is not DropKind.FOLDER or run.blueprint.result_dir is None:
        return None
    named = Path(placed_run(run, paths).result_dir or "")
    return named if named.is_relative_to(paths.work) else None


def inbox_place(run: Run, paths: RunPaths) -> Path:
    """Where the drop of a run lay."""
    return paths.root.parent.parent / "inbox" / run.drop.name


def config_of(yaml_path: str | None) -> AjetConfig:
    """The values of an experiment's yaml, as far as it can be read."""
    text = read_text(yaml_path, _YAML_BYTES).text if yaml_path else None
    return read_config(text) if text is not None else AjetConfig()
