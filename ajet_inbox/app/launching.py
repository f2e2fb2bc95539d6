"""From a run with a slot to an order for the supervisor: its work folder, its scripts, its environment."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from ajet_inbox.app.attempts import Attempts, Order
from ajet_inbox.app.placing import own_result_folder, placed_run
from ajet_inbox.core.attempt import AttemptSpec
from ajet_inbox.core.drops import READY_END, DropKind
from ajet_inbox.core.journal import AnyEntry, Reason, Starting
from ajet_inbox.core.paths import RunPaths
from ajet_inbox.core.run import Attempt, Run
from ajet_inbox.core.settings import Autokill, Settings
from ajet_inbox.core.training.ajet import strip_autokill
from ajet_inbox.edge.deliver import may_deliver, set_aside
from ajet_inbox.edge.files import Unreadable, copy_tree, list_names
from ajet_inbox.edge.launch import Launch, render_launch

# On this host, for every user and home alike: two watchers that know nothing of each other must never share a GPU.
_GPU_LOCKS = Path("/tmp")  # noqa: S108  (the supervisor opens them without following links)


def prepare(run: Run, paths: RunPaths, settings: Settings) -> Reason | None:
    """Make the run's folder ready; the reason why that can never be done.

    Raises:
        OSError: it cannot be done now.
    """
    if run.drop.kind is DropKind.FOLDER and (reason := _make_work(run, paths, settings)) is not None:
        return reason
    result_dir = placed_run(run, paths).result_dir
    if result_dir is not None:
        with contextlib.suppress(OSError):  # a courtesy: the check has told what is wrong with it
            _make_result_dir(Path(result_dir))
    return None


def _make_work(run: Run, paths: RunPaths, settings: Settings) -> Reason | None:
    if paths.work.name not in list_names(paths.root):
        copied = copy_tree(paths.drop, paths.work, settings.limits.drop_bytes)
        if isinstance(copied, Unreadable):
            return Reason(code="work_copy_failed", text=f"{copied.message}.")
    if not run.attempts:  # after that, whatever lies there is the experiment's
        _tidy_work(run, paths, settings)
    return None


def _tidy_work(run: Run, paths: RunPaths, settings: Settings) -> None:
    """Take out of a fresh copy what is no part of the experiment: our mark, and results of an earlier one."""
    if (mark := paths.work / READY_END).is_file():
        mark.unlink()
    if settings.deliver and (folder := own_result_folder(run, paths)) is not None:
        set_aside(folder, run.submitted_at)


def _make_result_dir(folder: Path) -> None:
    if may_deliver(folder) is None:
        folder.mkdir(parents=True, exist_ok=True)


def order(
    run: Run, attempt: Attempt, paths: RunPaths, settings: Settings, environment: dict[str, str], attempts: Attempts
) -> Order:
    """What is to be launched."""
    b = placed_run(run, paths)
    command = b.launch_command or ""
    if settings.security.autokill is Autokill.STRIP:
        command, _ = strip_autokill(command)
    launch = Launch(
        run=run.name,
        number=attempt.number,
        drop=str(paths.drop),
        codebase=b.codebase_dir or str(paths.work),
        interpreter=b.venv_exe or "python3",
        command=command,
        yaml_path=b.yaml_path,
        result_dir=b.result_dir or "",
        prepare=b.prepare_command,
        cleanup=b.cleanup_command,
        env=b.env,
    )
    spec = AttemptSpec(
        attempt_id=attempt.id,
        env=_environment(run, environment),
        lock=attempts.lock_of(attempt.id),
        gpu_locks=tuple(str(_GPU_LOCKS / f"ajet-gpu-{gpu}.lock") for gpu in run.slot_gpus),
        limit_s=attempt.limit_s,
        grace_s=settings.limits.grace,
    )
    return Order(
        folder=paths.attempt(attempt.number), session=attempt.session, spec=spec, scripts=render_launch(launch)
    )


def _environment(run: Run, environment: dict[str, str]) -> dict[str, str]:
    """The experiments' environment, with the GPUs of the slot and without a Ray that belongs to somebody else."""
    own = {name: value for name, value in environment.items() if name != "RAY_ADDRESS"}
    return {**own, "CUDA_VISIBLE_DEVICES": ",".join(run.slot_gpus)} if run.slot_gpus else own


def announced(entries: Iterable[AnyEntry]) -> list[Starting]:
    """The attempts that a journal announces."""
    return [entry for entry in entries if isinstance(entry, Starting)]
