"""From a task, wishes and what was found to drafts: one, or one for each combination of a sweep."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ajet_inbox.core.blueprint import Mode
from ajet_inbox.core.drafting import hygiene, tell
from ajet_inbox.core.drafting.asked import Asked
from ajet_inbox.core.drafting.draft import YAML_END, Draft, Place, Wish
from ajet_inbox.core.drafting.errors import DraftError
from ajet_inbox.core.drafting.frame import Frame, base_config, frame_of, launch_command
from ajet_inbox.core.drafting.settings import Setting, combinations
from ajet_inbox.core.drafting.text import name_for, plain

_NAME_LENGTH = 80  # the longest name of a run


def drafts(asked: Asked, wish: Wish, place: Place) -> tuple[Draft, ...]:
    """The drafts that are wished for, in the order of the sweep.

    Raises:
        DraftError: they cannot be made so: a key that nobody knows, a base that is no yaml, too many of them.
    """
    frame = frame_of(asked, wish, place)
    chosen = _resolved(wish, frame)
    if not wish.axes:
        return (_draft(frame, wish.name, wish.folder, chosen[0], ()),)
    names = _names(wish.name, [settings[len(wish.settings) :] for settings in chosen])
    return tuple(
        _draft(frame, name, f"{wish.folder}/{name}", settings, chosen)
        for name, settings in zip(names, chosen, strict=True)
    )


def _resolved(wish: Wish, frame: Frame) -> list[tuple[Setting, ...]]:
    """The settings of each draft with their whole keys: those of all first, then those that it alone has."""
    config = base_config(frame)
    chosen = [(*wish.settings, *own) for own in combinations(wish.axes, zipped=wish.zipped)]
    if config is None and any(chosen):
        raise DraftError("There is no yaml in which anything could be set.", "Name one with --yaml.")
    return (
        [tuple(replace(each, key=config.whole_key(each.key)) for each in own) for own in chosen] if config else chosen
    )


def _names(name: str, own: Sequence[tuple[Setting, ...]]) -> list[str]:
    """A name for each draft that tells its settings, as far as that fits; none twice."""
    names: list[str] = []
    for number, settings in enumerate(own, 1):
        told = "_".join(name_for(f"{each.key.rpartition('.')[2]}_{each.written}") for each in settings)
        full = f"{name}_{told}"
        names.append(full if len(full) <= _NAME_LENGTH and full not in names else f"{name[:70]}_no{number}")
    return names


def _draft(
    frame: Frame, name: str, folder: str, settings: tuple[Setting, ...], chosen: Sequence[tuple[Setting, ...]]
) -> Draft:
    wish, language = frame.wish, frame.wish.language
    result_dir, yaml_path = f"{frame.results}/{name}", f"{folder}/{name}{YAML_END}"
    config = base_config(frame)
    if config is not None:
        for each in settings:
            config.put(each.key, each.value)
        if frame.mode is not Mode.GENERIC:
            hygiene.tidy(config, _run(frame, name, result_dir), kept={each.key for each in settings})
    before = wish.parent.blueprint if wish.parent else None
    command = launch_command(frame, yaml_path)
    return Draft(
        name=name,
        folder=folder,
        purpose=tell.purpose(frame),
        differences=tuple(map(plain, tell.differences(frame, config, settings, chosen))),
        origin=plain(tell.origin(frame, settings, chosen)),
        codebase_dir=frame.codebase,
        venv_exe=frame.interpreter,
        yaml_path=yaml_path if config else None,
        config=config.text() if config else None,
        launch_command=command,
        result_dir=result_dir,
        max_time_s=float(max(1, round(frame.max_time_s))),
        first_step_timeout_s=float(max(1, round(frame.first_step_s))),
        mode=frame.mode,
        gpus=(before.gpus if frame.gpus is None else frame.gpus) if before and before.gpus is not None else None,
        env=before.env if before else {},
        prepare_command=before.prepare_command if before else None,
        cleanup_command=before.cleanup_command if before else None,
        parent=wish.parent.run if wish.parent else None,
        settings=settings,
        task=frame.asked.text.strip(),
        notes=tuple(map(plain, tell.notes(frame, config, settings))),
        before=tuple(map(plain, tell.before(config, language))),
        after=tuple(map(plain, tell.after(frame, config))),
        todo=tuple(map(plain, tell.todo(frame, folder, command, yaml_path if config else None))),
    )


def _run(frame: Frame, name: str, result_dir: str) -> hygiene.Run:
    gpus = frame.gpus if frame.gpus is not None or frame.wish.parent else hygiene.GPUS
    return hygiene.Run(name=name, project=frame.wish.name, result_dir=result_dir, mode=frame.mode, gpus=gpus)
