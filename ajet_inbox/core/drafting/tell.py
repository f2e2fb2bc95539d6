"""What a draft says of itself: its purpose, how it differs, what was found, what is still to be done."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence

from ajet_inbox.core.blueprint import Mode, Problem
from ajet_inbox.core.drafting import hygiene, parent
from ajet_inbox.core.drafting.config import ROOT, Config
from ajet_inbox.core.drafting.draft import Place
from ajet_inbox.core.drafting.frame import CLIENT, Frame
from ajet_inbox.core.drafting.phrases import duration, say
from ajet_inbox.core.drafting.settings import Setting
from ajet_inbox.core.drafting.text import headline, plain, shortened
from ajet_inbox.core.settings import Language

_PURPOSE_LENGTH = 400
_Settings = tuple[Setting, ...]


def purpose(frame: Frame) -> str:
    """The task's first line, or that of the parent, or at least the name."""
    before = frame.wish.parent
    text = headline(frame.asked.text)
    if not text and before:
        purpose = (before.blueprint.purpose or "?").partition("\n")[0]
        text = plain(say("purpose.next", frame.wish.language, parent=before.run, purpose=purpose))
    return shortened(text or frame.wish.name, _PURPOSE_LENGTH)


def origin(frame: Frame, settings: _Settings, chosen: Sequence[_Settings]) -> str:
    """Where the draft comes from."""
    wish = frame.wish
    if chosen:
        keys = ", ".join(each.key for each in settings[len(wish.settings) :])
        number = chosen.index(settings) + 1
        return say("origin.sweep", wish.language, number=number, count=len(chosen), sweep=wish.name, keys=keys)
    if wish.parent:
        return say("origin.next", wish.language, parent=wish.parent.run)
    return say("origin.task", wish.language)


def differences(frame: Frame, config: Config | None, settings: _Settings, chosen: Sequence[_Settings]) -> Iterator[str]:
    """What is set otherwise than in its siblings and its parent; `chosen` are the settings of all siblings."""
    wish, language = frame.wish, frame.wish.language
    changes = {change.key: change for change in config.changes} if config else {}
    for n, each in enumerate(settings):
        others = dict.fromkeys(other[n].written for other in chosen if other[n].written != each.written)
        if others:
            yield say("differs.siblings", language, key=each.key, value=each.written, others=", ".join(others))
        elif wish.parent and (change := changes.get(each.key)):
            told = {"after": each.written, "before": change.before or say("unset", language)}
            yield say("differs.parent", language, key=each.key, parent=wish.parent.run, **told)
        elif not wish.parent:
            yield say("differs.alone", language, key=each.key, value=each.written)
    if wish.parent and not any(each.key in changes for each in settings):
        yield say("differs.nothing", language, parent=wish.parent.run)


# ---- notes ----------------------------------------------------------------------------------------------------------


def notes(frame: Frame, config: Config | None, settings: _Settings) -> Iterator[str]:
    """What was found, and what was made of the yaml beside what was asked for."""
    wish, place, language = frame.wish, frame.place, frame.wish.language
    if wish.parent:
        yield from parent.notes(wish.parent, language)
    if place.commit and frame.codebase == place.codebase:
        yield say("found.git", language, commit=place.commit, codebase=place.codebase)
    if place.gpus is not None:
        yield say("found.gpus", language, gpus=place.gpus)
    if config and wish.base:
        yield say("found.base", language, base=wish.base.path)
    asked_for = {each.key for each in settings}
    for change in config.changes if config else ():
        if change.key not in asked_for and change.before is None:
            yield say("found.new", language, key=change.key, after=change.after)
        elif change.key not in asked_for:
            yield say("found.changed", language, key=change.key, after=change.after, before=change.before)


def before(config: Config | None, language: Language) -> Iterator[str]:
    """What has to be there before it runs."""
    if config and (needed := hygiene.logger_key(config)):
        yield say("before.key", language, logger=needed[0], variable=needed[1])
    else:
        yield say("before.nothing", language)


def after(frame: Frame, config: Config | None) -> Iterator[str]:
    """What it leaves behind."""
    if config and config.has(f"{ROOT}.experiment_name"):
        yield say("after.checkpoints", frame.wish.language, folder=hygiene.checkpoints(config, frame.codebase))
    else:
        yield say("after.nothing", frame.wish.language)


def todo(frame: Frame, folder: str, command: str, yaml_path: str | None) -> Iterator[str]:
    """What a person still has to see to."""
    place, language = frame.place, frame.wish.language
    yield say("todo.read", language)
    if not place.has_interpreter and frame.interpreter == place.interpreter:
        yield say("todo.interpreter", language, path=place.interpreter)
    if yaml_path and frame.wish.base is None:
        yield say("todo.base", language)
        if place.yamls:
            yield say("todo.yamls", language, yamls=", ".join(place.yamls))
    yield from _choices(frame)
    if frame.mode is Mode.SWARM and frame.wish.parent is None:
        yield from _client(place, language)
    if yaml_path and shlex.quote(yaml_path) not in command:
        yield say("todo.command", language, yaml=yaml_path)
    yield say("todo.check", language, folder=shlex.quote(folder))
    yield say("todo.compare", language)


def corrections(problems: Iterable[Problem], language: Language) -> Iterator[str]:
    """What the check found in the draft, to be seen to by a person."""
    for problem in problems:
        told = {"level": problem.level, "message": problem.message, "hint": problem.hint}
        yield plain(say("todo.correct", language, **told))


def _choices(frame: Frame) -> Iterator[str]:
    """What the task says in more than one way."""
    language = frame.wish.language
    if len(frame.asked.max_times_s) > 1:
        times = ", ".join(duration(each, language) for each in frame.asked.max_times_s)
        yield say("todo.times", language, times=times, time=duration(frame.max_time_s, language))
    if len(frame.asked.gpus) > 1:
        counts = ", ".join(map(str, frame.asked.gpus))
        yield say("todo.gpus", language, counts=counts, gpus=hygiene.GPUS)


def _client(place: Place, language: Language) -> Iterator[str]:
    if not place.clients:
        yield say("todo.client", language, client=CLIENT)
    elif len(place.clients) > 1:
        yield say("todo.clients", language, clients=", ".join(place.clients))
