"""docs/checks.md: every problem that can be told, made from the rules themselves."""

from __future__ import annotations

from collections.abc import Iterable

from ajet_inbox.core.blueprint import Kind, Level
from ajet_inbox.core.checking.check import POLICY
from ajet_inbox.core.checking.rule import Code, Rule
from ajet_inbox.core.checking.rules import commands, machine, paths, policy, sections, training, two_places, yaml_text
from ajet_inbox.core.training.ajet_keys import VERSION

_INTRODUCTION = f"""\
# Checks

What `ajet-inbox check` can say, and the watcher before it accepts a drop; made from the rules by `make docs`. The
code is stable, so that programs may rely on it. An *error* keeps a run from starting, a *warning* goes into its trial
log, an *info* is worth knowing. A *text* error lies in the blueprint and rejects it at once. A *world* error lies in
the machine: it rejects at once when it is certain, else the run waits for a while (`limits.world_wait`).

The watcher does not ask what takes long: how much space other experiments took for checkpoints, which programs run on
this machine (`command_without_ray`), and, where it has not asked before, whether the interpreter answers. One cause is
told once: what lies in a codebase that is missing is not missed as well.

What AgentJet has and does is taken from {VERSION}.
"""
_HEADER = ("| code | kind | level | what it means | what to do |", "|---|---|---|---|---|")


def _said(name: str, level: Level, about: str, fix: str) -> Code:
    return Code(name=name, kind=Kind.TEXT, level=level, about=about, fix=fix)


# What reading notes on its way, where values cannot be told; a test holds this list and the reader together.
READING = (
    _said("section_missing", Level.ERROR, "A section is missing; of the purpose it is only a warning.", "Add it."),
    _said(
        "value_missing",
        Level.ERROR,
        "A section is there, and no value can be told from it; of the purpose it is only a warning.",
        "Write the value alone on a line below the heading.",
    ),
    _said(
        "value_ambiguous",
        Level.ERROR,
        "A section could mean several things; all are shown with their lines.",
        "Leave one of them, or mark the others as notes.",
    ),
    _said("section_unknown", Level.WARNING, "There is no section of this name; it was not read.", "Correct its key."),
    _said("section_misspelled", Level.WARNING, "A section was read as the one of a similar key.", "Correct its key."),
    _said("max_time_default", Level.WARNING, "No time limit can be told: the default of 24 hours holds.", "Write one."),
    _said(
        "time_without_unit",
        Level.WARNING,
        "A time has no unit: hours in exp_max_time, an error elsewhere.",
        "Write the unit.",
    ),
    _said("too_long", Level.ERROR, "The blueprint has too many lines or characters.", "Put data into other files."),
    _said("not_utf8", Level.ERROR, "The file holds bytes that are not UTF-8 text.", "Save it as UTF-8."),
)

# What only the watcher can say, which knows the home and what else was dropped (app.examine, core.admission).
WATCHER = (
    _said(
        "unreadable", Level.ERROR, "The drop is no plain file or folder, is too large, or may not be read.", "Copy it."
    ),
    _said(
        "result_dir_in_home",
        Level.ERROR,
        "The result folder is the home, or lies in its inbox or outbox: results would be taken for those of others.",
        "Name a folder of the experiment's own.",
    ),
    _said(
        "duplicate",
        Level.ERROR,
        "The same key, or the same bytes by the same name, was dropped before.",
        "Wait for it.",
    ),
    _said(
        "result_dir_in_use",
        Level.ERROR,
        "The result folder belongs to a run that is not finished.",
        "Name another, or replace the run that waits (`submit --replace`).",
    ),
    _said(
        "after_itself", Level.ERROR, "It is to run after a run that waits for it, or after itself.", "Break the circle."
    ),
    _said(
        "services_not_supported",
        Level.ERROR,
        "It needs a service beside its command, which this version does not start.",
        "Start it by hand and leave the service out.",
    ),
    _said(
        "replaces_nothing", Level.WARNING, "No waiting run is called as `replace` says.", "Cancel the other by hand."
    ),
)

_CHAPTERS: tuple[tuple[str, Iterable[Rule]], ...] = (
    ("The sections", sections.RULES),
    ("Paths", paths.RULES),
    ("Commands", commands.RULES),
    ("Yaml and scripts as files", yaml_text.RULES),
    ("AgentJet's settings", training.RULES),
    ("Settings in two places", two_places.RULES),
    ("The machine", machine.RULES),
    ("Policy", (POLICY[0], *policy.RULES)),
)


def page() -> str:
    """The text of docs/checks.md."""
    lines = [_INTRODUCTION, *_chapter("Reading", READING)]
    for title, rules in _CHAPTERS:
        lines += _chapter(title, [code for rule in rules for code in rule.codes])
    lines += _chapter("What only the watcher can say", WATCHER)
    return "\n".join(lines).rstrip() + "\n"


def _chapter(title: str, codes: Iterable[Code]) -> list[str]:
    rows = (_row(code) for code in codes)
    return [f"## {title}", "", *_HEADER, *rows, ""]


def _row(code: Code) -> str:
    cells = (f"`{code.name}`", code.kind.value, code.level.value, code.about, code.fix)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
